//! When the settings of a folder changed last, as far as is known: a run that is older may have had others.
//!
//! Each process that opens the folder compares `flowglass.json` with what the one before it saw, and notes the time
//! if it differs. The times of files say less: a folder without settings changes with any file in it, and it is not
//! known whether that was the settings. Must not keep a workspace from opening: what cannot be noted is judged by those
//! times.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use crate::core::config::FILE;
use crate::core::guarded_file::stamp_of;
use crate::effects::outside::now_ms;
use crate::workspace::Workspace;

/// The file in the data folder that holds what was seen.
const NOTE: &str = "settings-seen.json";

/// What was seen of the settings.
#[derive(Serialize, Deserialize)]
struct Seen {
    /// The hash of the file; absent if there was none.
    hash: Option<String>,
    /// Since when they have been so, in milliseconds since the epoch; earlier ones may have been the same.
    since: i64,
}

impl Workspace {
    /// Notes what the settings are, if they are not what was seen last.
    pub(in crate::workspace) fn note_settings(&self) {
        let folder = self.dir.join(".flowglass");
        let is_ours = fs::symlink_metadata(&folder).is_ok_and(|about| about.is_dir());
        if !is_ours || !self.is_trusted() || self.unwritable.is_some() {
            return;
        }
        let (hash, seen) = (hash(&self.dir), seen(&self.dir));
        let since = match seen {
            Some(seen) if seen.hash == hash => return,
            Some(_) => now_ms(),
            None => file_time(&self.dir),
        };
        if let Err(error) = write(&folder, &Seen { hash, since }) {
            tracing::debug!(%error, "the settings are not noted");
        }
    }

    /// When the settings may have changed last, in milliseconds since the epoch.
    pub(super) fn settings_changed_at(&self) -> i64 {
        match seen(&self.dir) {
            Some(seen) if seen.hash == hash(&self.dir) => seen.since,
            _ => file_time(&self.dir),
        }
    }
}

fn note(dir: &Path) -> PathBuf {
    dir.join(".flowglass").join(NOTE)
}

fn seen(dir: &Path) -> Option<Seen> {
    serde_json::from_slice(&fs::read(note(dir)).ok()?).ok()
}

fn hash(dir: &Path) -> Option<String> {
    fs::read(dir.join(FILE)).ok().map(|bytes| stamp_of(&bytes))
}

fn write(folder: &Path, seen: &Seen) -> std::io::Result<()> {
    let mut new = NamedTempFile::new_in(folder)?;
    new.write_all(&serde_json::to_vec(seen)?)?;
    new.persist(folder.join(NOTE)).map_err(|error| error.error)?;
    Ok(())
}

/// When the file was changed, or, if there is none, the folder: it may have been removed from it.
fn file_time(dir: &Path) -> i64 {
    let about = fs::metadata(dir.join(FILE)).or_else(|_| fs::metadata(dir));
    about.map_or(0, |about| changed_at(&about))
}

/// When a file or a folder changed last. A person can set the time of a modification, but not that of a change.
#[cfg(unix)]
fn changed_at(about: &fs::Metadata) -> i64 {
    use std::os::unix::fs::MetadataExt;
    about.ctime().saturating_mul(1_000).saturating_add(about.ctime_nsec() / 1_000_000)
}

/// When a file or a folder was modified last.
#[cfg(not(unix))]
fn changed_at(about: &fs::Metadata) -> i64 {
    let since = about.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    since.map_or(0, |since| since.as_millis() as i64)
}
