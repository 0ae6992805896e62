//! Until a person trusts the folder, its flows are neither loaded nor run, and nothing is written into it. Recorded
//! runs can be read.

use std::path::Path;

use super::Workspace;
use crate::catalogue::trust::{self, Consent};
use crate::core::config::Config;
use crate::core::fault::Fault;

/// Returns the refusal of a folder that no person trusts.
pub(super) fn refusal(consent: Consent, dir: &Path, config: &Config) -> Option<Fault> {
    let is_trusted = consent == Consent::Given || trust::is_trusted(dir, &config.hosts());
    (!is_trusted).then(|| untrusted(dir))
}

fn untrusted(dir: &Path) -> Fault {
    Fault::refused(format!(
        "the folder {} is not trusted yet, so its flows are neither loaded nor run, and nothing is written into it",
        dir.display()
    ))
}

impl Workspace {
    /// Whether its flows are loaded and run, and its database is written to.
    pub fn is_trusted(&self) -> bool {
        self.trusted
    }

    /// Whether a person trusts the folder, by `--trust` or by a stored answer. Naming the folder is not enough.
    pub fn is_trusted_by_person(&self) -> bool {
        self.trust || trust::is_trusted(&self.dir, &self.config.hosts())
    }

    /// Stores the person's answer. It takes effect when the folder is opened again; this workspace only reads the
    /// database.
    pub fn give_trust(&self) -> Result<(), Fault> {
        trust::keep(&self.dir, &self.config.hosts())
    }

    pub(super) fn check_trusted(&self) -> Result<(), Fault> {
        if self.trusted { Ok(()) } else { Err(untrusted(&self.dir)) }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use crate::catalogue::trust::Consent;
    use crate::run::synthetic::{Shape, Synthetic};
    use crate::workspace::{OpenOptions, Workspace};

    fn open(dir: &Path, consent: Consent) -> Arc<Workspace> {
        Workspace::open(OpenOptions { dir: dir.to_owned(), consent, ..OpenOptions::default() }).unwrap()
    }

    /// Every file in a folder, with its bytes.
    fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut found = BTreeMap::new();
        for entry in std::fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                found.extend(files(&path));
            } else {
                found.insert(path.clone(), std::fs::read(&path).unwrap());
            }
        }
        found
    }

    #[test]
    fn nothing_is_written_into_an_untrusted_folder() {
        let dir = tempfile::tempdir().unwrap();
        let wanted = Synthetic { events: 100, requests: 1, seed: 1, shape: Shape::Mixed, rate: None, at_once: 0 };
        let asked = open(dir.path(), Consent::Asked);
        let refused = asked.synthesize(&wanted).unwrap_err().to_string();
        assert!(refused.contains("not trusted yet"), "{refused}");
        let row = asked.row().unwrap();
        assert_eq!((row.is_trusted, row.unwritable), (false, None));
        drop(asked);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "not even a folder");

        let given = open(dir.path(), Consent::Given);
        let request = given.synthesize(&wanted).unwrap().requests.remove(0);
        drop(given);
        let before = files(dir.path());
        let asked = open(dir.path(), Consent::Asked);
        assert!(!asked.is_trusted());
        asked.open_view(&request).unwrap();
        assert!(asked.synthesize(&wanted).is_err());
        drop(asked);
        assert_eq!(files(dir.path()), before);
    }
}
