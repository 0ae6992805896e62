//! What a tool may use of the workspace and of its own call. Must not know any tool.

use std::sync::Arc;

use runner::Workspace;

use crate::begun::Begun;

/// A recorded value is read, printed and dropped by its depth.
pub(crate) const STACK: usize = 64 << 20;

/// What a tool may use.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) workspace: Arc<Workspace>,
    /// The requests that calls wait for.
    pub(crate) begun: Begun,
    /// Whether the client has cancelled the call.
    pub(crate) is_cancelled: Arc<dyn Fn() -> bool + Send + Sync>,
}
