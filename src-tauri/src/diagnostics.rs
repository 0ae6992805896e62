//! What the program tells of itself, for whoever looks for a fault in it: spans and events of `tracing`.
//!
//! On the command line nothing, unless `FLOWGLASS_LOG` names what (`info`, `runner=debug`), and then on stderr. The
//! window writes a file, a new one each day. Neither holds what flows got or made.

use std::path::{Path, PathBuf};

use tracing_appender::non_blocking::WorkerGuard;
use tracing_appender::rolling::{RollingFileAppender, Rotation};
use tracing_subscriber::{EnvFilter, fmt};

/// Names what is told, as `tracing-subscriber` reads it.
const VARIABLE: &str = "FLOWGLASS_LOG";
/// What the window tells where nothing is named.
const DEFAULT: &str = "warn,flowglass=info,runner=info,store=info";
/// The file's name, before its day.
const NAME: &str = "flowglass";
/// So many days are kept.
const DAYS: usize = 7;

/// Tells on stderr what `FLOWGLASS_LOG` names.
pub(crate) fn to_stderr() {
    if let Some(filter) = named() {
        // Whoever was first in this process goes on.
        let _ = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(false).try_init();
    }
}

/// Tells into a file, until the guard is dropped.
pub(crate) fn to_file() -> Option<WorkerGuard> {
    let filter = named().unwrap_or_else(|| EnvFilter::new(DEFAULT));
    let folder = folder()?;
    // The appender looks for old files first, and complains on stderr where there is no folder yet. It reports itself
    // when none can be made.
    let _ = std::fs::create_dir_all(&folder);
    let appender = RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix(NAME)
        .filename_suffix("log")
        .max_log_files(DAYS)
        .build(folder);
    let appender = match appender {
        Ok(appender) => appender,
        Err(error) => {
            crate::terminal::tell(&format!("flowglass: no log can be written: {error}"));
            return None;
        }
    };
    let (writer, guard) = tracing_appender::non_blocking(appender);
    let _ = fmt().with_env_filter(filter).with_writer(writer).with_ansi(false).try_init();
    Some(guard)
}

/// The newest file that the window wrote, if there is one.
pub(crate) fn newest_file() -> Option<PathBuf> {
    let is_ours =
        |path: &Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&format!("{NAME}.")));
    let files = std::fs::read_dir(folder()?).ok()?.flatten().map(|entry| entry.path());
    files.filter(|path| is_ours(path)).max()
}

/// Where the window's files lie.
fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = set("XDG_STATE_HOME").or_else(|| set("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("flowglass").join("log"))
}

/// What the variable names; a mistake in it is told, and nothing else.
fn named() -> Option<EnvFilter> {
    let text = std::env::var(VARIABLE).ok().filter(|text| !text.trim().is_empty())?;
    match EnvFilter::try_new(&text) {
        Ok(filter) => Some(filter),
        Err(error) => {
            crate::terminal::tell(&format!(
                "flowglass: {VARIABLE}=\"{text}\" is not understood ({error}); try \"info\""
            ));
            None
        }
    }
}
