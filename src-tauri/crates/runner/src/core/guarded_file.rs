//! Replaces a file only while it is what its reader saw: another process may write it at any time, and nothing of that
//! is lost.

use std::io::{self, ErrorKind, Write};
use std::path::Path;

use tempfile::NamedTempFile;

/// What came of a replacement.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// The file holds the new bytes.
    Done,
    /// The file is another one than was seen. It stays as it is.
    Changed,
}

/// What names the content of a file.
pub(crate) fn stamp_of(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// Replaces a file whose content has this stamp; `None` is a file that is not there. A link is followed and stays one.
pub(crate) fn replace(path: &Path, seen: Option<&str>, bytes: &[u8]) -> io::Result<Replaced> {
    let real = match std::fs::canonicalize(path) {
        Ok(real) => real,
        Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
        Err(error) => return Err(error),
    };
    let folder = real.parent().unwrap_or(Path::new("."));
    let mut new = NamedTempFile::new_in(folder)?;
    new.write_all(bytes)?;
    new.as_file().sync_all()?;
    let Some(seen) = seen else {
        return match new.persist_noclobber(&real) {
            Ok(_) => Ok(Replaced::Done),
            Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(Replaced::Changed),
            Err(error) => Err(error.error),
        };
    };
    let is_seen = |path: &Path| match std::fs::read(path) {
        Ok(bytes) => Ok(stamp_of(&bytes) == seen),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    };
    if !is_seen(&real)? {
        return Ok(Replaced::Changed);
    }
    new.as_file().set_permissions(std::fs::metadata(&real)?.permissions())?;
    if !exchange(new.path(), &real)? {
        new.persist(&real).map_err(|error| error.error)?;
        return Ok(Replaced::Done);
    }
    // What was there an instant ago lies in the temporary file now. Where it is not what was seen, it goes back.
    if is_seen(new.path())? {
        return Ok(Replaced::Done);
    }
    exchange(new.path(), &real)?;
    Ok(Replaced::Changed)
}

/// Lets two files change places in one step. Answers whether this system can.
#[cfg(target_os = "linux")]
fn exchange(one: &Path, other: &Path) -> io::Result<bool> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(true),
        Err(error) => match io::Error::from(error) {
            error if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => Ok(false),
            error => Err(error),
        },
    }
}

#[cfg(not(target_os = "linux"))]
fn exchange(_: &Path, _: &Path) -> io::Result<bool> {
    Ok(false)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn only_what_was_seen_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        assert_eq!(replace(&file, None, b"one").unwrap(), Replaced::Done);
        assert_eq!(replace(&file, None, b"two").unwrap(), Replaced::Changed);
        assert_eq!(replace(&file, Some(&stamp_of(b"zero")), b"two").unwrap(), Replaced::Changed);
        assert_eq!(std::fs::read(&file).unwrap(), b"one");
        assert_eq!(replace(&file, Some(&stamp_of(b"one")), b"two").unwrap(), Replaced::Done);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(replace(&file, Some(&stamp_of(b"two")), b"three").unwrap(), Replaced::Changed);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing is left beside it");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_one() {
        let folder = tempfile::tempdir().unwrap();
        let (link, file) = (folder.path().join("link.json"), folder.path().join("file.json"));
        std::fs::write(&file, "one").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        assert_eq!(replace(&link, Some(&stamp_of(b"one")), b"two").unwrap(), Replaced::Done);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
    }

    /// If two writers have read the same content, only the first may write; the second gets an error.
    #[test]
    fn of_two_writers_at_once_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("settings.json");
        for round in 0..50 {
            std::fs::write(&file, "seen").unwrap();
            let write = |text: String| replace(&file, Some(&stamp_of(b"seen")), text.as_bytes()).unwrap();
            let results = std::thread::scope(|scope| {
                let threads: Vec<_> = (0..4).map(|n| scope.spawn(move || write(format!("{round} {n}")))).collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
            });
            assert!(results.iter().filter(|one| **one == Replaced::Done).count() <= 1, "{results:?}");
        }
    }
}
