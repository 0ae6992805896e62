//! The arguments of `diff`, which compares two instants of a request, or two requests.

use clap::Args;
use runner::At;

use super::Page;
use super::value::at;

#[derive(Args)]
pub(crate) struct Diff {
    pub(crate) request: String,
    /// Accepted only to reject `diff R1 R2` with a hint to use --with.
    #[arg(hide = true)]
    other: Option<String>,
    /// The earlier instant: an event's number, or a block's path, just after it finished (default: before the first
    /// block; with --with, the end of REQUEST)
    #[arg(long, value_name = "SEQ|PATH", value_parser = at)]
    pub(crate) from: Option<At>,
    /// The later instant, in the same form (default: the end); with --with, an instant of REQUEST2
    #[arg(long, value_name = "SEQ|PATH", value_parser = at)]
    pub(crate) to: Option<At>,
    /// Compare with this request: the state of every scope at both ends, or at --from and --to, with sequencers matched
    /// by path. The text output also lists differences of status, input, output, error and blocks
    #[arg(long, value_name = "REQUEST2")]
    pub(crate) with: Option<String>,
    /// Show the first statement at which a local variable of this block differs. Without --with, compare with a replay
    /// of the current code
    #[arg(long, value_name = "PATH[#ATTEMPT]", conflicts_with_all = ["from", "to"])]
    pub(crate) locals: Option<String>,
    #[command(flatten)]
    pub(crate) page: Page,
}

impl Diff {
    /// Returns an error if a second request is named without `--with`.
    pub(crate) fn settle(&self) -> Result<(), String> {
        let Some(other) = &self.other else { return Ok(()) };
        let request = &self.request;
        Err(match &self.with {
            Some(_) => format!("diff compares two requests, not three: {other:?} is too many"),
            None => format!("to compare two requests, use --with: flowglass diff {request} --with {other}"),
        })
    }
}
