//! The errors of imports that are refused, each at the author's import that leads to it, and of unsupported syntax.

use std::path::Path;

use rolldown_plugin::{HookResolveIdArgs, HookResolveIdOutput};

use crate::bundle::error::{LoadError, LoadErrorKind};
use crate::bundle::import_rules::{Refusal, without_query};
use crate::bundle::lines::Lines;
use crate::bundle::lowering::Unsupported;
use crate::bundle::modules::{EMPTY_MODULE, OurModules};
use crate::bundle::project_files::{place_of, read};
use crate::bundle::shown;

impl OurModules {
    /// Notes why an import is refused, and returns the empty module in its place.
    pub(super) fn refuse_import(&self, args: &HookResolveIdArgs<'_>, refusal: Refusal) -> HookResolveIdOutput {
        match refusal {
            Refusal::Import(message) => self.refuse(args.importer, args.specifier, message),
            Refusal::Elsewhere(error) => self.note(error),
        }
        HookResolveIdOutput::from_id(EMPTY_MODULE)
    }

    pub(super) fn note(&self, error: LoadError) {
        self.with_seen(|seen| seen.refused.push(error));
    }

    /// Notes a refused import at its place: in the importer, or where that is part of a package, at the import of the
    /// author's that leads to it.
    pub(super) fn refuse(&self, importer: Option<&str>, specifier: &str, message: String) {
        let importer = importer.map_or(self.flow.as_path(), |importer| Path::new(without_query(importer)));
        let of_author = if self.is_author(importer) {
            None
        } else {
            self.importers.of_author(importer, |file| self.is_author(file))
        };
        let error = match of_author {
            Some(import) => {
                let message = format!("{message}. {} imports it", shown(&self.workspace, importer));
                self.error_in(&import.file, &import.specifier, message)
            }
            None => self.error_in(importer, specifier, message),
        };
        self.note(error);
    }

    /// An error at the import that led to a file.
    pub(super) fn error_at_import(&self, file: &Path, message: String) -> LoadError {
        match self.importers.of_author(file, |file| self.is_author(file)) {
            Some(import) => self.error_in(&import.file, &import.specifier, message),
            None => LoadError::in_file(LoadErrorKind::Import, &shown(&self.workspace, file), message),
        }
    }

    fn error_in(&self, file: &Path, specifier: &str, message: String) -> LoadError {
        let place = place_of(&read(file).unwrap_or_default(), specifier);
        LoadError {
            kind: LoadErrorKind::Import,
            message,
            file: Some(shown(&self.workspace, file)),
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
        }
    }

    /// Notes syntax of a module that is not supported. That of a package is left to the runtime: a flow may not reach
    /// it.
    pub(super) fn note_unsupported(&self, id: &str, source: &str, unsupported: &Unsupported) {
        let file = Path::new(without_query(id));
        if !self.is_author(file) {
            return;
        }
        let (line, column) = Lines::new(source).place(source, unsupported.at);
        self.note(LoadError {
            kind: LoadErrorKind::Syntax,
            message: unsupported.message.to_owned(),
            file: Some(shown(&self.workspace, file)),
            line: Some(line + 1),
            column: Some(column + 1),
        });
    }
}
