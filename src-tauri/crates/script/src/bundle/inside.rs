//! Which files a flow may be made from: those of its workspace and of installed packages, after every symbolic
//! link is followed. A bundler would read whatever a path leads to, and what it reads ends up in the flow.
//!
//! A package is what a bare import finds in `node_modules`, of the workspace or of a folder above it; its own files
//! are those in its real folder. Text and JSON come from the workspace, or from the package that imports them.
//! Must not read a file's content.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::bundle::error::LoadError;
use crate::bundle::project_files::{TsSettings, check_package, normal, outside_message};

/// Ends of files that are code; all others are data, which a flow could show as it is.
const CODE: [&str; 8] = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];

/// The rules for one bundle.
#[derive(Debug)]
pub(crate) struct Inside {
    /// By its real path.
    workspace: PathBuf,
    pub(crate) settings: TsSettings,
    /// The real folders of packages that were imported, by the files imported of them.
    packages: Mutex<HashMap<PathBuf, PathBuf>>,
    /// Folders whose `package.json` was looked at.
    looked: Mutex<HashSet<PathBuf>>,
}

/// Why an import is refused.
pub(crate) enum Refusal {
    /// At the place of the import.
    Import(String),
    /// At a place of its own.
    Elsewhere(LoadError),
}

impl Inside {
    pub(crate) fn new(workspace: PathBuf, settings: TsSettings) -> Inside {
        Inside { workspace, settings, packages: Mutex::default(), looked: Mutex::default() }
    }

    /// Whether the bundler may look for an import at all.
    pub(crate) fn may_resolve(&self, importer: &Path, specifier: &str) -> Result<(), Refusal> {
        let folder = importer.parent().unwrap_or(&self.workspace);
        let is_path = is_path(specifier);
        if specifier.starts_with("file:") || !is_path && self.settings.leads_out(specifier) {
            return Err(Refusal::Import(outside_message(specifier)));
        }
        if is_path {
            let target = normal(&folder.join(without_query(specifier)));
            if !self.is_inside(importer, &target) {
                return Err(Refusal::Import(outside_message(specifier)));
            }
            if std::fs::metadata(&target).is_ok_and(|about| !about.is_file() && !about.is_dir()) {
                return Err(Refusal::Import(format!("\"{specifier}\" is not an ordinary file")));
            }
            self.look_at_package(&target).map_err(Refusal::Elsewhere)?;
        } else {
            let parts = specifier.split('/').scan(PathBuf::new(), |path, part| {
                path.push(part);
                Some(path.clone())
            });
            for part in parts {
                for above in folder.ancestors() {
                    self.look_at_package(&above.join("node_modules").join(&part)).map_err(Refusal::Elsewhere)?;
                }
            }
        }
        self.check_packages_above(importer).map_err(Refusal::Elsewhere)
    }

    /// Looks at each `package.json` that the bundler reads for a file wherever it lies.
    pub(crate) fn check_packages_above(&self, file: &Path) -> Result<(), LoadError> {
        file.ancestors().skip(1).try_for_each(|above| self.look_at_package(above))
    }

    /// Whether what the bundler found for an import may be read.
    pub(crate) fn may_read(&self, importer: &Path, specifier: &str, found: &Path) -> Result<(), Refusal> {
        let out = || Refusal::Import(outside_message(specifier));
        let real = std::fs::canonicalize(found).map_err(|_| out())?;
        if !real.is_file() {
            return Err(Refusal::Import(format!("\"{specifier}\" is not an ordinary file")));
        }
        let is_bare = !is_path(specifier) && !self.settings.maps(specifier);
        let package = if is_bare { self.package(importer, specifier) } else { None };
        if let Some(package) = package {
            let is_own_data = self.package_of(importer).is_some_and(|own| own == package);
            let is_data_outside = is_data(&real) && !real.starts_with(&self.workspace) && !is_own_data;
            if !real.starts_with(&package) || !self.is_installed(&package, specifier) || is_data_outside {
                return Err(out());
            }
            self.add_package(real, package);
            return Ok(());
        }
        if real.starts_with(&self.workspace) {
            return Ok(());
        }
        match self.package_of(importer) {
            Some(own) if real.starts_with(&own) => {
                self.add_package(real, own);
                Ok(())
            }
            _ => Err(out()),
        }
    }

    /// Whether a file that is about to be read is one that was found by the rules.
    pub(crate) fn knows(&self, file: &Path) -> bool {
        let Ok(real) = std::fs::canonicalize(file) else { return false };
        real.starts_with(&self.workspace) || self.package_of(&real).is_some()
    }

    /// By the text of its path: in the workspace, or in the package of the file that imports it.
    fn is_inside(&self, importer: &Path, target: &Path) -> bool {
        target.starts_with(&self.workspace) || self.package_of(importer).is_some_and(|own| target.starts_with(own))
    }

    /// The real folder of the package that a file outside the workspace belongs to.
    fn package_of(&self, file: &Path) -> Option<PathBuf> {
        self.packages.lock().ok()?.get(file).cloned()
    }

    fn add_package(&self, file: PathBuf, package: PathBuf) {
        if let Ok(mut packages) = self.packages.lock() {
            packages.insert(file, package);
        }
    }

    /// The real folder of the package that a bare import names.
    fn package(&self, importer: &Path, specifier: &str) -> Option<PathBuf> {
        let name = package_name(specifier);
        let folders = importer.ancestors().skip(1).map(|folder| folder.join("node_modules").join(name));
        folders.into_iter().find(|folder| folder.is_dir()).and_then(|folder| std::fs::canonicalize(folder).ok())
    }

    /// Whether a real folder is an installed package: in the workspace, in `node_modules` of a folder above it, or
    /// linked to from there, which its `package.json` must agree to by its name.
    fn is_installed(&self, package: &Path, specifier: &str) -> bool {
        let mut above = self.workspace.ancestors().skip(1).map(|folder| folder.join("node_modules"));
        let is_above = |folder: PathBuf| std::fs::canonicalize(folder).is_ok_and(|real| package.starts_with(real));
        package.starts_with(&self.workspace)
            || above.any(is_above)
            || crate::bundle::project_files::package_name(package).is_some_and(|name| name == package_name(specifier))
    }

    /// Refuses a broken `package.json` in a folder.
    fn look_at_package(&self, folder: &Path) -> Result<(), LoadError> {
        let is_new = self.looked.lock().is_ok_and(|mut looked| looked.insert(folder.to_owned()));
        if !is_new {
            return Ok(());
        }
        check_package(&self.workspace, &folder.join("package.json"))
    }
}

fn is_path(specifier: &str) -> bool {
    specifier.starts_with('.') || Path::new(specifier).is_absolute()
}

/// `name` or `@scope/name`.
fn package_name(specifier: &str) -> &str {
    let parts = if specifier.starts_with('@') { 2 } else { 1 };
    let end = specifier.match_indices('/').nth(parts - 1).map_or(specifier.len(), |(at, _)| at);
    &specifier[..end]
}

/// The path in an import or an id that may end with `?…`.
pub(crate) fn without_query(text: &str) -> &str {
    text.split_once('?').map_or(text, |(path, _)| path)
}

fn is_data(file: &Path) -> bool {
    !file.extension().is_some_and(|end| CODE.iter().any(|code| end == *code))
}
