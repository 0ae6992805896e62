//! What is compared: two instants of a request, or two requests.

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
    /// The later instant, likewise (default: the end); with --with, it is one of REQUEST2
    #[arg(long, value_name = "SEQ|PATH", value_parser = at)]
    pub(crate) to: Option<At>,
    /// Compare with this request: the state of every scope at both ends, or at --from and --to, sequencers by their
    /// paths; the text also says which of status, input, output, error and blocks differ
    #[arg(long, value_name = "REQUEST2")]
    pub(crate) with: Option<String>,
    /// Compare the locals of this block, statement by statement: the first statement at which a value differs. Without
    /// --with it is compared with what the code of today does with the recorded input and effects
    #[arg(long, value_name = "PATH[#ATTEMPT]", conflicts_with_all = ["from", "to"])]
    pub(crate) locals: Option<String>,
    #[command(flatten)]
    pub(crate) page: Page,
}

impl Diff {
    /// Fails, in words, where two requests are named without `--with`.
    pub(crate) fn settle(&self) -> Result<(), String> {
        let Some(other) = &self.other else { return Ok(()) };
        let request = &self.request;
        Err(match &self.with {
            Some(_) => format!("diff compares two requests, not three: {other:?} is too many"),
            None => format!("two requests are compared with --with: flowglass diff {request} --with {other}"),
        })
    }
}
