//! Until a person trusts the folder, its flows are neither loaded nor run; what was recorded is there to be read.

use std::sync::atomic::{AtomicBool, Ordering};

use super::Workspace;
use crate::catalogue::trust::{self, Consent};
use crate::core::config::Config;
use crate::core::fault::Fault;
use crate::core::notice::Notice;

/// Whether a folder is trusted when it is opened.
pub(super) fn at_first(consent: Consent, dir: &std::path::Path, config: &Config) -> AtomicBool {
    AtomicBool::new(consent == Consent::Given || trust::is_trusted(dir, &config.hosts()))
}

impl Workspace {
    /// Whether its flows are loaded and run.
    pub fn is_trusted(&self) -> bool {
        self.trusted.load(Ordering::SeqCst)
    }

    /// Keeps the person's answer; from now on the flows are loaded and run.
    pub fn give_trust(&self) -> Result<(), Fault> {
        trust::keep(&self.dir, &self.config.hosts())?;
        self.trusted.store(true, Ordering::SeqCst);
        self.notices.tell(&Notice::Flows { workspace: self.name.clone() });
        Ok(())
    }

    pub(super) fn check_trusted(&self) -> Result<(), Fault> {
        if self.is_trusted() {
            return Ok(());
        }
        Err(Fault::refused(format!(
            "the folder {} is not trusted yet, so its flows are neither loaded nor run",
            self.dir.display()
        )))
    }
}
