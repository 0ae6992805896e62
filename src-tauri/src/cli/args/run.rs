//! Arguments of the commands that start a request: `run` an action, `trigger` an entry.

use clap::Args;

#[derive(Args)]
pub(crate) struct Run {
    pub(crate) flow: String,
    pub(crate) action: String,
    /// Who asks
    #[arg(long)]
    pub(crate) user: String,
    /// Run an internal or a task entry, which otherwise only a dispatcher reaches
    #[arg(long)]
    pub(crate) internal: bool,
    #[command(flatten)]
    pub(crate) how: How,
}

#[derive(Args)]
pub(crate) struct Trigger {
    pub(crate) flow: String,
    /// The id of a schedule, the event of a webhook (stripe/invoice.paid), or the address that flows lists
    pub(crate) entry: String,
    /// For whom it runs (default: whom the entry or the flow names, else system)
    #[arg(long)]
    pub(crate) user: Option<String>,
    #[command(flatten)]
    pub(crate) how: How,
}

/// Arguments of both. The input of a trigger is the event: its payload, or an object with `payload` and further fields.
/// For a schedule, it replaces the schedule's own input.
#[derive(Args)]
pub(crate) struct How {
    /// The conversation (default: a new one)
    #[arg(long)]
    pub(crate) session: Option<String>,
    /// The team
    #[arg(long, visible_alias = "org")]
    pub(crate) project: Option<String>,
    /// The request's id (default: a new one)
    #[arg(long)]
    pub(crate) request: Option<String>,
    /// JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    pub(crate) input: Option<String>,
    /// Mock models, by the script beside the flow or by this one
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) mock: Option<String>,
    /// One event a line as it happens, the result last
    #[arg(long)]
    pub(crate) events: bool,
}
