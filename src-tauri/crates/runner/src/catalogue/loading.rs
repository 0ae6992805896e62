//! Loading of flow files: bundled, evaluated and described for the catalogue in a child process.
//!
//! What came of a file is kept in `.flowglass/cache`, keyed by the hashes of all files it was made from, so that a
//! start costs no bundling (ARCHITECTURE §8.3). Must not decide which of two flows is meant.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use script::{Bundle, FlowDescription, Limits, LoadError, LoadErrorKind, Loaded};
use serde::{Deserialize, Serialize};

use super::{Catalogue, Entry, Known, LoadedFlow, STACK};
use crate::catalogue::bundling::{BundleProcess, Bundled};
use crate::catalogue::ended::{EndRecord, Ended};
use crate::core::ordinary_files;

/// How many files are loaded at once, each with a child that bundles it.
const MAX_LOADING: usize = 2;

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
    /// Whether loading was cancelled: the child that loads a file is then ended, and nothing is kept of that file.
    pub(crate) is_cancelled: &'w (dyn Fn() -> bool + Sync),
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

/// Loads files, a few at once; whoever reads the catalogue meanwhile sees those that are done.
pub(crate) fn load_all(catalogue: &Mutex<Catalogue>, files: Vec<PathBuf>, loading: &Loading<'_>) {
    let threads = files.len().min(MAX_LOADING);
    let files = Mutex::new(files.into_iter());
    let work = || {
        let mut process = BundleProcess::new(loading.program);
        loop {
            let Some(file) = crate::core::sync::lock(&files).next() else { return };
            let Some(entry) = load(&mut process, &file, loading) else { return };
            crate::core::sync::lock(catalogue).insert(file, entry);
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            // Without any thread nothing is loaded, and the next look tries again.
            let _ = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        }
    });
    crate::core::sync::lock(catalogue).refuse();
}

pub(crate) fn is_current(inputs: &[(PathBuf, String)]) -> bool {
    inputs.iter().all(|(file, hash)| hash_of(file) == *hash)
}

/// The hash of a file's content; of a folder, that of the names in it; nothing of a file that does not exist.
pub(crate) fn hash_of(file: &Path) -> String {
    if let Some(listing) = script::listing(file) {
        return blake3::hash(listing.as_bytes()).to_hex().to_string();
    }
    let bytes = ordinary_files::read(file, ordinary_files::FILE_BYTES);
    bytes.map_or_else(|_| String::new(), |bytes| blake3::hash(&bytes).to_hex().to_string())
}

pub(super) fn cache_file(cache: &Path, file: &Path) -> PathBuf {
    let key = blake3::hash(file.as_os_str().as_encoded_bytes()).to_hex();
    cache.join(format!("{}.json", &key[..24]))
}

/// What the cache has of a file, where nothing that it was made from has changed.
pub(super) fn cached(loading: &Loading<'_>, file: &Path) -> Option<Entry> {
    let text = ordinary_files::read_text(&cache_file(loading.cache, file), ordinary_files::FILE_BYTES).ok()?;
    let cached: Cached = engine::data::from_json(&text).ok()?;
    if cached.version != loading.version() || !is_current(&cached.inputs) {
        return None;
    }
    Some(entry(loading, file, cached.result, cached.inputs))
}

fn entry(
    loading: &Loading<'_>,
    file: &Path,
    result: Result<LoadedFile, LoadError>,
    inputs: Vec<(PathBuf, String)>,
) -> Entry {
    let LoadedFile { bundle, flows } = match result {
        Ok(loaded) => loaded,
        Err(error) => return Entry { error: Some(error), inputs, ..Entry::default() },
    };
    let bundle = Arc::new(bundle);
    let kinds = flows.iter().map(|flow| flow.kind.clone()).collect();
    let end_record = EndRecord::new(loading, file, bundle.file.clone(), inputs.clone(), kinds);
    let known = |flow| Known {
        loaded_flow: Arc::new(LoadedFlow { bundle: bundle.clone(), flow, end_record: end_record.clone() }),
        refusal: None,
        is_elsewhere: false,
        clash: None,
    };
    Entry { flows: flows.into_iter().map(known).collect(), inputs, ..Entry::default() }
}

impl Loading<'_> {
    /// What a cached result must come from, besides its files: this program, and the environment that flows see.
    pub(super) fn version(&self) -> String {
        let env = blake3::hash(self.env.to_string().as_bytes()).to_hex();
        format!("{} {}", script::version(), &env[..16])
    }
}

/// Puts a file into the cache in one step: whoever reads meanwhile finds the one before, and what lay there under its
/// name, a pipe for example, is not written to.
pub(crate) fn keep(cache: &Path, file: &Path, content: &impl Serialize) -> std::io::Result<()> {
    std::fs::create_dir_all(cache)?;
    let mut new = tempfile::NamedTempFile::new_in(cache)?;
    std::io::Write::write_all(&mut new, &serde_json::to_vec(content)?)?;
    new.persist(file)?;
    Ok(())
}

/// Loads a file again, and writes the result into the cache. `None` if loading was cancelled.
fn load(process: &mut BundleProcess<'_>, file: &Path, loading: &Loading<'_>) -> Option<Entry> {
    if (loading.is_cancelled)() {
        return None;
    }
    let began = Instant::now();
    let Fresh { result, reads, ended_by } = load_fresh(process, file, loading);
    // The result may be that the child was ended.
    if (loading.is_cancelled)() {
        return None;
    }
    let ms = began.elapsed().as_millis() as u64;
    match &result {
        Ok(_) => tracing::info!(file = %file.display(), ms, "flow loaded"),
        Err(error) => tracing::warn!(file = %file.display(), ms, %error, "flow does not load"),
    }
    let inputs: Vec<_> = reads.iter().map(|input| (input.clone(), hash_of(input))).collect();
    if let Some(ended) = ended_by.and_then(|signal| Ended::keep(loading, file, signal, &inputs)) {
        return Some(Entry::held_back(ended));
    }
    if inputs.is_empty() {
        // It was not even bundled: a repaired import elsewhere may mend it, so it is tried again.
        return Some(Entry { error: result.err(), ..Entry::default() });
    }
    let cached = Cached { version: loading.version(), inputs: inputs.clone(), result };
    // A machine under load may be why a parser ended, so that is forgotten with this process.
    if !matches!(&cached.result, Err(error) if error.kind == LoadErrorKind::Abnormal) {
        // A cache that cannot be written costs time, not correctness.
        let _ = keep(loading.cache, &cache_file(loading.cache, file), &cached);
    }
    Some(entry(loading, file, cached.result, inputs))
}

/// What came of loading a file that was not cached.
struct Fresh {
    result: Result<LoadedFile, LoadError>,
    /// The files it was made from, as far as they are known: all of them once it is bundled.
    reads: Vec<PathBuf>,
    /// The signal of a fault that ended the child.
    ended_by: Option<i32>,
}

/// Bundles and evaluates a file.
fn load_fresh(process: &mut BundleProcess<'_>, file: &Path, loading: &Loading<'_>) -> Fresh {
    let Bundled { bundle, flows, reads, ended_by } = process.bundle(loading, file);
    let bundle = match bundle {
        Ok(bundle) => bundle,
        Err(error) => {
            let reads = if error.kind == LoadErrorKind::Abnormal { reads } else { Vec::new() };
            return Fresh { result: Err(error), reads, ended_by };
        }
    };
    let reads = bundle.inputs.clone();
    let flows = flows.unwrap_or_else(|| describe(&bundle, loading.workspace, loading.limits, loading.env));
    Fresh { result: flows.map(|flows| LoadedFile { bundle, flows }), reads, ended_by }
}

/// Evaluates a bundle and describes its flows, each as a run of it would find it.
pub(crate) fn describe(
    bundle: &Bundle,
    workspace: &Path,
    limits: Limits,
    env: &serde_json::Value,
) -> Result<Vec<FlowDescription>, LoadError> {
    let load = |kind: Option<&str>| {
        let outside = crate::effects::outside::live(&[], env.clone());
        Loaded::load(bundle, kind, workspace, limits, outside)
    };
    let flows = || {
        let first = load(None)?;
        let mut flows: Vec<_> = first.describe(bundle)?.into_iter().collect();
        for kind in first.kinds.iter().skip(1) {
            flows.extend(load(Some(kind))?.describe(bundle)?);
        }
        Ok(flows)
    };
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(flows)).unwrap_or_else(|_| {
        let message = "the file could not be loaded: its evaluation panicked";
        Err(LoadError::in_file(LoadErrorKind::Thrown, &bundle.file, message))
    })
}
