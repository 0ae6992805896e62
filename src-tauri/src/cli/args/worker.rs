//! What `worker` may be told.

use std::num::NonZeroUsize;

use clap::Args;

/// `worker`.
#[derive(Args)]
#[command(
    after_help = "SIGTERM or Ctrl-C ends it: it begins nothing more, and what goes on here is finished first; the second
one ends it at once, and other workers go on with the rest. Exit code 0."
)]
pub(crate) struct Worker {
    /// How many requests go on at the same time (default: one for each processor core)
    #[arg(long, value_name = "N")]
    pub(crate) concurrency: Option<NonZeroUsize>,
    /// End when there is nothing left to do
    #[arg(long)]
    pub(crate) until_idle: bool,
}
