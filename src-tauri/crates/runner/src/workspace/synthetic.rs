//! Made-up requests in a workspace.

use std::sync::Arc;

use engine::log::Log;

use super::Workspace;
use crate::core::fault::Fault;
use crate::run::synthetic::{Synthesized, Synthetic, synthesize};

impl Workspace {
    /// Writes made-up requests. Stops at the first that cannot be written.
    pub fn synthesize(&self, wanted: &Synthetic) -> Result<Synthesized, Fault> {
        self.check_writable()?;
        let log: Arc<dyn Log> = self.store.clone();
        let lock = self.lock()?;
        synthesize(&log, &lock.owner(), wanted)
    }
}
