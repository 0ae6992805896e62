//! The access of a tool to the workspace and to its own call. Must not depend on any tool.

use std::sync::Arc;

use runner::Workspace;

use crate::begun::Begun;

/// The stack of a call's thread. Recorded values are read, printed and dropped recursively.
pub(crate) const STACK: usize = 64 << 20;

/// The access of a tool to the workspace.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) workspace: Arc<Workspace>,
    /// The requests that calls have started and wait for.
    pub(crate) begun: Begun,
    /// Whether the client has cancelled the call.
    pub(crate) is_cancelled: Arc<dyn Fn() -> bool + Send + Sync>,
}
