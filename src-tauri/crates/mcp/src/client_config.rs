//! What a person pastes into a client, and the skill that teaches an agent the order of the tools.

use std::path::Path;

use serde_json::{Value, json};

/// The entries for the usual clients, each with the place where it belongs.
///
/// `data` is the database, if it is not the one of the folder.
pub fn client_config(program: &Path, folder: &Path, data: Option<&Path>) -> Value {
    let (program, folder) = (program.display().to_string(), folder.display().to_string());
    let mut words = vec!["mcp".to_owned(), "--dir".to_owned(), folder];
    words.extend(data.into_iter().flat_map(|data| ["--data".to_owned(), data.display().to_string()]));
    let line: Vec<String> = words.iter().map(|word| shell(word)).collect();
    let arguments = json!(words);
    let server = json!({ "command": program, "args": arguments });
    json!({
        "claudeCode": {
            "file": ".mcp.json",
            "entry": { "mcpServers": { "flowglass": server } },
            "command": format!("claude mcp add flowglass -- {} {}", shell(&program), line.join(" ")),
        },
        "cursor": { "file": ".cursor/mcp.json", "entry": { "mcpServers": { "flowglass": server } } },
        "vscode": {
            "file": ".vscode/mcp.json",
            "entry": { "servers": { "flowglass": { "type": "stdio", "command": program, "args": arguments } } },
        },
        "codex": {
            "file": "~/.codex/config.toml",
            "entry": format!("[mcp_servers.flowglass]\ncommand = {}\nargs = {arguments}\n", json!(program)),
        },
        "zed": {
            "file": "settings.json",
            "entry": { "context_servers": { "flowglass": { "command": program, "args": arguments } } },
        },
    })
}

/// A word of a shell's command.
fn shell(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// The skill, as a file that agents read.
pub fn skill() -> &'static str {
    include_str!("skill.md")
}
