//! Where an export or a report may be written: a new file, or one that its owner gives up for it.
//!
//! What the workspace lives on is never given up, by whatever name or link it is reached: the database with what
//! SQLite and this program keep beside it, and the author's files.

use std::io::Read;
use std::path::{Path, PathBuf};

use super::{Workspace, export_format};
use crate::core::fault::Fault;
use crate::core::real_path::real_path;

/// Files with these endings are code.
const CODE: [&str; 8] = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];
/// What a workspace is set up by.
const SETTINGS: [&str; 4] = ["flowglass.json", "package.json", "package-lock.json", "tsconfig.json"];

impl Workspace {
    /// Refuses a file that an export must not be written to; `replace` says that one which is there may go.
    pub(super) fn check_export_file(&self, file: &Path, replace: bool) -> Result<(), Fault> {
        let shown = file.display();
        if let Some(what) = self.kept_there(file) {
            return Err(Fault::refused(format!(
                "{shown} is {what}, and is never replaced by an export: name another file"
            )));
        }
        check_folder(file)?;
        let there = file.symlink_metadata().ok().filter(|_| !file.is_dir());
        if there.is_some() && !replace {
            return Err(Fault::refused(format!(
                "{shown} exists already: name another file, or replace it with --force"
            )));
        }
        if there.as_ref().is_some_and(|there| !there.is_file()) {
            return Err(Fault::refused(format!(
                "{shown} is a link, a device or a pipe, and is never replaced by an export: name another file"
            )));
        }
        Ok(())
    }

    /// Refuses a file that a JUnit report must not be written to. Only an older report is replaced: every other file
    /// holds something that a verification cannot write again.
    pub fn check_report_file(&self, file: &Path) -> Result<(), Fault> {
        let shown = file.display();
        let refused = |what: &str| {
            Err(Fault::refused(format!("{shown} is {what}, and is never replaced by a report: name another file")))
        };
        check_folder(file)?;
        if file.is_dir() {
            return Err(Fault::invalid(format!("{shown} cannot be written: it is a folder; name a file in it")));
        }
        if let Some(what) = self.kept_there(file) {
            return refused(what);
        }
        if file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("run")) {
            return refused("the name of a kept run");
        }
        if is_stream(file) {
            return Ok(());
        }
        match file.symlink_metadata() {
            Err(_) => Ok(()),
            Ok(there) if !there.is_file() => refused("a link, or no ordinary file"),
            Ok(_) if is_report(file) => Ok(()),
            Ok(_) => refused("there already, and is no JUnit report"),
        }
    }

    /// Writes a JUnit report: whole, or not at all. It is no change to who watches the files of this workspace.
    pub fn write_report(&self, file: &Path, text: &str) -> Result<(), Fault> {
        // Another program may have put a file there while the runs were verified.
        self.check_report_file(file)?;
        if is_stream(file) {
            return std::fs::write(file, text)
                .map_err(|error| Fault::invalid(format!("{} cannot be written: {error}", file.display())));
        }
        // What this process writes is known by the real folder.
        export_format::make_folder(file);
        self.watching.own.note(file, text.as_bytes());
        export_format::put(file, true, text.as_bytes())
    }

    /// What of the workspace a file is, if it is of it.
    fn kept_there(&self, file: &Path) -> Option<&'static str> {
        let real = real(file);
        let name = real.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let is_of = |data: &Path| {
            let there = std::fs::canonicalize(data);
            is_beside(&real, there.as_deref().unwrap_or(data)) || is_same_file(&real, data)
        };
        if self.data.file().is_some_and(is_of) {
            return Some("the database, or a file that belongs to it");
        }
        if real.starts_with(self.dir.join(".flowglass")) {
            return Some("in the folder of the database");
        }
        let ending = real.extension().map(|ending| ending.to_string_lossy().to_lowercase());
        if ending.is_some_and(|ending| CODE.contains(&&*ending)) {
            return Some("a file of code");
        }
        // Where none is, an export would become one.
        let is_setting = SETTINGS.contains(&&*name) || name.ends_with(".mock.json");
        is_setting.then_some("a file that flows need, by its name")
    }
}

/// Refuses a file in a folder that is not there, and whose own folder is not there either: the path is probably
/// mistyped. One folder that is missing is made with the file.
fn check_folder(file: &Path) -> Result<(), Fault> {
    let is_there = |folder: &Path| folder.as_os_str().is_empty() || folder.is_dir();
    let Some(folder) = file.parent() else { return Ok(()) };
    if is_there(folder) || !folder.exists() && folder.parent().is_some_and(is_there) {
        return Ok(());
    }
    Err(Fault::invalid(format!(
        "{} cannot be written: there is no folder {}; make it, or name a file elsewhere",
        file.display(),
        folder.display()
    )))
}

/// Whether a path is no file but a device or a pipe, such as `/dev/stdout`.
fn is_stream(path: &Path) -> bool {
    path.starts_with("/dev") || is_pipe(path)
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;

    path.metadata().is_ok_and(|there| there.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}

/// Whether a file that is there is a JUnit report, or empty.
fn is_report(file: &Path) -> bool {
    /// The root element comes after a declaration and comments.
    const BEGINNING: u64 = 4 << 10;
    let mut beginning = Vec::new();
    let read = std::fs::File::open(file).and_then(|file| file.take(BEGINNING).read_to_end(&mut beginning));
    if read.is_err() {
        return false;
    }
    let text = String::from_utf8_lossy(&beginning);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    text.is_empty() || text.starts_with('<') && text.contains("<testsuite")
}

/// The path without links, of a file that need not be there, nor its folder.
fn real(file: &Path) -> PathBuf {
    real_path(&std::path::absolute(file).unwrap_or_else(|_| file.to_owned()))
}

/// Whether a path is the database's, or begins with it as the names of its log, its locks and its copies do.
fn is_beside(file: &Path, data: &Path) -> bool {
    let (file, data) = (file.as_os_str().as_encoded_bytes(), data.as_os_str().as_encoded_bytes());
    file.strip_prefix(data).is_some_and(|rest| matches!(rest.first(), None | Some(b'-' | b'.' | b'/')))
}

#[cfg(unix)]
fn is_same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let place = |path: &Path| std::fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
    place(one).is_some() && place(one) == place(other)
}

#[cfg(not(unix))]
fn is_same_file(_one: &Path, _other: &Path) -> bool {
    false
}
