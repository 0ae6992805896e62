//! Bundling and first evaluation in a child process: requests and replies as lines of JSON. A parser that overflows its
//! stack, or a fault of the JavaScript engine, ends its process without an error that could be caught. So a file that
//! has not been loaded before is parsed and evaluated in a process that does nothing else.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, mpsc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::bundle::Bundle;
use crate::bundle::bundler::Bundler;
use crate::bundle::error::LoadError;
use crate::load::FlowDescription;
use crate::vm::Limits;

/// A file to bundle and to evaluate.
#[derive(Debug, Serialize, Deserialize)]
pub struct BundleRequest {
    /// The workspace's folder.
    pub workspace: PathBuf,
    /// The flow file.
    pub file: PathBuf,
    /// The limits of the evaluation.
    pub limits: Limits,
    /// What the file sees as its environment.
    #[serde(deserialize_with = "engine::json::exact")]
    pub env: Value,
}

/// A line of the reply; the last one is `Done`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BundleReply {
    /// A file was read and is about to be parsed.
    Reads(PathBuf),
    /// The bundle, which is about to be evaluated.
    Bundled(Box<Bundle>),
    /// The flows of the file, or why it does not load.
    Done(Result<Vec<FlowDescription>, LoadError>),
}

/// Serves requests until the input ends, and then exits the process at once. `describe` evaluates a bundle.
pub fn serve(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
    describe: impl Fn(&BundleRequest, &Bundle) -> Result<Vec<FlowDescription>, LoadError>,
) -> std::io::Result<()> {
    let bundler = Bundler::new()?;
    let (sender, requests) = mpsc::channel::<BundleRequest>();
    std::thread::Builder::new().name("requests".to_owned()).spawn(move || {
        for line in input.lines().map_while(Result::ok) {
            let Ok(request) = serde_json::from_str(&line) else { break };
            if sender.send(request).is_err() {
                break;
            }
        }
        // The parent is gone, so nobody needs the result of a running request.
        std::process::exit(0);
    })?;
    let output = Arc::new(Mutex::new(output));
    for request in requests {
        let replies = output.clone();
        let on_read = move |file: &Path| drop(write(&replies, &BundleReply::Reads(file.to_owned())));
        let result = match bundler.bundle(&request.workspace, &request.file, Arc::new(on_read)) {
            Ok(bundle) => {
                let bundle = Box::new(bundle);
                write(&output, &BundleReply::Bundled(bundle.clone()))?;
                describe(&request, &bundle)
            }
            Err(error) => Err(error),
        };
        write(&output, &BundleReply::Done(result))?;
    }
    Ok(())
}

/// Writes a reply as a line.
fn write(output: &Mutex<impl Write>, reply: &BundleReply) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(reply)?;
    line.push(b'\n');
    let mut output = output.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    output.write_all(&line)?;
    output.flush()
}
