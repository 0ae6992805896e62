//! `flowglass dap`: the Debug Adapter Protocol on standard input and output, over one recorded request.
//!
//! Every request gets an answer; what is no request is named in an `output` event. A closed input ends it. Must not
//! print anything else to standard output.

mod adapter;
mod breaking;
mod frames;
mod motion;
mod types;
mod variables;
mod wire;

use std::path::PathBuf;
use std::sync::Arc;

use runner::{Fault, Workspace};
use serde_json::Value;

use self::adapter::Adapter;
use self::types::Output;
use self::wire::{Incoming, Response, Writer};
use crate::cli::{Outcome, exit};

/// Opens the workspace of a folder and a database; without them those of the command line. Returns its folder, too.
pub(crate) type Opener<'o> = &'o dyn Fn(Option<PathBuf>, Option<PathBuf>) -> Result<(Arc<Workspace>, PathBuf), Fault>;

/// Serves an editor until its input ends or it disconnects.
pub(crate) fn serve(open: Opener<'_>) -> Outcome {
    // An editor that went away wants no more, and that is no failure.
    let _ = converse(open);
    Outcome { json: Value::Null, text: String::new(), code: exit::DONE }
}

fn converse(open: Opener<'_>) -> std::io::Result<()> {
    let mut input = std::io::stdin().lock();
    let mut writer = Writer::new(std::io::stdout().lock());
    let mut adapter = Adapter::new(open);
    while !adapter.is_over {
        match wire::read(&mut input)? {
            Incoming::End => break,
            Incoming::Garbage(why) => {
                let output = format!("the debugger cannot read a message: {why}\n");
                adapter.tell("output", &Output { category: "stderr", output, source: None, line: None });
            }
            Incoming::Request(request) => {
                let (success, message, body) = match adapter.answer(&request) {
                    Ok(body) => (true, None, body),
                    Err(why) => (false, Some(why), None),
                };
                let command = request.command;
                writer.response(&Response { request_seq: request.seq, success, command, message, body })?;
            }
        }
        for event in adapter.take_events() {
            writer.event(&event)?;
        }
    }
    Ok(())
}
