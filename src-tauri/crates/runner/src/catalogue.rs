//! The flows of a workspace: which files there are, what they define, and why some do not load.
//!
//! A bundle and its description are kept in `.flowglass/cache`, keyed by the hashes of all files
//! they were made from, so that a start costs no bundling (ARCHITECTURE §8.3). A file that stops loading
//! keeps its last good version running and shows the error.

mod files;

pub(crate) mod bundling;
pub(crate) mod trust;
pub(crate) mod watch;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use script::{Bundle, FlowDescription, Limits, LoadError, LoadErrorKind, Loaded};
use serde::{Deserialize, Serialize};

use crate::catalogue::bundling::BundleProcess;
use crate::catalogue::files::{FlowFiles, Sightings};
use crate::core::fault::Fault;
use crate::core::ordinary_files;
use crate::views::{ActionRow, Json, LoadErrorRow};

/// Threads that evaluate flows need native stack for deep recursion of JavaScript and of values.
pub(crate) const STACK: usize = 64 << 20;

/// How many files are loaded at once, each with a child that bundles it.
const MAX_LOADING: usize = 2;

/// One flow file, or one that does not load.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct FlowRow {
    /// The name it is run by; the file's stem when it does not load.
    pub kind: String,
    /// Relative to the workspace.
    pub file: String,
    /// What can be run.
    pub actions: Vec<ActionRow>,
    /// Whether a mock script lies beside it.
    pub has_mock: bool,
    /// Why its newest version does not load.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<LoadErrorRow>,
    /// What is probably not what its author meant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<LoadErrorRow>,
}

/// One file's last good version and its newest error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Entry {
    /// None for a module that defines no flow.
    flows: Vec<Known>,
    error: Option<LoadError>,
    inputs: Vec<(PathBuf, String)>,
}

/// A flow of a file, beside those of other files; found anew with every refresh.
#[derive(Clone, Debug)]
struct Known {
    loaded_flow: Arc<LoadedFlow>,
    /// Another flow has its kind.
    duplicate_kind: Option<LoadError>,
    /// Another file exports the same flow, and lists it.
    is_elsewhere: bool,
}

/// A version of a flow that loads.
#[derive(Debug)]
pub(crate) struct LoadedFlow {
    pub(crate) bundle: Arc<Bundle>,
    pub(crate) flow: FlowDescription,
}

/// What a file came to: its bundle, and the flows in it.
#[derive(Debug, Serialize, Deserialize)]
struct LoadedFile {
    bundle: Bundle,
    flows: Vec<FlowDescription>,
}

/// What lies in the cache for one file.
#[derive(Serialize, Deserialize)]
struct Cached {
    version: String,
    inputs: Vec<(PathBuf, String)>,
    /// A file that was bundled and then failed is not worth trying again until something changes.
    result: Result<LoadedFile, LoadError>,
}

/// All flow files by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    entries: BTreeMap<PathBuf, Entry>,
    sightings: Sightings,
    found: Arc<FlowFiles>,
}

/// Where flows are, and what loading them takes.
#[derive(Clone, Copy)]
pub(crate) struct Loading<'w> {
    pub(crate) workspace: &'w Path,
    /// What `flowglass.json` names.
    pub(crate) folders: Option<&'w [PathBuf]>,
    pub(crate) cache: &'w Path,
    pub(crate) limits: Limits,
    /// What flows see as their environment.
    pub(crate) env: &'w serde_json::Value,
    /// The program that bundles; in this process without one.
    pub(crate) program: Option<&'w Path>,
}

impl Catalogue {
    /// Takes over what has not changed and what is cached, which costs a hash for each file; answers with the files
    /// that are to be loaded.
    pub(crate) fn look(&mut self, loading: &Loading<'_>) -> Result<Vec<PathBuf>, Fault> {
        let found = files::flow_files(loading.workspace, loading.folders, &mut self.sightings)?;
        let files = &found.files;
        self.entries.retain(|file, _| files.binary_search(file).is_ok());
        let mut stale = Vec::new();
        for file in files {
            let is_known =
                self.entries.get(file).is_some_and(|known| !known.inputs.is_empty() && is_current(&known.inputs));
            if is_known {
                continue;
            }
            match cached(loading, file) {
                Some(entry) => drop(self.entries.insert(file.clone(), entry)),
                None => stale.push(file.clone()),
            }
        }
        self.found = Arc::new(found);
        self.refuse_doubles();
        Ok(stale)
    }

    /// Where flows were looked for, and what to do where there are none.
    pub(crate) fn whereabouts(&self, loading: &Loading<'_>) -> String {
        self.found.whereabouts(loading.workspace, loading.folders)
    }

    /// Takes over what came of a file.
    fn insert(&mut self, file: PathBuf, mut new: Entry) {
        if new.error.is_some() {
            new.flows = self.entries.remove(&file).map(|known| known.flows).unwrap_or_default();
        }
        self.entries.insert(file, new);
        self.refuse_doubles();
    }

    /// Whether nothing is known of any file.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Two flows must not have one kind: that of the file that defines it keeps it, else the first by path. What
    /// another file only exports again is no second flow.
    fn refuse_doubles(&mut self) {
        let mut owners: BTreeMap<&str, &Arc<LoadedFlow>> = BTreeMap::new();
        for Known { loaded_flow, .. } in self.entries.values().flat_map(|entry| &entry.flows) {
            let owner = owners.entry(&loaded_flow.flow.kind).or_insert(loaded_flow);
            if !owner.is_defined_in_its_file() && loaded_flow.is_defined_in_its_file() {
                *owner = loaded_flow;
            }
        }
        let owners: BTreeMap<String, Arc<LoadedFlow>> =
            owners.into_iter().map(|(kind, owner)| (kind.to_owned(), owner.clone())).collect();
        for known in self.entries.values_mut().flat_map(|entry| &mut entry.flows) {
            let (own, kind) = (&known.loaded_flow, &known.loaded_flow.flow.kind);
            let Some(owner) = owners.get(kind).filter(|owner| owner.bundle.file != own.bundle.file) else {
                (known.duplicate_kind, known.is_elsewhere) = (None, false);
                continue;
            };
            known.is_elsewhere = own.flow.defined_at.is_some() && own.flow.defined_at == owner.flow.defined_at;
            known.duplicate_kind = (!known.is_elsewhere).then(|| {
                let first = &owner.bundle.file;
                let message = format!("flow kind \"{kind}\" is already defined in {first}; give this one another kind");
                LoadError::in_file(LoadErrorKind::Conflict, &own.bundle.file, message)
            });
        }
    }

    /// The version to run of a kind.
    pub(crate) fn find(&self, kind: &str) -> Result<Arc<LoadedFlow>, Fault> {
        let all = || self.entries.values().flat_map(|entry| &entry.flows).filter(|known| known.loaded_flow.flow.kind == kind);
        let own = all().find(|known| known.duplicate_kind.is_none() && !known.is_elsewhere);
        if let Some(known) = own.or_else(|| all().next()) {
            return Ok(known.loaded_flow.clone());
        }
        let broken = self.entries.iter().find(|(file, entry)| entry.error.is_some() && name_of(file) == kind);
        if let Some((_, Entry { error: Some(error), .. })) = broken {
            return Err(Fault::NotLoaded { message: error.to_string() });
        }
        let mut kinds: Vec<String> = Vec::new();
        for flow in self.flows().filter(|flow| !flow.actions.is_empty()) {
            // Two files may claim one kind.
            if !kinds.contains(&flow.kind) {
                kinds.push(flow.kind.clone());
            }
        }
        let known = if kinds.is_empty() {
            "there are none in this folder".to_owned()
        } else {
            format!("there are: {}", kinds.join(", "))
        };
        Err(Fault::not_found(format!("unknown flow \"{kind}\"; {known}")))
    }

    /// The flows that load, those of a kind that another file has among them.
    fn flows(&self) -> impl Iterator<Item = &FlowDescription> {
        self.entries.values().flat_map(|entry| &entry.flows).map(|known| &known.loaded_flow.flow)
    }

    /// What is probably not what the author of a flow meant.
    pub(crate) fn warnings(&self, kind: &str) -> Vec<LoadErrorRow> {
        let those = self.flows().filter(|flow| flow.kind == kind);
        those.flat_map(|flow| &flow.warnings).map(LoadErrorRow::from).collect()
    }

    /// What people see; modules without a flow are left out.
    pub(crate) fn rows(&self, workspace: &Path) -> Result<Vec<FlowRow>, Fault> {
        let mut rows = Vec::new();
        for (file, entry) in &self.entries {
            let row = |kind: String, error: Option<&LoadError>| FlowRow {
                kind,
                file: file.strip_prefix(workspace).unwrap_or(file).display().to_string(),
                actions: Vec::new(),
                has_mock: mock_file(file).is_file(),
                error: error.map(LoadErrorRow::from),
                warnings: Vec::new(),
            };
            if entry.flows.is_empty() && entry.error.is_some() {
                rows.push(row(name_of(file), entry.error.as_ref()));
            }
            for Known { loaded_flow, duplicate_kind, .. } in entry.flows.iter().filter(|known| !known.is_elsewhere) {
                let flow = &loaded_flow.flow;
                rows.push(FlowRow {
                    actions: flow.actions.iter().map(action_row).collect::<Result<_, Fault>>()?,
                    warnings: flow.warnings.iter().map(LoadErrorRow::from).collect(),
                    ..row(flow.kind.clone(), entry.error.as_ref().or(duplicate_kind.as_ref()))
                });
            }
        }
        Ok(rows)
    }
}

impl LoadedFlow {
    fn is_defined_in_its_file(&self) -> bool {
        self.flow.defined_at.as_ref().is_some_and(|place| place.file == self.bundle.file)
    }
}

/// The name of a flow whose file does not load: the file's, or that of its folder where all files of flows are called
/// the same.
fn name_of(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default();
    let folder = file.parent().and_then(Path::file_name);
    let name = if stem == "flow" || stem == "index" { folder.unwrap_or(stem) } else { stem };
    name.to_string_lossy().into_owned()
}

fn action_row(action: &script::ActionDescription) -> Result<ActionRow, Fault> {
    Ok(ActionRow {
        name: action.name.clone(),
        description: action.description.clone(),
        input_schema: action.input_schema.clone().map(Json),
        root: action.root().map_err(|error| {
            Fault::internal(format!(
                "the blocks of action \"{}\" in .flowglass/cache cannot be read ({error}); delete that folder",
                action.name
            ))
        })?,
    })
}

/// The mock script that lies beside a flow: `x.mock.json` for `x.ts`.
pub(crate) fn mock_file(flow: &Path) -> PathBuf {
    flow.with_extension("mock.json")
}

/// Loads files, a few at once; whoever reads the catalogue meanwhile sees those that are done.
pub(crate) fn load_all(catalogue: &Mutex<Catalogue>, files: Vec<PathBuf>, loading: &Loading<'_>) {
    let threads = files.len().min(MAX_LOADING);
    let files = Mutex::new(files.into_iter());
    let work = || {
        let mut process = BundleProcess::new(loading.program);
        loop {
            let Some(file) = crate::core::sync::lock(&files).next() else { return };
            let entry = load(&mut process, &file, loading);
            crate::core::sync::lock(catalogue).insert(file, entry);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            // Without any thread nothing is loaded, and the next look tries again.
            let _ = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        }
    });
}

fn is_current(inputs: &[(PathBuf, String)]) -> bool {
    inputs.iter().all(|(file, hash)| hash_of(file).is_some_and(|now| now == *hash))
}

fn hash_of(file: &Path) -> Option<String> {
    ordinary_files::read(file, ordinary_files::FILE_BYTES).ok().map(|bytes| blake3::hash(&bytes).to_hex().to_string())
}

fn cache_file(cache: &Path, file: &Path) -> PathBuf {
    let key = blake3::hash(file.as_os_str().as_encoded_bytes()).to_hex();
    cache.join(format!("{}.json", &key[..24]))
}

fn cached(loading: &Loading<'_>, file: &Path) -> Option<Entry> {
    let text = ordinary_files::read_text(&cache_file(loading.cache, file), ordinary_files::FILE_BYTES).ok()?;
    let cached: Cached = engine::data::from_json(&text).ok()?;
    if cached.version != loading.version() || !is_current(&cached.inputs) {
        return None;
    }
    Some(entry(cached.result, cached.inputs))
}

fn entry(result: Result<LoadedFile, LoadError>, inputs: Vec<(PathBuf, String)>) -> Entry {
    let LoadedFile { bundle, flows } = match result {
        Ok(loaded) => loaded,
        Err(error) => return Entry { error: Some(error), inputs, ..Entry::default() },
    };
    let bundle = Arc::new(bundle);
    let known = |flow| Known {
        loaded_flow: Arc::new(LoadedFlow { bundle: bundle.clone(), flow }),
        duplicate_kind: None,
        is_elsewhere: false,
    };
    Entry { flows: flows.into_iter().map(known).collect(), error: None, inputs }
}

impl Loading<'_> {
    /// What a cached result must come from, besides its files: this program, and the environment that flows see.
    fn version(&self) -> String {
        let env = blake3::hash(self.env.to_string().as_bytes()).to_hex();
        format!("{} {}", script::version(), &env[..16])
    }
}

/// Puts a file into the cache in one step: whoever reads meanwhile finds the one before, and what lay there under its
/// name, a pipe for example, is not written to.
fn keep(cache: &Path, file: &Path, cached: &Cached) -> std::io::Result<()> {
    std::fs::create_dir_all(cache)?;
    let mut new = tempfile::NamedTempFile::new_in(cache)?;
    std::io::Write::write_all(&mut new, &serde_json::to_vec(cached)?)?;
    new.persist(file)?;
    Ok(())
}

/// Loads a file anew, and puts what came of it into the cache.
fn load(process: &mut BundleProcess<'_>, file: &Path, loading: &Loading<'_>) -> Entry {
    let began = Instant::now();
    let (result, files) = load_fresh(process, file, loading);
    let ms = began.elapsed().as_millis() as u64;
    match &result {
        Ok(_) => tracing::info!(file = %file.display(), ms, "flow loaded"),
        Err(error) => tracing::warn!(file = %file.display(), ms, %error, "flow does not load"),
    }
    let inputs: Vec<_> = files.iter().filter_map(|input| Some((input.clone(), hash_of(input)?))).collect();
    if inputs.is_empty() {
        // It was not even bundled: a repaired import elsewhere may mend it, so it is tried again.
        return Entry { error: result.err(), ..Entry::default() };
    }
    let cached = Cached { version: loading.version(), inputs: inputs.clone(), result };
    // A machine under load may be why a parser ended, so that is forgotten with this process.
    if !matches!(&cached.result, Err(error) if error.kind == LoadErrorKind::Abnormal) {
        // A cache that cannot be written costs time, not correctness.
        let _ = keep(loading.cache, &cache_file(loading.cache, file), &cached);
    }
    entry(cached.result, inputs)
}

/// Bundles and evaluates a file. The files it was made from are known as soon as it is bundled, even when it fails
/// then.
fn load_fresh(
    process: &mut BundleProcess<'_>,
    file: &Path,
    loading: &Loading<'_>,
) -> (Result<LoadedFile, LoadError>, Vec<PathBuf>) {
    let bundle = match process.bundle(loading.workspace, file) {
        (Ok(bundle), _) => bundle,
        (Err(error), reads) if error.kind == LoadErrorKind::Abnormal => return (Err(error), reads),
        (Err(error), _) => return (Err(error), Vec::new()),
    };
    let inputs = bundle.inputs.clone();
    let flows = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| describe(&bundle, loading)));
    let flows = flows.unwrap_or_else(|_| {
        let message = "the file could not be loaded: its evaluation panicked";
        Err(LoadError::in_file(LoadErrorKind::Thrown, &bundle.file, message))
    });
    (flows.map(|flows| LoadedFile { bundle, flows }), inputs)
}

/// The flows of a bundle, each as a run of it would find it.
fn describe(bundle: &Bundle, loading: &Loading<'_>) -> Result<Vec<FlowDescription>, LoadError> {
    let load = |kind: Option<&str>| {
        let outside = crate::effects::outside::live(&[], loading.env.clone());
        Loaded::load(bundle, kind, loading.workspace, loading.limits, outside)
    };
    let first = load(None)?;
    let mut flows: Vec<_> = first.describe(bundle)?.into_iter().collect();
    for kind in first.kinds.iter().skip(1) {
        flows.extend(load(Some(kind))?.describe(bundle)?);
    }
    Ok(flows)
}
