//! The arguments of `export`.

use std::path::PathBuf;

use clap::Args;

use runner::Audience;

use super::value::exported;

#[derive(Args)]
#[command(group = clap::ArgGroup::new("whose").required(true))]
pub(crate) struct Export {
    #[arg(long, group = "whose")]
    pub(crate) session: Option<String>,
    #[arg(long, group = "whose")]
    pub(crate) request: Option<String>,
    /// The file to write
    #[arg(long, value_name = "FILE", required_unless_present_any = ["otlp", "html"])]
    pub(crate) out: Option<PathBuf>,
    /// Write a request as one HTML page that any browser opens, without Flowglass or a network
    #[arg(long, value_name = "FILE", requires = "request", conflicts_with_all = ["out", "otlp", "session"])]
    pub(crate) html: Option<PathBuf>,
    /// Export a request as an OpenTelemetry trace: to a collector (OTLP over HTTP), or into a file (OTLP JSON)
    #[arg(long, value_name = "URL|FILE", requires = "request", conflicts_with_all = ["out", "session", "view"])]
    pub(crate) otlp: Option<String>,
    /// Replace the file if it exists; never the database or a file of the flows
    #[arg(long)]
    pub(crate) force: bool,
    /// all: everything, for an import; client, history: only what that audience sees
    #[arg(long, default_value = "all", value_name = "client|history|all", value_parser = exported)]
    pub(crate) view: Audience,
}
