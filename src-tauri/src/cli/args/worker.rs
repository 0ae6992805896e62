//! The arguments of `worker`.

use std::num::NonZeroUsize;

use clap::Args;

/// `worker`.
#[derive(Args)]
#[command(
    after_help = "SIGTERM or Ctrl-C stops the worker after the requests that run in it have ended. A second signal stops
it at once; other workers resume its requests. Exit code 0."
)]
pub(crate) struct Worker {
    /// How many requests run at the same time (default: one for each processor core)
    #[arg(long, value_name = "N")]
    pub(crate) concurrency: Option<NonZeroUsize>,
    /// Exit when no request is left to resume
    #[arg(long)]
    pub(crate) until_idle: bool,
}
