//! The records of flow files whose load or run ended a process by a signal, as a fault of the JavaScript engine does. A
//! record is a file in `.flowglass/cache`. As long as it is there, no process loads the flow file automatically
//! (ARCHITECTURE §8.4).
//!
//! A run's record is written by the process that ends, in `fatal_signals`. Must not load a file.

use std::ffi::CString;
use std::os::raw::c_int;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use script::{LoadError, LoadErrorKind};
use serde::{Deserialize, Serialize};

use crate::catalogue::fatal_signals::{EndTexts, FATAL_SIGNALS, signal_name};
use crate::catalogue::loading::{Loading, cache_file, is_current, keep};
use crate::core::ordinary_files;

/// The record of one flow file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    /// The program, and the environment of flows: with others it is tried again.
    version: String,
    /// The files it was made from, with their hashes: a change is tried.
    pub(crate) inputs: Vec<(PathBuf, String)>,
    /// The kinds of its flows, as far as they are known.
    pub(crate) kinds: Vec<String>,
    /// The reason, and what to do.
    pub(crate) error: LoadError,
}

/// What the process was doing with the file.
#[derive(Clone, Copy)]
pub(crate) enum During {
    /// Its evaluation, in a child.
    Load,
    /// A run, a replay, or another use of its flow.
    Run,
}

impl Ended {
    /// The record of a file that is held back now, if it is.
    pub(crate) fn read(loading: &Loading<'_>, file: &Path) -> Option<Ended> {
        let record = record_file(loading.cache, file);
        // Most files have none, which costs no more than this.
        let text = ordinary_files::read_text(&record, ordinary_files::FILE_BYTES).ok()?;
        let ended: Ended = engine::data::from_json(&text).ok()?;
        (ended.version == loading.version() && is_current(&ended.inputs)).then_some(ended)
    }

    /// Keeps that the load of a file ended its process. `None` where nothing is known of its files, or nothing can be
    /// kept: then it is an error like others.
    pub(crate) fn keep(
        loading: &Loading<'_>,
        file: &Path,
        signal: c_int,
        inputs: &[(PathBuf, String)],
    ) -> Option<Ended> {
        let shown = file.strip_prefix(loading.workspace).unwrap_or(file).display().to_string();
        let error = held_back(&shown, During::Load, signal);
        let ended = Ended { version: loading.version(), inputs: inputs.to_vec(), kinds: Vec::new(), error };
        let record = record_file(loading.cache, file);
        (!inputs.is_empty() && keep(loading.cache, &record, &ended).is_ok()).then_some(ended)
    }

    /// Drops the record of a file, so that it is loaded again. Returns whether there was one.
    pub(crate) fn drop_record(cache: &Path, file: &Path) -> std::io::Result<bool> {
        match std::fs::remove_file(record_file(cache, file)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// What a process writes if a file's flow ends it. Made when the flow first runs.
#[derive(Debug)]
pub(crate) struct EndRecord {
    file: PathBuf,
    shown: String,
    version: String,
    inputs: Vec<(PathBuf, String)>,
    kinds: Vec<String>,
    texts: OnceLock<Option<EndTexts>>,
}

impl EndRecord {
    /// For the flows of a file that was loaded; `shown` is its path in the workspace.
    pub(crate) fn new(
        loading: &Loading<'_>,
        file: &Path,
        shown: String,
        inputs: Vec<(PathBuf, String)>,
        kinds: Vec<String>,
    ) -> Arc<EndRecord> {
        let file = record_file(loading.cache, file);
        Arc::new(EndRecord { file, shown, version: loading.version(), inputs, kinds, texts: OnceLock::new() })
    }

    /// The finished texts; none where the path is not one that the system can be given.
    pub(crate) fn texts(&self) -> Option<&EndTexts> {
        self.texts.get_or_init(|| self.prepare()).as_ref()
    }

    fn prepare(&self) -> Option<EndTexts> {
        let path = |path: &Path| CString::new(path.as_os_str().as_encoded_bytes()).ok();
        let text = |signal: c_int| {
            let (version, inputs, kinds) = (self.version.clone(), self.inputs.clone(), self.kinds.clone());
            let ended = Ended { version, inputs, kinds, error: held_back(&self.shown, During::Run, signal) };
            serde_json::to_vec(&ended).unwrap_or_default()
        };
        Some(EndTexts {
            file: path(&self.file)?,
            unfinished: path(&self.file.with_extension(format!("{}.new", std::process::id())))?,
            texts: FATAL_SIGNALS.map(|(signal, _)| text(signal)),
        })
    }
}

fn record_file(cache: &Path, file: &Path) -> PathBuf {
    cache_file(cache, file).with_extension("ended.json")
}

/// Why a file is not loaded.
fn held_back(shown: &str, during: During, signal: c_int) -> LoadError {
    let what = match during {
        During::Load => "its last load ended the process that evaluated it",
        During::Run => "its last run ended the process",
    };
    let quoted = if shown.contains(char::is_whitespace) { format!("'{shown}'") } else { shown.to_owned() };
    let message = format!(
        "{what} by signal {signal} ({}), so it is not loaded again automatically: change it, or load it anyway with \
         `flowglass check --load-anyway {quoted}`",
        signal_name(signal)
    );
    LoadError::in_file(LoadErrorKind::Abnormal, shown, message)
}
