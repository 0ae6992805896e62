//! A request's trace on its way to a collector, or into a file that one reads.

use std::path::Path;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Url, header};

use super::{Workspace, export_format};
use crate::core::fault::Fault;
use crate::models::http;
use crate::views::ExportedTrace;
use crate::workspace::otlp::Trace;

/// Where a collector takes traces, unless an address says otherwise.
const PATH: &str = "/v1/traces";
/// How long a collector may take.
const TIMEOUT: Duration = Duration::from_secs(30);

impl Workspace {
    /// Exports a request as an OpenTelemetry trace: to the address of a collector (OTLP over HTTP, `/v1/traces` unless
    /// it names a path), or into a file (a line of OTLP JSON). A file that is there is replaced only where `replace`
    /// says so.
    pub fn export_trace(&self, request: &str, to: &str, replace: bool) -> Result<ExportedTrace, Fault> {
        let (row, events) = self.log_of(request)?;
        let trace = Trace::of(&row, &events);
        let to = match collector(to)? {
            Some(url) => {
                send(&url, trace.to_protobuf())?;
                // Neither a password nor what a query carries is told.
                format!("{}://{}{}", url.scheme(), http::place(&url), url.path())
            }
            None => {
                self.write_trace(Path::new(to), &trace, replace)?;
                to.to_owned()
            }
        };
        Ok(ExportedTrace { request: row.id, to, spans: trace.len() })
    }

    fn write_trace(&self, file: &Path, trace: &Trace, replace: bool) -> Result<(), Fault> {
        self.check_export_file(file, replace)?;
        let text = trace.to_json().map_err(Fault::internal)?;
        let wrong = |error: std::io::Error| Fault::internal(format!("{} cannot be written: {error}", file.display()));
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        export_format::make_folder(file);
        let mut new = tempfile::NamedTempFile::new_in(folder).map_err(wrong)?;
        std::io::Write::write_all(&mut new, text.as_bytes()).map_err(wrong)?;
        let kept = if replace { new.persist(file) } else { new.persist_noclobber(file) };
        kept.map(drop).map_err(|error| wrong(error.error))
    }
}

/// The address of a collector; nothing where a file is meant.
fn collector(to: &str) -> Result<Option<Url>, Fault> {
    let Some((scheme, _)) = to.split_once("://") else { return Ok(None) };
    if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
        return Err(Fault::invalid(format!("--otlp knows http and https, not \"{scheme}\"")));
    }
    let mut url = Url::parse(to).map_err(|error| Fault::invalid(format!("--otlp is not a valid address: {error}")))?;
    if url.path() == "/" {
        url.set_path(PATH);
    }
    http::check_clock(&url).map_err(Fault::internal)?;
    Ok(Some(url))
}

fn send(url: &Url, body: Vec<u8>) -> Result<(), Fault> {
    let at = http::place(url);
    let wrong = |why: String| Fault::unavailable(format!("the collector at {at} did not take the trace: {why}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let client = http::client(Policy::none).map_err(&wrong)?;
        let request = client.post(url.clone()).timeout(TIMEOUT).header(header::CONTENT_TYPE, "application/x-protobuf");
        let answer = request.body(body).send().await.map_err(|error| wrong(http::cause(&error)))?;
        if answer.status().is_success() { Ok(()) } else { Err(wrong(format!("it answered {}", answer.status()))) }
    })
}
