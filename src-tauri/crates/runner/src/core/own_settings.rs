//! What a person chose for all folders: `settings.json` in the folder for settings, outside of any project.
//!
//! The window decides what stands in it; here it is read, and changed field by field, so that two windows, and versions
//! that know other fields, keep what the other one wrote.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use crate::core::fault::Fault;
use crate::core::ordinary_files;

const FILE: &str = "settings.json";

/// The person's own settings.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnSettings {
    /// Where they are kept; `None` where there is no folder for settings.
    pub file: Option<PathBuf>,
    /// The fields of the file.
    pub settings: Map<String, Value>,
    /// Why they cannot be read. Nothing is written then.
    pub problem: Option<String>,
}

impl OwnSettings {
    /// Reads them; a file that is not there is fine.
    pub fn read() -> OwnSettings {
        let Some(file) = folder().map(|folder| folder.join(FILE)) else {
            return OwnSettings { file: None, settings: Map::new(), problem: Some(no_folder()) };
        };
        match read(&file) {
            Ok(settings) => OwnSettings { file: Some(file), settings, problem: None },
            Err(error) => OwnSettings { problem: Some(problem(&file, &error)), file: Some(file), settings: Map::new() },
        }
    }

    /// Sets fields, or removes those that are null. Fields that are not named stay as they are.
    pub fn change(changes: Map<String, Value>) -> Result<OwnSettings, Fault> {
        let file = folder().ok_or_else(|| Fault::internal(no_folder()))?.join(FILE);
        change_locked(&file, |mut settings| {
            for (field, value) in changes {
                if value.is_null() {
                    settings.shift_remove(&field);
                } else {
                    settings.insert(field, value);
                }
            }
            settings
        })
        .map_err(|error| Fault::internal(problem(&file, &error)))?;
        Ok(OwnSettings::read())
    }
}

/// The folder for what a person chose.
pub(crate) fn folder() -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config")))?;
    Some(home.join("flowglass"))
}

fn no_folder() -> String {
    "there is no folder for settings: set XDG_CONFIG_HOME or HOME".to_owned()
}

fn problem(file: &Path, error: &io::Error) -> String {
    format!("{}: {error}", file.display())
}

fn read(file: &Path) -> io::Result<Map<String, Value>> {
    match ordinary_files::read_text(file, ordinary_files::SETTINGS_BYTES) {
        Ok(text) => engine::json::from_input(&text).map_err(|error| {
            let message = format!("it is not what Flowglass wrote ({error}); repair or remove it");
            io::Error::new(ErrorKind::InvalidData, message)
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Map::new()),
        Err(error) => Err(error),
    }
}

fn change_locked(file: &Path, change: impl FnOnce(Map<String, Value>) -> Map<String, Value>) -> io::Result<()> {
    replace_locked(file, || {
        let settings = change(read(file)?);
        Ok(serde_json::to_vec_pretty(&settings)?)
    })
}

/// Replaces a file in the folder for settings, while no other window does: what is written is made under the lock.
pub(crate) fn replace_locked(file: &Path, text: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<()> {
    std::fs::create_dir_all(file.parent().unwrap_or(Path::new("")))?;
    let lock = OpenOptions::new().create(true).truncate(false).write(true).open(file.with_extension("lock"))?;
    lock.lock()?;
    let text = text()?;
    let new = file.with_extension("new");
    File::create(&new).and_then(|mut new| new.write_all(&text).and_then(|()| new.sync_all()))?;
    std::fs::rename(&new, file)?;
    drop(lock);
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use serde_json::json;

    use super::*;

    fn set(file: &Path, field: &str, value: Value) -> io::Result<()> {
        change_locked(file, |mut settings| {
            settings.insert(field.to_owned(), value);
            settings
        })
    }

    #[test]
    fn fields_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("flowglass").join(FILE);
        set(&file, "theme", json!("dark")).unwrap();
        std::thread::scope(|scope| {
            for n in 0..8 {
                let file = &file;
                scope.spawn(move || set(file, &format!("of{n}"), json!(n)).unwrap());
            }
        });
        let settings = read(&file).unwrap();
        assert_eq!((settings.len(), &settings["theme"]), (9, &json!("dark")));
    }

    #[test]
    fn a_file_that_is_no_settings_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        std::fs::write(&file, "{ theme: dark").unwrap();
        let error = set(&file, "theme", json!("light")).unwrap_err().to_string();
        assert!(error.contains("repair or remove it"), "{error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{ theme: dark");
    }
}
