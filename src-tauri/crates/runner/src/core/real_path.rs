//! Paths without links, also of files that are gone.

use std::path::{Component, Path, PathBuf};

/// A full path without links, `.` and `..`. What no longer exists has the name that it had, in the real folder around
/// it.
pub fn real_path(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut existing = path;
    loop {
        if let Ok(real) = std::fs::canonicalize(existing) {
            return plain(rest.iter().rev().fold(real, |folder: PathBuf, name| folder.join(name)));
        }
        let (Some(folder), Some(name)) = (existing.parent(), existing.components().next_back()) else {
            return plain(path.to_owned());
        };
        rest.push(name.as_os_str().to_owned());
        existing = folder;
    }
}

/// The path without `.` and `..`, by its words alone.
fn plain(path: PathBuf) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_link_in_the_path_changes_nothing() {
        let folder = tempfile::tempdir().expect("it works");
        let dir = std::fs::canonicalize(folder.path()).expect("it works");
        std::fs::create_dir(dir.join("real")).expect("it works");
        std::fs::write(dir.join("real/here.ts"), "").expect("it works");
        std::os::unix::fs::symlink("real", dir.join("link")).expect("it works");
        for (given, real) in [
            ("link/here.ts", "real/here.ts"),
            ("link/gone.ts", "real/gone.ts"),
            ("link/no/such/gone.ts", "real/no/such/gone.ts"),
            ("real/./no/../here.ts", "real/here.ts"),
            ("other/gone.ts", "other/gone.ts"),
        ] {
            assert_eq!(real_path(&dir.join(given)), dir.join(real), "{given}");
        }
        assert_eq!(real_path(Path::new("/no/such/../file")), Path::new("/no/file"));
    }
}
