//! Files that this process writes into a folder that it watches: what it wrote itself is no change to it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::core::sync::lock;

/// The content of each such file, by its real path.
#[derive(Default)]
pub(crate) struct OwnWrites(Mutex<HashMap<PathBuf, blake3::Hash>>);

impl OwnWrites {
    /// Records content that is about to be written. The folder of the file must exist.
    pub(crate) fn note(&self, file: &Path, content: &[u8]) {
        if let Some(real) = real(file) {
            lock(&self.0).insert(real, blake3::hash(content));
        }
    }

    /// Returns whether a file has the content that this process wrote last. Once it has not, the write no longer
    /// counts: if another program later writes the same content, that is a change.
    pub(crate) fn is_own(&self, file: &Path) -> bool {
        let Some(real) = real(file) else { return false };
        let Some(written) = lock(&self.0).get(&real).copied() else { return false };
        let is_own = std::fs::read(file).is_ok_and(|content| blake3::hash(&content) == written);
        if !is_own {
            let mut known = lock(&self.0);
            // While the file was read, this process may have noted its next write.
            if known.get(&real) == Some(&written) {
                known.remove(&real);
            }
        }
        is_own
    }
}

/// The path of a file in its real folder: the file itself may not be there.
fn real(file: &Path) -> Option<PathBuf> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(std::fs::canonicalize(folder).ok()?.join(file.file_name()?))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_own_until_another_writes_it() {
        let folder = tempfile::tempdir().unwrap();
        let (file, writes) = (folder.path().join("report.xml"), OwnWrites::default());
        std::fs::write(&file, "one").unwrap();
        assert!(!writes.is_own(&file));
        writes.note(&file, b"one");
        assert!(writes.is_own(&file) && writes.is_own(&folder.path().join(".").join("report.xml")));
        std::fs::write(&file, "another").unwrap();
        assert!(!writes.is_own(&file));
        std::fs::write(&file, "one").unwrap();
        assert!(!writes.is_own(&file), "another program wrote the same content again");
        writes.note(&file, b"one");
        assert!(writes.is_own(&file));
        std::fs::remove_file(&file).unwrap();
        assert!(!writes.is_own(&file));
        std::fs::write(&file, "one").unwrap();
        assert!(!writes.is_own(&file), "another program made the file again");
    }
}
