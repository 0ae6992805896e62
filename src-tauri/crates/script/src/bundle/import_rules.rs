//! Which files a flow may import: those of its workspace and of installed packages, after all symbolic links are
//! resolved. The bundler alone would read any path, and what it reads becomes part of the flow.
//!
//! A package is what a bare import finds in `node_modules`, of the workspace or of a folder above it; its own files
//! are those in its real folder. Text and JSON come from the workspace, or from the package that imports them.
//! Must not read a file's content.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::bundle::error::LoadError;
use crate::bundle::project_files::{TsSettings, check_package, normal, outside_message};

/// Extensions of code. All other files are data, whose content a flow could output.
const CODE: [&str; 8] = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"];

/// The rules for one bundle.
#[derive(Debug)]
pub(crate) struct ImportRules {
    /// The workspace's real path.
    pub(crate) workspace: PathBuf,
    pub(crate) settings: TsSettings,
    /// The real folders of packages that were imported, by the files imported of them.
    packages: Mutex<HashMap<PathBuf, PathBuf>>,
    /// The real folders of packages that were imported.
    folders: Mutex<HashSet<PathBuf>>,
    /// Folders whose `package.json` was looked at.
    checked_folders: Mutex<HashSet<PathBuf>>,
}

/// Why an import is refused.
pub(crate) enum Refusal {
    /// With this message, at the place of the import.
    Import(String),
    /// With an error that has its own place.
    Elsewhere(LoadError),
}

impl ImportRules {
    pub(crate) fn new(workspace: PathBuf, settings: TsSettings) -> ImportRules {
        let (packages, folders) = (Mutex::default(), Mutex::default());
        ImportRules { workspace, settings, packages, folders, checked_folders: Mutex::default() }
    }

    /// Returns whether the bundler may resolve an import at all.
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
            self.check_package_in(&target).map_err(Refusal::Elsewhere)?;
        } else {
            let parts = specifier.split('/').scan(PathBuf::new(), |path, part| {
                path.push(part);
                Some(path.clone())
            });
            for part in parts {
                for above in folder.ancestors() {
                    self.check_package_in(&above.join("node_modules").join(&part)).map_err(Refusal::Elsewhere)?;
                }
            }
        }
        self.check_packages_above(importer).map_err(Refusal::Elsewhere)
    }

    /// Checks each `package.json` above a file: the bundler reads them all.
    pub(crate) fn check_packages_above(&self, file: &Path) -> Result<(), LoadError> {
        file.ancestors().skip(1).try_for_each(|above| self.check_package_in(above))
    }

    /// Returns whether the file that the bundler found for an import may be read.
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
            self.add_folder(package.clone());
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

    /// Returns whether a file that is about to be read is in the workspace or has passed [`may_read`](Self::may_read).
    pub(crate) fn allows(&self, file: &Path) -> bool {
        let Ok(real) = std::fs::canonicalize(file) else { return false };
        real.starts_with(&self.workspace) || self.package_of(&real).is_some()
    }

    /// Returns whether a path (unresolved) is in the workspace, or in the package of the file that imports it.
    fn is_inside(&self, importer: &Path, target: &Path) -> bool {
        target.starts_with(&self.workspace) || self.package_of(importer).is_some_and(|own| target.starts_with(own))
    }

    /// Returns the real folder of the package to which a file outside the workspace belongs.
    fn package_of(&self, file: &Path) -> Option<PathBuf> {
        self.packages.lock().ok()?.get(file).cloned()
    }

    /// Notes the folder of a package that was imported.
    pub(crate) fn add_folder(&self, folder: PathBuf) {
        if let Ok(mut folders) = self.folders.lock() {
            folders.insert(folder);
        }
    }

    /// Returns whether a file is part of a package that was imported by its name.
    pub(crate) fn is_of_package(&self, file: &Path) -> bool {
        let is_in = |folder: &PathBuf| *folder != self.workspace && file.starts_with(folder);
        self.folders.lock().is_ok_and(|folders| folders.iter().any(is_in))
    }

    fn add_package(&self, file: PathBuf, package: PathBuf) {
        if let Ok(mut packages) = self.packages.lock() {
            packages.insert(file, package);
        }
    }

    /// Returns the real folder of the package that a bare import names.
    fn package(&self, importer: &Path, specifier: &str) -> Option<PathBuf> {
        let name = package_name(specifier);
        let folders = importer.ancestors().skip(1).map(|folder| folder.join("node_modules").join(name));
        folders.into_iter().find(|folder| folder.is_dir()).and_then(|folder| std::fs::canonicalize(folder).ok())
    }

    /// Returns whether a real folder is an installed package: in the workspace, in `node_modules` of a folder above it,
    /// or linked to from there. In the last case its `package.json` must have the imported name.
    fn is_installed(&self, package: &Path, specifier: &str) -> bool {
        let mut above = self.workspace.ancestors().skip(1).map(|folder| folder.join("node_modules"));
        let is_above = |folder: PathBuf| std::fs::canonicalize(folder).is_ok_and(|real| package.starts_with(real));
        package.starts_with(&self.workspace)
            || above.any(is_above)
            || crate::bundle::project_files::package_name(package).is_some_and(|name| name == package_name(specifier))
    }

    /// Fails if a folder has an invalid `package.json`. Checks each folder once.
    fn check_package_in(&self, folder: &Path) -> Result<(), LoadError> {
        let is_new =
            self.checked_folders.lock().is_ok_and(|mut checked_folders| checked_folders.insert(folder.to_owned()));
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
pub(crate) fn package_name(specifier: &str) -> &str {
    let parts = if specifier.starts_with('@') { 2 } else { 1 };
    let end = specifier.match_indices('/').nth(parts - 1).map_or(specifier.len(), |(at, _)| at);
    &specifier[..end]
}

/// Removes a query (`?…`) from an import or an id.
pub(crate) fn without_query(text: &str) -> &str {
    text.split_once('?').map_or(text, |(path, _)| path)
}

fn is_data(file: &Path) -> bool {
    !file.extension().is_some_and(|end| CODE.iter().any(|code| end == *code))
}
