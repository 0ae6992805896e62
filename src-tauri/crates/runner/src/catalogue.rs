//! The flows of a workspace: which files there are, what they define, and why some do not load.
//!
//! A bundle and its description are kept in `.flowglass/cache`, keyed by the hashes of all files
//! they were made from, so that a start costs no bundling (ARCHITECTURE §8.3). A file that stops loading
//! keeps its last good version running and shows the error.

mod files;

pub(crate) use files::is_workspace;

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
    pub(crate) loaded_flow: Option<Arc<LoadedFlow>>,
    error: Option<LoadError>,
    /// Another file has its kind; found anew with every refresh.
    duplicate_kind: Option<LoadError>,
    inputs: Vec<(PathBuf, String)>,
}

/// A version that loads.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LoadedFlow {
    pub(crate) bundle: Bundle,
    /// `None` for a module that defines no flow.
    pub(crate) flow: Option<FlowDescription>,
}

/// What lies in the cache for one file.
#[derive(Serialize, Deserialize)]
struct Cached {
    version: String,
    inputs: Vec<(PathBuf, String)>,
    /// A file that was bundled and then failed is not worth trying again until something changes.
    result: Result<LoadedFlow, LoadError>,
}

/// All flow files by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    entries: BTreeMap<PathBuf, Entry>,
}

/// Where flows are, and what loading them takes.
#[derive(Clone, Copy)]
pub(crate) struct Loading<'w> {
    pub(crate) workspace: &'w Path,
    /// What `flowglass.json` names.
    pub(crate) folders: Option<&'w [PathBuf]>,
    pub(crate) cache: &'w Path,
    pub(crate) limits: Limits,
    /// The program that bundles; in this process without one.
    pub(crate) program: Option<&'w Path>,
}

impl Catalogue {
    /// Takes over what has not changed and what is cached, which costs a hash for each file; answers with the files
    /// that are to be loaded.
    pub(crate) fn look(&mut self, loading: &Loading<'_>) -> Result<Vec<PathBuf>, Fault> {
        let files = files::flow_files(loading.workspace, loading.folders)?;
        self.entries.retain(|file, _| files.binary_search(file).is_ok());
        let mut stale = Vec::new();
        for file in files {
            let is_known =
                self.entries.get(&file).is_some_and(|known| !known.inputs.is_empty() && is_current(&known.inputs));
            if is_known {
                continue;
            }
            match cached(loading.cache, &file) {
                Some(entry) => drop(self.entries.insert(file, entry)),
                None => stale.push(file),
            }
        }
        self.refuse_doubles();
        Ok(stale)
    }

    /// Takes over what came of a file.
    fn insert(&mut self, file: PathBuf, new: Entry) {
        let loaded_flow =
            new.loaded_flow.or_else(|| self.entries.get(&file).and_then(|known| known.loaded_flow.clone()));
        self.entries.insert(file, Entry { loaded_flow, ..new });
        self.refuse_doubles();
    }

    /// Whether nothing is known of any file.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Two files must not define one kind: the first by path keeps it.
    fn refuse_doubles(&mut self) {
        let mut owners: BTreeMap<String, String> = BTreeMap::new();
        for entry in self.entries.values_mut() {
            entry.duplicate_kind = None;
            let Some(loaded_flow) = &entry.loaded_flow else { continue };
            let Some(flow) = &loaded_flow.flow else { continue };
            match owners.get(&flow.kind) {
                None => drop(owners.insert(flow.kind.clone(), loaded_flow.bundle.file.clone())),
                Some(first) => {
                    let message = format!(
                        "flow kind \"{}\" is already defined in {first}; give this one another kind",
                        flow.kind
                    );
                    entry.duplicate_kind =
                        Some(LoadError::in_file(LoadErrorKind::Conflict, &loaded_flow.bundle.file, message));
                }
            }
        }
    }

    /// The version to run of a kind.
    pub(crate) fn find(&self, kind: &str) -> Result<Arc<LoadedFlow>, Fault> {
        for entry in self.entries.values() {
            if let Some(loaded_flow) = entry
                .loaded_flow
                .as_ref()
                .filter(|loaded_flow| loaded_flow.flow.as_ref().is_some_and(|f| f.kind == kind))
            {
                return Ok(loaded_flow.clone());
            }
        }
        let stem_of = |path: &Path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        let broken = self
            .entries
            .iter()
            .find(|(file, entry)| entry.error.is_some() && stem_of(file).is_some_and(|stem| stem == kind));
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
        self.entries.values().filter_map(|entry| entry.loaded_flow.as_ref()?.flow.as_ref())
    }

    /// What is probably not what the author of a flow meant.
    pub(crate) fn warnings(&self, kind: &str) -> Vec<LoadErrorRow> {
        let those = self.flows().filter(|flow| flow.kind == kind);
        those.flat_map(|flow| &flow.warnings).map(LoadErrorRow::from).collect()
    }

    /// What people see; modules without a flow are left out.
    pub(crate) fn rows(&self, workspace: &Path) -> Result<Vec<FlowRow>, Fault> {
        self.entries
            .iter()
            .filter_map(|(file, entry)| {
                let flow = entry.loaded_flow.as_ref().and_then(|loaded_flow| loaded_flow.flow.as_ref());
                let error = entry.error.as_ref().or(entry.duplicate_kind.as_ref());
                if flow.is_none() && error.is_none() {
                    return None;
                }
                let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
                let shown = file.strip_prefix(workspace).unwrap_or(file).display().to_string();
                let actions = match flow.map_or(&[][..], |flow| &flow.actions).iter().map(action_row).collect() {
                    Ok(actions) => actions,
                    Err(fault) => return Some(Err(fault)),
                };
                Some(Ok(FlowRow {
                    kind: flow.map_or(stem, |flow| flow.kind.clone()),
                    file: shown,
                    actions,
                    has_mock: mock_file(file).is_file(),
                    error: error.map(LoadErrorRow::from),
                    warnings: flow
                        .map(|flow| flow.warnings.iter().map(LoadErrorRow::from).collect())
                        .unwrap_or_default(),
                }))
            })
            .collect()
    }
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

fn cached(cache: &Path, file: &Path) -> Option<Entry> {
    let text = ordinary_files::read_text(&cache_file(cache, file), ordinary_files::FILE_BYTES).ok()?;
    let cached: Cached = engine::data::from_json(&text).ok()?;
    if cached.version != script::version() || !is_current(&cached.inputs) {
        return None;
    }
    Some(match cached.result {
        Ok(loaded_flow) => {
            Entry { loaded_flow: Some(Arc::new(loaded_flow)), inputs: cached.inputs, ..Entry::default() }
        }
        Err(error) => Entry { error: Some(error), inputs: cached.inputs, ..Entry::default() },
    })
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
    let cached = Cached { version: script::version(), inputs: inputs.clone(), result };
    // A machine under load may be why a parser ended, so that is forgotten with this process.
    if !matches!(&cached.result, Err(error) if error.kind == LoadErrorKind::Abnormal) {
        // A cache that cannot be written costs time, not correctness.
        let _ = keep(loading.cache, &cache_file(loading.cache, file), &cached);
    }
    match cached.result {
        Ok(loaded_flow) => Entry { loaded_flow: Some(Arc::new(loaded_flow)), inputs, ..Entry::default() },
        Err(error) => Entry { error: Some(error), inputs, ..Entry::default() },
    }
}

/// Bundles and evaluates a file. The files it was made from are known as soon as it is bundled, even when it fails
/// then.
fn load_fresh(
    process: &mut BundleProcess<'_>,
    file: &Path,
    loading: &Loading<'_>,
) -> (Result<LoadedFlow, LoadError>, Vec<PathBuf>) {
    let bundle = match process.bundle(loading.workspace, file) {
        (Ok(bundle), _) => bundle,
        (Err(error), reads) if error.kind == LoadErrorKind::Abnormal => return (Err(error), reads),
        (Err(error), _) => return (Err(error), Vec::new()),
    };
    let inputs = bundle.inputs.clone();
    let evaluate = || {
        Loaded::load(&bundle, loading.workspace, loading.limits, crate::effects::outside::live(&[]))
            .and_then(|loaded| loaded.describe(&bundle))
    };
    let flow = std::panic::catch_unwind(std::panic::AssertUnwindSafe(evaluate)).unwrap_or_else(|_| {
        let message = "the file could not be loaded: its evaluation panicked";
        Err(LoadError::in_file(LoadErrorKind::Thrown, &bundle.file, message))
    });
    (flow.map(|flow| LoadedFlow { bundle, flow }), inputs)
}
