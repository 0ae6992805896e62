//! A coding agent's client: it starts `flowglass mcp` and speaks the Model Context Protocol to it, a line a message.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::bench::program;

/// How long an answer may take.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(120);

/// How many bytes count as a token.
pub const BYTES_PER_TOKEN: usize = 4;

/// Which generation of the protocol a client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// A handshake, then calls.
    Handshake,
    /// Each call says who it comes from.
    Stateless,
}

/// A client with its server.
pub struct Agent {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    protocol: Protocol,
    id: u64,
    /// How many bytes of text the answers of tools had.
    pub read: usize,
    /// How many calls of tools there were.
    pub calls: usize,
}

/// The answer of a tool.
#[derive(Clone, Debug)]
pub struct ToolAnswer {
    /// What a model reads.
    pub text: String,
    /// The same as JSON; null for an error.
    pub structured: Value,
    /// Whether the call was refused.
    pub is_error: bool,
}

impl Agent {
    /// A client of the older protocol, after its handshake.
    pub fn start(dir: &Path, more: &[&str]) -> Agent {
        Agent::shake(Agent::with(dir, more, Protocol::Handshake, &[]))
    }

    /// The same with variables in the environment of the server.
    pub fn start_in(dir: &Path, variables: &[(&str, &str)]) -> Agent {
        Agent::shake(Agent::with(dir, &[], Protocol::Handshake, variables))
    }

    fn shake(mut agent: Agent) -> Agent {
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" } });
        let answer = agent.request("initialize", hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "flowglass", "{answer}");
        agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string());
        agent
    }

    /// A client that has said nothing yet.
    pub fn with(dir: &Path, more: &[&str], protocol: Protocol, variables: &[(&str, &str)]) -> Agent {
        let mut child = Command::new(program())
            .arg("mcp")
            .args(more)
            .current_dir(dir)
            .env("XDG_CONFIG_HOME", dir.join(".config"))
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let out = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Agent { child, stdin, messages, protocol, id: 0, read: 0, calls: 0 }
    }

    /// Writes a line.
    pub fn send(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("it is open");
        stdin.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdin.flush()).expect("the server reads");
    }

    /// Writes a request and returns its id.
    pub fn ask(&mut self, method: &str, mut params: Value) -> u64 {
        self.id += 1;
        if self.protocol == Protocol::Stateless {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        self.send(&json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params }).to_string());
        self.id
    }

    /// The next message.
    #[track_caller]
    pub fn message(&mut self) -> Value {
        self.messages.recv_timeout(MESSAGE_TIMEOUT).expect("a message")
    }

    /// Asks and waits for that answer. Other messages are dropped.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        loop {
            let message = self.message();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Calls a tool.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> ToolAnswer {
        let answer = self.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        // A client gives its model the text, or what is structured: the longer one counts.
        let structured = result["structuredContent"].to_string();
        (self.read, self.calls) = (self.read + text.len().max(structured.len()), self.calls + 1);
        let is_error = result["isError"] == true;
        ToolAnswer { text, structured: result["structuredContent"].clone(), is_error }
    }

    /// The answer of a call that must succeed.
    #[track_caller]
    pub fn get(&mut self, tool: &str, arguments: Value) -> ToolAnswer {
        let answer = self.call(tool, arguments.clone());
        assert!(!answer.is_error, "{tool} {arguments}: {}", answer.text);
        answer
    }

    /// The error of a call that must fail.
    #[track_caller]
    pub fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments.clone());
        assert!(answer.is_error, "{tool} {arguments}: {}", answer.text);
        answer.text
    }

    /// Closes the input, and returns the exit code of the server.
    pub fn close(mut self) -> Option<i32> {
        drop(self.stdin.take());
        self.child.wait().ok().and_then(|status| status.code())
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
