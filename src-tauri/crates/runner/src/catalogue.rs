//! The flows of a workspace: which files there are, what they define, and why some do not load.
//!
//! A bundle and its description are kept in `.flowglass/cache`, keyed by the hashes of all files
//! they were made from, so that a start costs no bundling (decision 18). A file that stops loading
//! keeps its last good version running and shows the error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use script::{Bundle, FlowDescription, Limits, LoadError, LoadErrorKind, Loaded};
use serde::{Deserialize, Serialize};

use crate::fault::Fault;
use crate::views::{ActionRow, Json, LoadErrorRow};

/// Threads that evaluate flows need native stack for deep recursion of JavaScript and of values.
pub(crate) const STACK: usize = 64 << 20;

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
    pub(crate) good: Option<Arc<Good>>,
    error: Option<LoadError>,
    /// Another file has its kind; found anew with every refresh.
    double: Option<LoadError>,
    inputs: Vec<(PathBuf, String)>,
}

/// A version that loads.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Good {
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
    result: Result<Good, LoadError>,
}

/// All flow files by path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    entries: BTreeMap<PathBuf, Entry>,
}

impl Catalogue {
    /// Brings the catalogue up to date with the files; unchanged ones cost a hash.
    pub(crate) fn refresh(
        &mut self,
        workspace: &Path,
        folders: Option<&[PathBuf]>,
        cache: &Path,
        limits: Limits,
    ) -> Result<(), Fault> {
        let files = flow_files(workspace, folders)?;
        self.entries.retain(|file, _| files.contains(file));
        for file in files {
            let known = self.entries.get(&file).cloned().unwrap_or_default();
            if !known.inputs.is_empty() && is_current(&known.inputs) {
                continue;
            }
            let entry = match cached(cache, &file) {
                Some(entry) => entry,
                None => load(workspace, &file, cache, limits, known),
            };
            self.entries.insert(file, entry);
        }
        self.refuse_doubles();
        Ok(())
    }

    /// Two files must not define one kind: the first by path keeps it.
    fn refuse_doubles(&mut self) {
        let mut owners: BTreeMap<String, String> = BTreeMap::new();
        for entry in self.entries.values_mut() {
            entry.double = None;
            let Some(good) = &entry.good else { continue };
            let Some(flow) = &good.flow else { continue };
            match owners.get(&flow.kind) {
                None => drop(owners.insert(flow.kind.clone(), good.bundle.file.clone())),
                Some(first) => {
                    let message = format!(
                        "flow kind \"{}\" is already defined in {first}; give this one another kind",
                        flow.kind
                    );
                    entry.double = Some(LoadError::in_file(LoadErrorKind::Conflict, &good.bundle.file, message));
                }
            }
        }
    }

    /// The version to run of a kind.
    pub(crate) fn find(&self, kind: &str) -> Result<Arc<Good>, Fault> {
        for entry in self.entries.values() {
            if let Some(good) = entry.good.as_ref().filter(|good| good.flow.as_ref().is_some_and(|f| f.kind == kind)) {
                return Ok(good.clone());
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
        for row in self.rows(Path::new("")).into_iter().filter(|row| !row.actions.is_empty()) {
            // Two files may claim one kind.
            if !kinds.contains(&row.kind) {
                kinds.push(row.kind);
            }
        }
        let known = if kinds.is_empty() {
            "there are none in this folder".to_owned()
        } else {
            format!("there are: {}", kinds.join(", "))
        };
        Err(Fault::not_found(format!("unknown flow \"{kind}\"; {known}")))
    }

    /// What people see; modules without a flow are left out.
    pub(crate) fn rows(&self, workspace: &Path) -> Vec<FlowRow> {
        self.entries
            .iter()
            .filter_map(|(file, entry)| {
                let flow = entry.good.as_ref().and_then(|good| good.flow.as_ref());
                let error = entry.error.as_ref().or(entry.double.as_ref());
                if flow.is_none() && error.is_none() {
                    return None;
                }
                let stem = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
                let shown = file.strip_prefix(workspace).unwrap_or(file).display().to_string();
                Some(FlowRow {
                    kind: flow.map_or(stem, |flow| flow.kind.clone()),
                    file: shown,
                    actions: flow.map(|flow| flow.actions.iter().map(action_row).collect()).unwrap_or_default(),
                    has_mock: mock_file(file).is_file(),
                    error: error.map(LoadErrorRow::from),
                    warnings: flow
                        .map(|flow| flow.warnings.iter().map(LoadErrorRow::from).collect())
                        .unwrap_or_default(),
                })
            })
            .collect()
    }
}

fn action_row(action: &script::ActionDescription) -> ActionRow {
    ActionRow {
        name: action.name.clone(),
        description: action.description.clone(),
        input_schema: action.input_schema.clone().map(Json),
        root: action.root.clone(),
    }
}

/// The mock script that lies beside a flow: `x.mock.json` for `x.ts`.
pub(crate) fn mock_file(flow: &Path) -> PathBuf {
    flow.with_extension("mock.json")
}

fn is_current(inputs: &[(PathBuf, String)]) -> bool {
    inputs.iter().all(|(file, hash)| hash_of(file).is_some_and(|now| now == *hash))
}

fn hash_of(file: &Path) -> Option<String> {
    std::fs::read(file).ok().map(|bytes| blake3::hash(&bytes).to_hex().to_string())
}

fn cache_file(cache: &Path, file: &Path) -> PathBuf {
    let key = blake3::hash(file.as_os_str().as_encoded_bytes()).to_hex();
    cache.join(format!("{}.json", &key[..24]))
}

fn cached(cache: &Path, file: &Path) -> Option<Entry> {
    let text = std::fs::read_to_string(cache_file(cache, file)).ok()?;
    let cached: Cached = engine::data::from_json(&text).ok()?;
    if cached.version != script::version() || !is_current(&cached.inputs) {
        return None;
    }
    Some(match cached.result {
        Ok(good) => Entry { good: Some(Arc::new(good)), inputs: cached.inputs, ..Entry::default() },
        Err(error) => Entry { error: Some(error), inputs: cached.inputs, ..Entry::default() },
    })
}

fn load(workspace: &Path, file: &Path, cache: &Path, limits: Limits, known: Entry) -> Entry {
    let (result, files) = load_fresh(workspace, file, limits);
    let inputs: Vec<_> = files.iter().filter_map(|input| Some((input.clone(), hash_of(input)?))).collect();
    if inputs.is_empty() {
        // It was not even bundled: a repaired import elsewhere may mend it, so it is tried again.
        return Entry { good: known.good, error: result.err(), ..Entry::default() };
    }
    let cached = Cached { version: script::version(), inputs: inputs.clone(), result };
    // A cache that cannot be written costs time, not correctness.
    let _ = std::fs::create_dir_all(cache)
        .and_then(|()| std::fs::write(cache_file(cache, file), serde_json::to_vec(&cached).unwrap_or_default()));
    match cached.result {
        Ok(good) => Entry { good: Some(Arc::new(good)), inputs, ..Entry::default() },
        Err(error) => Entry { good: known.good, error: Some(error), inputs, ..Entry::default() },
    }
}

/// Bundles and evaluates a file, on a thread with the stack for it. The files it was made from are
/// known as soon as it is bundled, even when it fails then.
fn load_fresh(workspace: &Path, file: &Path, limits: Limits) -> (Result<Good, LoadError>, Vec<PathBuf>) {
    let (workspace, file) = (workspace.to_owned(), file.to_owned());
    let shown = file.strip_prefix(&workspace).unwrap_or(&file).display().to_string();
    let broken = |message: &str| (Err(LoadError::in_file(LoadErrorKind::Thrown, &shown, message)), Vec::new());
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
        let bundle = match runtime {
            Ok(runtime) => runtime.block_on(script::bundle(&workspace, &file)),
            Err(error) => Err(LoadError::in_file(LoadErrorKind::Thrown, "", error.to_string())),
        };
        let bundle = match bundle {
            Ok(bundle) => bundle,
            Err(error) => return (Err(error), Vec::new()),
        };
        let inputs = bundle.inputs.clone();
        let flow = Loaded::load(&bundle, &workspace, limits, crate::run::live(&[]))
            .and_then(|loaded| loaded.describe(&bundle));
        (flow.map(|flow| Good { bundle, flow }), inputs)
    });
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(result)) => result,
        Ok(Err(_)) => broken("the file could not be loaded: the bundler panicked"),
        Err(error) => broken(&error.to_string()),
    }
}

/// Without `flows` in the configuration: the files of the folder itself, and all of its `flows/`.
fn flow_files(workspace: &Path, folders: Option<&[PathBuf]>) -> Result<Vec<PathBuf>, Fault> {
    let mut found = Vec::new();
    match folders {
        Some(folders) => {
            for folder in folders {
                let path = workspace.join(folder);
                if path.is_file() {
                    found.push(path);
                } else if path.is_dir() {
                    gather(&path, true, &mut found)?;
                } else {
                    return Err(Fault::invalid(format!(
                        "flowglass.json: \"flows\" names {}, which does not exist",
                        folder.display()
                    )));
                }
            }
        }
        None => {
            gather(workspace, false, &mut found)?;
            let inner = workspace.join("flows");
            if inner.is_dir() {
                gather(&inner, true, &mut found)?;
            }
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

fn gather(folder: &Path, deep: bool, found: &mut Vec<PathBuf>) -> Result<(), Fault> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with('.') || name == "node_modules" || name == "types" {
            continue;
        }
        if path.is_dir() {
            if deep {
                gather(&path, true, found)?;
            }
        } else if name.ends_with(".ts")
            && ![".d.ts", ".test.ts", ".spec.ts", ".config.ts"].iter().any(|end| name.ends_with(end))
        {
            found.push(path);
        }
    }
    Ok(())
}
