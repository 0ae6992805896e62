//! Which folders a person trusts: the flows of others are loaded and run only then, by the window.
//!
//! The answer lies outside of the folder, or a downloaded one would bring it along. It names the folder by its real
//! path, and what the folder's settings let flows reach by a hash: when that changes, it is asked again
//! (ARCHITECTURE §6.8).

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::core::fault::Fault;
use crate::core::{ordinary_files, own_settings};

/// Who says that the flows of a folder may be loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Consent {
    /// Whoever named the folder, as on the command line.
    #[default]
    Given,
    /// A person who is asked once, and whose answer is kept.
    Asked,
}

/// `trust.json`: folders by their real paths, with the hash of what their settings let flows reach.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Answers {
    folders: BTreeMap<String, String>,
}

/// Whether a folder that may reach these hosts is trusted. A file that cannot be read says nothing of anybody.
pub(crate) fn is_trusted(folder: &Path, hosts: &[String]) -> bool {
    let Some(file) = file() else { return false };
    let known = read(&file).ok().and_then(|answers| answers.folders.get(&name(folder)?).cloned());
    known.is_some_and(|hash| hash == hash_of(hosts))
}

/// Keeps the answer that a folder is trusted.
pub(crate) fn keep(folder: &Path, hosts: &[String]) -> Result<(), Fault> {
    let file = file().ok_or_else(|| Fault::internal("there is no folder for settings: set XDG_CONFIG_HOME or HOME"))?;
    let name = name(folder).ok_or_else(|| {
        Fault::internal(format!("the path {} is no text, so that it cannot be kept", folder.display()))
    })?;
    // Two windows may ask at the same time, and neither answer may be lost.
    let kept = own_settings::replace_locked(&file, || {
        let mut answers = read(&file)?;
        answers.folders.insert(name, hash_of(hosts));
        Ok(serde_json::to_vec_pretty(&answers)?)
    });
    kept.map_err(|error| Fault::internal(format!("{} cannot be kept: {error}", file.display())))
}

/// Where answers are kept.
fn file() -> Option<PathBuf> {
    Some(own_settings::folder()?.join("trust.json"))
}

fn read(file: &Path) -> io::Result<Answers> {
    match ordinary_files::read_text(file, ordinary_files::SETTINGS_BYTES) {
        Ok(text) => engine::json::from_input(&text).map_err(|error| {
            let message = format!("it is not what Flowglass wrote ({error}); repair or remove it");
            io::Error::new(ErrorKind::InvalidData, message)
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Answers::default()),
        Err(error) => Err(error),
    }
}

fn name(folder: &Path) -> Option<String> {
    folder.to_str().map(str::to_owned)
}

/// Hosts in any order, each once.
fn hash_of(hosts: &[String]) -> String {
    let mut hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    hosts.sort_unstable();
    hosts.dedup();
    let mut hasher = blake3::Hasher::new();
    for host in hosts {
        hasher.update(host.as_bytes()).update(b"\n");
    }
    hasher.finalize().to_hex().to_string()
}
