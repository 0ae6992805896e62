//! The arguments of `mcp`.

use clap::Args;

/// `mcp`.
#[derive(Args)]
#[command(
    after_help = "Seven tools: find, look, diff, why, print, run, compare. All but run only read. run first says what
would happen. It acts only if it is confirmed and a person trusts the folder, by --trust or in the window.
--print-config prints the entries for the usual clients; --skill prints a file that teaches an agent the order of the
tools."
)]
pub(crate) struct Mcp {
    /// Print the entries for the settings of a client, and exit
    #[arg(long)]
    pub(crate) print_config: bool,
    /// Print the skill file, and exit
    #[arg(long, conflicts_with = "print_config")]
    pub(crate) skill: bool,
}
