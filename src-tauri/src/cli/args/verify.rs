//! Arguments of the commands that use recorded runs as tests: `verify` and `keep`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use engine::event::RequestStatus;
use runner::{VerifyQuery, past_instant};

use super::value::status;

/// `verify`.
#[derive(Args)]
#[command(group = ArgGroup::new("selection").multiple(true).conflicts_with("files"))]
#[command(after_help = "Examples:
  flowglass verify                           all recorded requests whose code has changed since
  flowglass verify --flow cart --since 2d    those of one flow, of the last two days
  flowglass verify --accept                  expect from now on what they do now
  flowglass verify tests/*.run --junit out.xml
Each run is replayed in memory with its recorded effects: no model, tool or page is asked. Exit 0 if nothing differs or
all that differs was accepted, 1 otherwise.")]
pub(crate) struct Verify {
    /// Files that `keep` wrote, in place of requests of the database
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only this request; may be given several times
    #[arg(long, group = "selection")]
    request: Vec<String>,
    /// Only requests of this session
    #[arg(long, group = "selection", conflicts_with = "request")]
    session: Option<String>,
    /// Only requests of this flow
    #[arg(long, group = "selection", conflicts_with = "request")]
    flow: Option<String>,
    /// Only requests with this status
    #[arg(long, value_parser = status, group = "selection", conflicts_with = "request")]
    status: Option<RequestStatus>,
    /// Only requests that began since then: 2h, 7d, or a local time, like 2026-11-20 or 2026-11-20T14:00
    #[arg(long, value_name = "TIME", value_parser = past_instant, group = "selection", conflicts_with = "request")]
    since: Option<i64>,
    /// Also requests whose code has not changed
    #[arg(long, conflicts_with = "files")]
    all: bool,
    /// Keep running, and verify again whenever a file is saved
    #[arg(long)]
    pub(crate) watch: bool,
    /// Accept the differences as expected from now on; stored beside the log, or in the file
    #[arg(long, conflicts_with = "watch")]
    accept: bool,
    /// Also write the verdicts into a file that CI reads
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// How many run at once (default: one per core)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
}

impl Verify {
    /// Whether files are verified.
    pub(crate) fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    pub(crate) fn query(&self) -> VerifyQuery {
        VerifyQuery {
            files: self.files.clone(),
            requests: self.request.clone(),
            session: self.session.clone(),
            flow: self.flow.clone(),
            status: self.status,
            since: self.since,
            all: self.all,
            accept: self.accept,
            jobs: self.jobs,
        }
    }
}

/// `keep`.
#[derive(Args)]
#[command(after_help = "Example:
  flowglass keep req_3f2a --as tests/refund-over-limit.run
The file is text, without secrets and paths of this machine. `flowglass verify` runs it anywhere, without a database, a
model or the network.")]
pub(crate) struct Keep {
    pub(crate) request: String,
    /// The file to write, like tests/refund-over-limit.run
    #[arg(long = "as", value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
}
