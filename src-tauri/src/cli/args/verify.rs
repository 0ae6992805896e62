//! What the commands about recorded runs as tests may be told: `verify`, `keep`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use engine::event::RequestStatus;
use jiff::civil::{Date, DateTime};
use jiff::{Span, Timestamp, tz::TimeZone};
use runner::VerifyQuery;

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
    /// Only requests that began since then: 2h, 7d, 2026-11-20, or 2026-11-20T14:00
    #[arg(long, value_name = "TIME", value_parser = since, group = "selection", conflicts_with = "request")]
    since: Option<Timestamp>,
    /// Also those whose code is the code that ran
    #[arg(long, conflicts_with = "files")]
    all: bool,
    /// Go on, and verify again whenever a file is saved
    #[arg(long)]
    pub(crate) watch: bool,
    /// Expect from now on what differs: beside the log, or in the file
    #[arg(long, conflicts_with = "watch")]
    accept: bool,
    /// Also write the verdicts into a file that CI reads
    #[arg(long, value_name = "FILE")]
    pub(crate) junit: Option<PathBuf>,
    /// How many at once (default: one a core)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
}

impl Verify {
    /// Whether it is files that are verified.
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
            since: self.since.map(Timestamp::as_millisecond),
            all: self.all,
            accept: self.accept,
            jobs: self.jobs,
        }
    }
}

/// An instant: a time before now, or a date with or without a time, here.
fn since(text: &str) -> Result<Timestamp, String> {
    let wrong =
        || "write a time before now, like 2h or 7d, or an instant, like 2026-11-20 or 2026-11-20T14:00".to_owned();
    if let Ok(instant) = text.parse::<Timestamp>() {
        return Ok(instant);
    }
    let local = |at: DateTime| at.to_zoned(TimeZone::system()).map(|at| at.timestamp()).map_err(|_| wrong());
    if let Ok(date) = text.parse::<Date>() {
        return local(date.at(0, 0, 0, 0));
    }
    if let Ok(at) = text.parse::<DateTime>() {
        return local(at);
    }
    let span: Span = text.parse().map_err(|_| wrong())?;
    // A day has 24 hours here.
    let ago = span.to_duration(jiff::SpanRelativeTo::days_are_24_hours()).map_err(|_| wrong())?;
    Timestamp::now().checked_sub(ago.abs()).map_err(|_| wrong())
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
    /// Replace the file where it is there
    #[arg(long)]
    pub(crate) force: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_given_by_a_date_or_by_how_long_ago_it_was() {
        let now = Timestamp::now();
        let ago = |text: &str| now.duration_since(since(text).unwrap_or(Timestamp::MAX)).as_secs();
        for (text, seconds) in [("2h", 7_200), ("30m", 1_800), ("1d", 86_400), ("2w", 1_209_600), ("90s", 90)] {
            assert!((seconds - 5..=seconds).contains(&ago(text)), "{text}: {}", ago(text));
        }
        for text in ["2026-11-20", "2026-11-20T14:00", "2026-11-20T14:00:00Z", "2026-11-20T14:00:00+02:00"] {
            assert!(since(text).is_ok(), "{text}");
        }
        for text in ["", "x", "yesterday", "2026-13-01", "2", "-"] {
            assert!(since(text).is_err(), "{text}");
        }
    }
}
