//! The flows of a workspace: loaded when they are asked for, a few at once, and told as soon as they are known.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::catalogue::ended::Ended;
use crate::catalogue::loading::{Loading, load_all};
use crate::catalogue::{Catalogue, FlowRow};
use crate::core::fault::Fault;
use crate::core::notice::Notice;
use crate::core::ordinary_files;
use crate::views::LoadErrorRow;

use super::{Workspace, lock};

/// The loads of a workspace's flows: one at a time.
#[derive(Default)]
pub(super) struct Loads {
    /// Held while flows are loaded.
    current: Mutex<()>,
    /// Whether another load waits for the current one.
    is_next_waiting: AtomicBool,
}

impl Workspace {
    /// Whether a folder looks like one that is worked in: it has settings, flow files, or what was recorded of their
    /// runs. Nothing is loaded or written.
    pub fn is_at(dir: &std::path::Path) -> bool {
        crate::catalogue::is_workspace(dir)
    }

    /// Whether a folder has neither flow files nor a database. Nothing is loaded or written.
    pub fn is_empty_at(dir: &std::path::Path) -> bool {
        !super::default_data(dir).exists() && !crate::catalogue::has_flows(dir)
    }

    /// All flows, up to date with their files; none while the folder is not trusted.
    ///
    /// Where flows are kept ready, as for a window, what is known is answered at once; the rest is loaded beside, and
    /// told as [`Notice::Flows`].
    pub fn flows(self: &Arc<Self>) -> Result<Vec<FlowRow>, Fault> {
        if !self.is_trusted() {
            return Ok(Vec::new());
        }
        if self.keep_ready {
            let mut catalogue = lock(&self.catalogue);
            let stale = self.loading(|loading| catalogue.look(loading))?;
            if !stale.is_empty() && !catalogue.is_empty() {
                self.load_beside();
            }
            if !catalogue.is_empty() {
                return catalogue.rows(&self.dir);
            }
        }
        self.with_catalogue(|catalogue| catalogue.rows(&self.dir))
    }

    /// What is probably not what the author of a flow meant; nothing where there is no such flow.
    pub fn load_warnings(&self, kind: &str) -> Result<Vec<LoadErrorRow>, Fault> {
        self.with_catalogue(|catalogue| Ok(catalogue.warnings(kind)))
    }

    /// Returns the value of `TZ` if it names no time zone, so that a new request has UTC.
    pub fn unknown_time_zone(&self) -> Option<String> {
        script::unknown_time_zone()
    }

    /// Reads the catalogue when everything is loaded.
    pub(super) fn with_catalogue<R>(&self, read: impl FnOnce(&Catalogue) -> Result<R, Fault>) -> Result<R, Fault> {
        self.with_catalogue_unless(&|| false, read)
    }

    /// As [`with_catalogue`](Self::with_catalogue); fails, and ends what is being loaded, once this is cancelled.
    pub(super) fn with_catalogue_unless<R>(
        &self,
        is_cancelled: &(dyn Fn() -> bool + Sync),
        read: impl FnOnce(&Catalogue) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        self.check_trusted()?;
        let loading = lock(&self.loads.current);
        self.load(is_cancelled)?;
        drop(loading);
        if is_cancelled() {
            return Err(Fault::refused("cancelled while flows were loaded"));
        }
        read(&lock(&self.catalogue))
    }

    /// Loads a file, by its path in the workspace, that is not loaded automatically because its last load or run ended
    /// a process, and answers with all flows. Refused where it is not held back. What runs it may end this process.
    pub fn load_anyway(self: &Arc<Self>, file: &str) -> Result<Vec<FlowRow>, Fault> {
        self.check_trusted()?;
        self.file_in(file)?;
        // By the path that flows are looked for at, which a link may be part of.
        let path = self.with_catalogue(|catalogue| Ok(catalogue.file_at(&self.dir, file)))?;
        let dropped = path.map_or(Ok(false), |path| Ended::drop_record(&self.cache(), &path));
        if !dropped.map_err(|error| Fault::internal(format!("the record of {file} cannot be removed: {error}")))? {
            return Err(Fault::refused(format!(
                "{file} is not held back: no load or run of it that ended a process is recorded; `flowglass check` \
                 tells what does not load"
            )));
        }
        self.with_catalogue(|catalogue| catalogue.rows(&self.dir))
    }

    pub(super) fn cache(&self) -> PathBuf {
        self.dir.join(".flowglass/cache")
    }

    fn load(&self, is_cancelled: &(dyn Fn() -> bool + Sync)) -> Result<(), Fault> {
        self.loading_unless(is_cancelled, |loading| {
            let stale = lock(&self.catalogue).look(loading)?;
            load_all(&self.catalogue, stale, loading);
            Ok(())
        })
    }

    /// Loads what is not loaded on a thread of its own. If a load is under way, another one follows it: a file that was
    /// read already may have been saved again since.
    fn load_beside(self: &Arc<Self>) {
        if self.loads.is_next_waiting.swap(true, Ordering::AcqRel) {
            return;
        }
        let workspace = self.clone();
        let load = move || {
            let _loading = lock(&workspace.loads.current);
            // From here on a change is not seen by this load, and needs one of its own.
            workspace.loads.is_next_waiting.store(false, Ordering::Release);
            let rows = || {
                let rows = lock(&workspace.catalogue).rows(&workspace.dir).unwrap_or_default();
                serde_json::to_string(&rows).unwrap_or_default()
            };
            let before = rows();
            // Notify only on change: listeners ask for the flows again on every notice, which would loop.
            if workspace.load(&|| false).is_ok() && rows() != before {
                workspace.notices.tell(&Notice::Flows { workspace: workspace.name.clone() });
            }
        };
        // Without a thread the next question loads.
        if std::thread::Builder::new().name("flows".to_owned()).spawn(load).is_err() {
            self.loads.is_next_waiting.store(false, Ordering::Release);
        }
    }

    /// Where flows were looked for, and what to do where there are none.
    pub fn whereabouts_of_flows(&self) -> String {
        self.loading(|loading| lock(&self.catalogue).whereabouts(loading))
    }

    fn loading<R>(&self, work: impl FnOnce(&Loading<'_>) -> R) -> R {
        self.loading_unless(&|| false, work)
    }

    fn loading_unless<R>(&self, is_cancelled: &(dyn Fn() -> bool + Sync), work: impl FnOnce(&Loading<'_>) -> R) -> R {
        work(&Loading {
            workspace: &self.dir,
            folders: self.config.flows.as_deref(),
            cache: &self.cache(),
            limits: self.config.script_limits(),
            env: &self.config.flow_env(),
            program: self.bundler.as_deref(),
            is_cancelled,
        })
    }

    /// The text of a flow file, by its path in the workspace.
    pub fn source(&self, file: &str) -> Result<String, Fault> {
        let path = self.file_in(file)?;
        ordinary_files::read_text(&path, ordinary_files::FILE_BYTES)
            .map_err(|error| Fault::not_found(format!("{file}: {error}")))
    }

    /// The path of a file that is named as seen from the workspace's folder; it need not be there.
    pub fn in_folder(&self, file: &Path) -> PathBuf {
        self.dir.join(file)
    }

    /// The full path of a file of the workspace; refused where it leads outside.
    pub fn file_in(&self, file: &str) -> Result<PathBuf, Fault> {
        let path = std::fs::canonicalize(self.dir.join(file)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Fault::not_found(format!("there is no file {file} in {}", self.dir.display()))
            }
            _ => Fault::not_found(format!("{file}: {error}")),
        })?;
        if path.starts_with(&self.dir) {
            Ok(path)
        } else {
            Err(Fault::refused(format!("{file} is outside the workspace")))
        }
    }
}
