//! The code that requests ran, with probes: its statements, and bundles for questions. Both are cached by their
//! content, the bundles also in `.flowglass/cache`.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock};

use script::{Bundle, Bundler, Code, LoadErrorKind, Question, Site, SiteTable, Source};
use serde::{Deserialize, Serialize};

use super::super::{Workspace, lock};
use super::covered::Coverages;
use super::following::Following;
use super::schedule::Schedules;
use super::trace::Traces;
use crate::catalogue::loading::{hash_of, is_current, keep};
use crate::core::fault::Fault;
use crate::core::ordinary_files;

/// How many codes, and how many bundles, a process keeps in memory.
const KEPT: usize = 16;
/// How many files a cache on the disk keeps.
const KEPT_ON_DISK: usize = 256;

/// The cached code of requests.
#[derive(Default)]
pub(crate) struct ProbedCodes {
    codes: Mutex<VecDeque<Arc<ProbedCode>>>,
    bundles: Mutex<VecDeque<(String, Arc<Cached>)>>,
    bundler: OnceLock<Option<Bundler>>,
    pub(super) traces: Traces,
    pub(super) schedules: Schedules,
    pub(super) coverages: Coverages,
    pub(super) following: Following,
}

/// The code of a bundle that ran, and its statements.
pub(crate) struct ProbedCode {
    pub(super) hash: String,
    pub(super) code: Code,
    pub(super) table: Arc<SiteTable>,
    keeps_state: OnceLock<bool>,
}

impl ProbedCode {
    /// Reads the statements of the code with this hash.
    pub(super) fn new(hash: &str, code: Code) -> ProbedCode {
        let table = Arc::new(SiteTable::of(&code));
        ProbedCode { hash: hash.to_owned(), code, table, keeps_state: OnceLock::new() }
    }

    /// The first line of a statement's text, up to the first statement inside it.
    pub(super) fn statement(&self, site: &Site) -> &str {
        let line = self.text(&site.file).and_then(|text| text.lines().nth(site.line as usize - 1)).unwrap_or_default();
        let units = |column: u32| {
            let mut left = column.saturating_sub(1) as usize;
            let is_before = |letter: &(usize, char)| {
                let is_before = left > 0;
                left = left.saturating_sub(letter.1.len_utf16());
                is_before
            };
            line.char_indices().take_while(is_before).last().map_or(0, |(at, letter)| at + letter.len_utf8())
        };
        let end = if site.end_line == site.line { units(site.end_column) } else { line.len() };
        line.get(units(site.column)..end).unwrap_or_default().trim_end()
    }

    /// Whether it may keep state in memory between blocks.
    pub(super) fn may_keep_state(&self) -> bool {
        *self.keeps_state.get_or_init(|| self.code.may_keep_state())
    }

    /// The text of a file as it ran.
    pub(super) fn text(&self, file: &str) -> Option<&str> {
        self.code.sources.iter().find(|source| source.file == file).map(|source| source.text.as_str())
    }
}

#[derive(Serialize, Deserialize)]
struct Cached {
    version: String,
    /// The files on the disk that are part of it, such as packages, or that determine how imports are found.
    inputs: Vec<(PathBuf, String)>,
    bundle: Arc<Bundle>,
}

impl Workspace {
    /// Returns code that ran, by its hash. `None` if the database does not have it.
    pub(super) fn probed_code(&self, hash: &str) -> Result<Option<Arc<ProbedCode>>, Fault> {
        if let Some(known) = lock(&self.probed.codes).iter().find(|known| known.hash == hash) {
            return Ok(Some(known.clone()));
        }
        let Some(code) = self.store.code(hash).map_err(Fault::internal)? else { return Ok(None) };
        let code: Code = engine::json::from_value(code).map_err(Fault::internal)?;
        let made = Arc::new(ProbedCode::new(hash, code));
        let mut codes = lock(&self.probed.codes);
        codes.push_back(made.clone());
        if codes.len() > KEPT {
            codes.pop_front();
        }
        Ok(Some(made))
    }

    /// Whether the code's imports from the disk are unchanged: packages, data, and how they are found.
    pub(super) fn is_as_it_ran(&self, code: &ProbedCode) -> bool {
        let is_it = |bundle: &Bundle| bundle.is_of(&code.hash, &self.dir) || bundle.is_of_code_alone(&code.hash);
        self.probed_bundle(code, None).is_ok_and(|bundle| is_it(&bundle))
    }

    /// Returns the bundle of code that ran: with probes for a question, or unchanged without a question.
    pub(in super::super) fn probed_bundle(
        &self,
        code: &ProbedCode,
        question: Option<Question>,
    ) -> Result<Arc<Bundle>, Fault> {
        let asked = format!("{} {} {question:?}", script::version(), code.hash);
        let key = blake3::hash(asked.as_bytes()).to_hex().to_string();
        let known = lock(&self.probed.bundles).iter().find(|(known, _)| *known == key).map(|(_, known)| known.clone());
        if let Some(known) = known.filter(|known| is_current(&known.inputs)) {
            return Ok(known.bundle.clone());
        }
        let folder = self.cache().join("probes");
        let file = folder.join(format!("{}.json", &key[..32]));
        let made = match cached(&file) {
            Some(cached) => cached,
            None => {
                let bundle = self.bundle_probed(code, question)?;
                let stored = |source: &&Source| code.table.has_file(&source.file) && !source.text.is_empty();
                let is_stored = |path: &PathBuf| {
                    code.code.sources.iter().filter(stored).any(|source| self.dir.join(&source.file) == *path)
                };
                let others = bundle.inputs.iter().filter(|path| !is_stored(path));
                let inputs = others.map(|path| (path.clone(), hash_of(path))).collect();
                let cached = Cached { version: script::version(), inputs, bundle: Arc::new(bundle) };
                // Ignore errors: a bundle that cannot be cached is built again.
                let _ = keep(&folder, &file, &cached);
                forget_old(&folder);
                cached
            }
        };
        let bundle = made.bundle.clone();
        let mut bundles = lock(&self.probed.bundles);
        bundles.retain(|(known, _)| *known != key);
        bundles.push_back((key, Arc::new(made)));
        if bundles.len() > KEPT {
            bundles.pop_front();
        }
        Ok(bundle)
    }

    fn bundle_probed(&self, code: &ProbedCode, question: Option<Question>) -> Result<Bundle, Fault> {
        let has_expressions = question.as_ref().is_some_and(|question| !question.expressions.is_empty());
        let bundler = self.probed.bundler.get_or_init(|| Bundler::new().ok());
        let bundler = bundler.as_ref().ok_or_else(|| Fault::internal("the bundler cannot start its threads"))?;
        bundler.bundle_probed(&self.dir, &code.code, code.table.clone(), question).map_err(|error| match error.kind {
            LoadErrorKind::Syntax if has_expressions => {
                Fault::invalid(format!("the expression cannot be evaluated at its statement: {}", error.message))
            }
            _ => Fault::NotLoaded { message: format!("the code that ran cannot be bundled again: {error}") },
        })
    }
}

fn cached(file: &std::path::Path) -> Option<Cached> {
    let text = ordinary_files::read_text(file, ordinary_files::FILE_BYTES).ok()?;
    let cached: Cached = engine::data::from_json(&text).ok()?;
    (cached.version == script::version() && is_current(&cached.inputs)).then_some(cached)
}

/// Removes the oldest files of a cache that has too many.
pub(super) fn forget_old(folder: &std::path::Path) {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let written = |entry: std::fs::DirEntry| Some((entry.metadata().ok()?.modified().ok()?, entry.path()));
    let mut files: Vec<_> = entries.filter_map(written).collect();
    files.sort();
    let surplus = files.len().saturating_sub(KEPT_ON_DISK);
    for (_, file) in files.into_iter().take(surplus) {
        // Another process may have removed it.
        let _ = std::fs::remove_file(file);
    }
}
