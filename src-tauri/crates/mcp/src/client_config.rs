//! The settings of clients, and the skill that teaches an agent the order of the tools.

use std::path::Path;

use serde_json::{Map, Value, json};

/// The entries for common clients, each with the file it belongs to.
///
/// `data` is the database, if it is not the folder's. `variables` contain secrets, which the server can hide only if it
/// has them. Many clients pass only a few variables, so the entries name these, but never contain a value.
pub fn client_config(program: &Path, folder: &Path, data: Option<&Path>, variables: &[String]) -> Value {
    let (program, folder) = (program.display().to_string(), folder.display().to_string());
    let mut words = vec!["mcp".to_owned(), "--dir".to_owned(), folder];
    words.extend(data.into_iter().flat_map(|data| ["--data".to_owned(), data.display().to_string()]));
    let line: Vec<String> = words.iter().map(|word| shell(word)).collect();
    let arguments = json!(words);
    let server = json!({ "command": program, "args": arguments });
    // Clients replace these placeholders with their own values.
    let with = |mut server: Value, form: &dyn Fn(&str) -> String| {
        if !variables.is_empty() {
            let env: Map<String, Value> = variables.iter().map(|name| (name.clone(), form(name).into())).collect();
            server["env"] = Value::Object(env);
        }
        server
    };
    let plain = |name: &str| format!("${{{name}}}");
    let of_env = |name: &str| format!("${{env:{name}}}");
    let flags: String =
        variables.iter().map(|name| format!(" -e {}", shell(&format!("{name}={}", plain(name))))).collect();
    let forwarded = if variables.is_empty() { String::new() } else { format!("env_vars = {}\n", json!(variables)) };
    json!({
        "claudeCode": {
            "file": ".mcp.json",
            "entry": { "mcpServers": { "flowglass": with(server.clone(), &plain) } },
            "command": format!("claude mcp add flowglass{flags} -- {} {}", shell(&program), line.join(" ")),
        },
        "cursor": {
            "file": ".cursor/mcp.json",
            "entry": { "mcpServers": { "flowglass": with(server.clone(), &of_env) } },
        },
        "vscode": {
            "file": ".vscode/mcp.json",
            "entry": {
                "servers": {
                    "flowglass": with(json!({ "type": "stdio", "command": program, "args": arguments }), &of_env),
                },
            },
        },
        "codex": {
            "file": "~/.codex/config.toml",
            "entry": format!(
                "[mcp_servers.flowglass]\ncommand = {}\nargs = {arguments}\n{forwarded}",
                json!(program)
            ),
        },
        // Zed passes all of its own variables, and would pass a placeholder literally.
        "zed": {
            "file": "settings.json",
            "entry": { "context_servers": { "flowglass": server } },
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

/// The skill file for agents.
pub fn skill() -> &'static str {
    include_str!("skill.md")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_name_variables_in_the_form_of_their_client() {
        let config = |variables: &[String]| client_config("/bin/fg".as_ref(), "/a b".as_ref(), None, variables);
        let named = config(&["TOKEN".to_owned()]);
        assert_eq!(named["claudeCode"]["entry"]["mcpServers"]["flowglass"]["env"], json!({ "TOKEN": "${TOKEN}" }));
        let command = "claude mcp add flowglass -e 'TOKEN=${TOKEN}' -- /bin/fg mcp --dir '/a b'";
        assert_eq!(named["claudeCode"]["command"], command);
        assert_eq!(named["cursor"]["entry"]["mcpServers"]["flowglass"]["env"], json!({ "TOKEN": "${env:TOKEN}" }));
        assert_eq!(named["vscode"]["entry"]["servers"]["flowglass"]["env"], json!({ "TOKEN": "${env:TOKEN}" }));
        let codex = named["codex"]["entry"].as_str().unwrap_or_default();
        assert!(codex.ends_with("\nenv_vars = [\"TOKEN\"]\n"), "{codex}");
        assert!(!config(&[]).to_string().contains("env"));
    }
}
