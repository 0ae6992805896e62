//! What `open` may name: where in a workspace the window opens.

use clap::Args;
use runner::{At, Audience};

use super::value::{at, audience, tab};

/// What the window shows first; the window's "Copy a link to this place" writes these.
#[derive(Args, Default)]
#[command(group = clap::ArgGroup::new("what"))]
pub(crate) struct Place {
    /// Show this flow
    #[arg(long, group = "what")]
    pub(crate) flow: Option<String>,
    /// The form of this action of the flow
    #[arg(long, requires = "flow")]
    pub(crate) action: Option<String>,
    /// Show the newest request of this session
    #[arg(long, group = "what")]
    pub(crate) session: Option<String>,
    /// Show this request
    #[arg(long, group = "what")]
    pub(crate) request: Option<String>,
    /// At this event, or just after the block at this path finished, which is then selected (default: the newest
    /// event)
    #[arg(long, value_name = "SEQ|PATH", requires = "request", value_parser = at)]
    pub(crate) at: Option<At>,
    /// With the block at this path selected
    #[arg(long, value_name = "PATH", requires = "request")]
    pub(crate) block: Option<String>,
    /// Which execution of that block, from 0 (default: the newest)
    #[arg(long, value_name = "N", requires = "block")]
    pub(crate) attempt: Option<u32>,
    /// With this tab open: timeline, items, state, events, journal, checkpoints, agent or calls
    #[arg(long, value_name = "TAB", requires = "request", value_parser = tab)]
    pub(crate) tab: Option<String>,
    /// With the items that this audience sees
    #[arg(long, requires = "request", value_parser = audience)]
    pub(crate) view: Option<Audience>,
    /// Only this part of the window: inspector
    #[arg(long, value_name = "PANE", requires = "request", value_parser = ["inspector"])]
    pub(crate) pane: Option<String>,
    /// Be the window that another one reserved, or that was left
    #[arg(long, hide = true, value_name = "ID")]
    pub(crate) window: Option<String>,
}

impl Place {
    /// Whether it names anything, which only an open folder can hold.
    pub(crate) fn is_named(&self) -> bool {
        self.flow.is_some() || self.session.is_some() || self.request.is_some()
    }
}
