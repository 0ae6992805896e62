//! `flowglass mcp`: a workspace for a coding agent, or what its client needs to know.

use std::path::PathBuf;
use std::sync::Arc;

use runner::{Fault, OpenOptions, Workspace};
use serde_json::{Value, json};

use crate::cli::args::Mcp;
use crate::cli::{Outcome, exit};
use crate::terminal::tell;

/// `flowglass mcp`.
pub(crate) fn mcp(asked: &Mcp, options: OpenOptions) -> Result<Outcome, Fault> {
    if asked.skill {
        return Ok(Outcome::done(json!({ "skill": ::mcp::skill() }), ::mcp::skill().to_owned()));
    }
    if asked.print_config {
        let folder = folder(&options)?;
        let program =
            crate::programs::command_line().map_err(|error| Fault::Internal { message: error.to_string() })?;
        let data = options.data.as_ref().map(|data| match data.file() {
            Some(file) => std::fs::canonicalize(file).unwrap_or_else(|_| file.to_owned()),
            // Without the password, which belongs into PGPASSWORD.
            None => data.path().to_owned(),
        });
        let variables = Workspace::secret_variables_at(&folder)?;
        let config = ::mcp::client_config(&program, &folder, data.as_deref(), &variables);
        let text = text(&config);
        return Ok(Outcome::done(config, text));
    }
    // Settings that cannot be read are named when the workspace is opened.
    for variable in Workspace::missing_secrets_at(&folder(&options)?).unwrap_or_default() {
        tell(&format!(
            "flowglass: {variable} is not set here, so that its recorded value cannot be found and hidden in answers"
        ));
    }
    let options = OpenOptions { existing: true, ..options };
    ::mcp::serve_stdio(move || open(&options))?;
    Ok(Outcome { json: Value::Null, text: String::new(), code: exit::DONE })
}

fn folder(options: &OpenOptions) -> Result<PathBuf, Fault> {
    std::fs::canonicalize(&options.dir).map_err(|error| Fault::Invalid {
        message: format!("the folder {} cannot be opened: {error}", options.dir.display()),
        details: Vec::new(),
    })
}

/// Opens the workspace. In a folder that has nothing to read, nothing is made for a reader.
fn open(options: &OpenOptions) -> Result<Arc<Workspace>, Fault> {
    if options.data.is_none() && Workspace::is_empty_at(&options.dir) {
        return Err(Fault::NotFound {
            message: format!(
                "{} has no flows and no recorded runs: start the server in the folder of a workspace, or name it with \
                 --dir",
                folder(options)?.display()
            ),
        });
    }
    Workspace::open(options.clone())
}

/// Each entry below the file that it belongs into.
fn text(config: &Value) -> String {
    let mut text = String::new();
    for (client, entry) in config.as_object().into_iter().flatten() {
        text.push_str(&format!("{client}: {}\n", entry["file"].as_str().unwrap_or_default()));
        match &entry["entry"] {
            Value::String(lines) => text.push_str(lines),
            other => text.push_str(&format!("{}\n", serde_json::to_string_pretty(other).unwrap_or_default())),
        }
        if let Some(command) = entry["command"].as_str() {
            text.push_str(&format!("or: {command}\n"));
        }
        text.push('\n');
    }
    text
}
