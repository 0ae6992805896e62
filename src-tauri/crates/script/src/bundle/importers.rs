//! Which module imports which, so that a failing import in a package is reported at the author's import that leads to
//! it. Must not read a file.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A file, and what it imports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) file: PathBuf,
    pub(crate) specifier: String,
}

/// The first import of each file.
#[derive(Debug, Default)]
pub(crate) struct Importers(Mutex<BTreeMap<PathBuf, Import>>);

impl Importers {
    /// Notes that a file imports another one.
    pub(crate) fn add(&self, found: &Path, importer: &Path, specifier: &str) {
        if let Ok(mut all) = self.0.lock() {
            let import = || Import { file: importer.to_owned(), specifier: specifier.to_owned() };
            all.entry(found.to_owned()).or_insert_with(import);
        }
    }

    /// Follows the imports of a file back to the first import in an author's file.
    pub(crate) fn of_author(&self, file: &Path, is_author: impl Fn(&Path) -> bool) -> Option<Import> {
        let all = self.0.lock().ok()?;
        let mut seen = HashSet::new();
        let mut import = all.get(file)?;
        while !is_author(&import.file) {
            if !seen.insert(&import.file) {
                return None;
            }
            import = all.get(&import.file)?;
        }
        Some(import.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_leads_back_to_the_author() {
        let importers = Importers::default();
        importers.add(Path::new("/p/a.js"), Path::new("/w/flow.ts"), "p");
        importers.add(Path::new("/p/b.js"), Path::new("/p/a.js"), "./b");
        importers.add(Path::new("/p/a.js"), Path::new("/p/b.js"), "./a");
        let is_author = |file: &Path| file.starts_with("/w");
        let found = importers.of_author(Path::new("/p/b.js"), is_author).expect("the flow imports it");
        assert_eq!(found, Import { file: "/w/flow.ts".into(), specifier: "p".to_owned() });
        assert_eq!(importers.of_author(Path::new("/p/c.js"), is_author), None);
    }
}
