//! What `mcp` may be told.

use clap::Args;

/// `mcp`.
#[derive(Args)]
#[command(
    after_help = "Seven tools: find, look, diff, why, print, run, compare. All but run only read. run tells first what
would happen, acts if it is confirmed, and only if a person trusts the folder: by --trust, or in the window.
--print-config prints the entries for the usual clients; --skill prints a file that teaches an agent the order of the
tools."
)]
pub(crate) struct Mcp {
    /// Print what to paste into the settings of a client, and serve nothing
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Print the skill, and serve nothing
    #[arg(long, conflicts_with = "print_config")]
    pub(crate) skill: bool,
}
