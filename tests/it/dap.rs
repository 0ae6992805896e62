//! `flowglass dap`, through the real program, as an editor speaks to it.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};
use tests::bench::{Place, program, repository};

use crate::debug::{line_of, recorded};

/// How long an answer may take.
const MESSAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// An editor that debugs.
struct Editor {
    child: Child,
    stdin: Option<ChildStdin>,
    messages: Receiver<Value>,
    events: VecDeque<Value>,
    seq: u64,
}

impl Editor {
    fn start(place: &Place) -> Editor {
        let mut child = Command::new(program())
            .arg("dap")
            .current_dir(place.dir())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut out = BufReader::new(child.stdout.take().expect("it is piped"));
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            while let Some(message) = read(&mut out) {
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        Editor { child, stdin, messages, events: VecDeque::new(), seq: 0 }
    }

    /// An editor that has launched, and not set its breakpoints yet.
    #[track_caller]
    fn launched(place: &Place, arguments: Value) -> Editor {
        let mut editor = Editor::start(place);
        editor.get("initialize", json!({ "adapterID": "flowglass" }));
        editor.get("launch", arguments);
        assert_eq!(editor.event()["event"], "initialized");
        editor
    }

    fn write(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("it is open");
        stdin.write_all(bytes).and_then(|()| stdin.flush()).expect("the program reads");
    }

    #[track_caller]
    fn next_message(&mut self) -> Value {
        self.messages.recv_timeout(MESSAGE_TIMEOUT).expect("a message")
    }

    /// The whole answer to a request. Events before it are kept.
    #[track_caller]
    fn ask(&mut self, command: &str, arguments: Value) -> Value {
        self.seq += 1;
        let text =
            json!({ "seq": self.seq, "type": "request", "command": command, "arguments": arguments }).to_string();
        self.write(format!("Content-Length: {}\r\n\r\n{text}", text.len()).as_bytes());
        loop {
            let message = self.next_message();
            if message["type"] == "response" {
                assert_eq!((&message["request_seq"], &message["command"]), (&self.seq.into(), &command.into()));
                return message;
            }
            self.events.push_back(message);
        }
    }

    /// The body of an answer that must succeed.
    #[track_caller]
    fn get(&mut self, command: &str, arguments: Value) -> Value {
        let answer = self.ask(command, arguments);
        assert_eq!(answer["success"], true, "{answer}");
        answer["body"].clone()
    }

    /// The message of an answer that must fail.
    #[track_caller]
    fn refused(&mut self, command: &str, arguments: Value) -> String {
        let answer = self.ask(command, arguments);
        assert_eq!(answer["success"], false, "{answer}");
        answer["message"].as_str().unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn event(&mut self) -> Value {
        self.events.pop_front().unwrap_or_else(|| self.next_message())
    }

    /// The body of `stopped`, and what was said before it.
    #[track_caller]
    fn stopped(&mut self) -> (Value, Vec<String>) {
        let mut said = Vec::new();
        loop {
            let event = self.event();
            match event["event"].as_str() {
                Some("stopped") => return (event["body"].clone(), said),
                Some("output") => said.push(event["body"]["output"].as_str().unwrap_or_default().trim().to_owned()),
                _ => panic!("{event}"),
            }
        }
    }

    /// Moves, and returns why and where it stopped.
    #[track_caller]
    fn moves(&mut self, command: &str) -> (String, u64) {
        self.get(command, json!({ "threadId": 1 }));
        let (stopped, _) = self.stopped();
        let reason = stopped["reason"].as_str().unwrap_or_default().to_owned();
        let frames = self.get("stackTrace", json!({ "threadId": stopped["threadId"] }));
        (reason, frames["stackFrames"][0]["line"].as_u64().unwrap_or(0))
    }

    #[track_caller]
    fn variables(&mut self, reference: &Value) -> Vec<Value> {
        let body = self.get("variables", json!({ "variablesReference": reference }));
        body["variables"].as_array().expect("a list").clone()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // A closed input ends it.
        let _ = self.child.wait();
    }
}

fn read(out: &mut impl BufRead) -> Option<Value> {
    let mut length = 0;
    loop {
        let mut line = String::new();
        if out.read_line(&mut line).ok()? == 0 {
            return None;
        }
        match line.trim().split_once(": ") {
            Some((_, value)) => length = value.parse().expect("a length"),
            None => break,
        }
    }
    let mut bytes = vec![0; length];
    out.read_exact(&mut bytes).ok()?;
    Some(serde_json::from_slice(&bytes).expect("JSON"))
}

fn main_ts(place: &Place) -> Value {
    let dir = std::fs::canonicalize(place.dir()).expect("it is there");
    json!({ "path": dir.join("flows/main.ts").display().to_string() })
}

#[track_caller]
fn named<'v>(variables: &'v [Value], name: &str) -> &'v Value {
    variables.iter().find(|variable| variable["name"] == name).unwrap_or_else(|| panic!("{name}: {variables:#?}"))
}

#[test]
fn says_what_it_can_do() {
    let place = Place::new();
    let mut editor = Editor::start(&place);
    let can = editor.get("initialize", json!({ "adapterID": "flowglass", "clientID": "test" }));
    for capability in [
        "supportsStepBack",
        "supportsConditionalBreakpoints",
        "supportsHitConditionalBreakpoints",
        "supportsLogPoints",
        "supportsDataBreakpoints",
        "supportsEvaluateForHovers",
        "supportsGotoTargetsRequest",
        "supportsConfigurationDoneRequest",
        "supportsTerminateRequest",
    ] {
        assert_eq!(can[capability], true, "{capability}");
    }
    assert_eq!(can["exceptionBreakpointFilters"][0]["filter"], "failed");
    let refused = editor.refused("launch", json!({ "dir": place.dir() }));
    assert!(refused.contains("no recorded request failed"), "{refused}");
}

#[test]
fn the_last_failed_run_opens_at_the_statement_that_threw() {
    let place = recorded();
    let mut editor = Editor::launched(&place, json!({ "request": "launch", "dir": place.dir() }));
    editor.get("configurationDone", json!({}));
    let (stopped, _) = editor.stopped();
    assert_eq!(stopped["reason"], "exception");
    assert_eq!(stopped["text"], "root/step:total failed: Error: too much: 206");
    let threads = editor.get("threads", json!({}));
    assert_eq!(threads["threads"], json!([{ "id": stopped["threadId"], "name": "root/step:total" }]));
    let trace = editor.get("stackTrace", json!({ "threadId": stopped["threadId"] }));
    let frames = trace["stackFrames"].as_array().expect("frames");
    assert_eq!(frames[0]["line"], line_of(&place, "throw new Error"));
    assert_eq!(frames[0]["source"]["path"], main_ts(&place)["path"]);
    let labels = frames.iter().filter(|frame| frame["presentationHint"] == "label");
    assert_eq!(labels.map(|frame| &frame["name"]).collect::<Vec<_>>(), ["root/step:total", "root"]);
    let info = editor.get("exceptionInfo", json!({ "threadId": 1 }));
    assert_eq!((&info["exceptionId"], &info["description"]), (&"Error".into(), &"Error: too much: 206".into()));

    let scopes = editor.get("scopes", json!({ "frameId": frames[0]["id"] }))["scopes"].clone();
    let names: Vec<&Value> = scopes.as_array().into_iter().flatten().map(|scope| &scope["name"]).collect();
    assert_eq!(names, ["Locals", "Input", "State"]);
    let locals = editor.variables(&scopes[0]["variablesReference"]);
    assert_eq!((&named(&locals, "sum")["value"], &named(&locals, "sum")["type"]), (&"206".into(), &"number".into()));
    let mut inside = editor.variables(&named(&locals, "plan")["variablesReference"]);
    for name in ["deep", "er", "than", "this"] {
        let next = named(&inside, name)["variablesReference"].clone();
        inside = editor.variables(&next);
    }
    assert_eq!((&inside[2]["value"], &inside[2]["evaluateName"]), (&"3".into(), &"plan.deep.er.than.this[2]".into()));
    let input = editor.variables(&scopes[1]["variablesReference"]);
    assert!(named(&input, "items")["value"].as_str().is_some_and(|text| text.contains("\"price\":50")), "{input:#?}");
    let state = editor.variables(&scopes[2]["variablesReference"]);
    let session = named(&state, "session")["variablesReference"].clone();
    let plan = editor.variables(&session);
    assert_eq!(named(&plan, "plan")["value"], "0", "the write comes into force when the block ends");
    assert!(named(&state, "(not committed yet)")["value"].as_str().is_some_and(|text| text.contains("writes session")));
    let info = editor.get("dataBreakpointInfo", json!({ "variablesReference": session, "name": "plan" }));
    assert_eq!(info["dataId"], "session.plan");
}

#[test]
fn expressions_have_values_or_say_why_not() {
    let place = recorded();
    let mut editor = Editor::launched(&place, json!({ "dir": place.dir(), "requestId": "bad" }));
    editor.get("configurationDone", json!({}));
    let thread = editor.stopped().0["threadId"].clone();
    let trace = editor.get("stackTrace", json!({ "threadId": thread }));
    let frame = &trace["stackFrames"][0]["id"];
    let mut value = |expression: &str, context: &str| {
        editor.get("evaluate", json!({ "expression": expression, "frameId": frame, "context": context }))
    };
    assert_eq!(value("sum - 6", "watch")["result"], "200");
    assert_eq!(value("plan", "hover")["type"], "object");
    let items = value("input.items", "repl")["variablesReference"].clone();
    assert_eq!(named(&editor.variables(&items), "1")["evaluateName"], "input.items[1]");
    let mut refused = |expression: &str| {
        editor.refused("evaluate", json!({ "expression": expression, "frameId": frame, "context": "repl" }))
    };
    assert_eq!(refused("nope.x"), "ReferenceError: nope is not defined");
    assert!(refused("sum.a.b").starts_with("TypeError: "));
    assert!(refused("sum +").contains("column"));
    assert!(refused("while (true) {}").contains("has a syntax error"));
    assert!(refused("(() => { for (;;); })()").starts_with("LimitError"));
    let label = &trace["stackFrames"][1]["id"];
    let outer = editor.refused("evaluate", json!({ "expression": "sum", "frameId": label }));
    assert!(outer.contains("newest function of root/step:total"), "{outer}");
    assert_eq!(editor.get("evaluate", json!({ "expression": "sum" }))["result"], "206");
}

#[test]
fn breakpoints_stop_forward_and_back() {
    let place = recorded();
    let (call, inside, result) =
        (line_of(&place, "sum += priceOf"), line_of(&place, "const line"), line_of(&place, "return line"));
    let arguments = json!({ "dir": place.dir(), "requestId": "good", "stopOnEntry": true });
    let mut editor = Editor::launched(&place, arguments);
    let wanted = json!([
        { "line": call, "condition": "sum > 3" },
        { "line": inside, "hitCondition": "2" },
        { "line": result, "logMessage": "{count} of {price} make {line}" },
        { "line": 1 },
        { "line": call, "condition": "sum >" },
        { "line": call, "hitCondition": "often" },
    ]);
    let set = editor.get("setBreakpoints", json!({ "source": main_ts(&place), "breakpoints": wanted }));
    let set = set["breakpoints"].as_array().expect("a list");
    let verified: Vec<bool> = set.iter().map(|one| one["verified"] == true).collect();
    assert_eq!(verified, [true, true, true, false, false, false], "{set:#?}");
    assert!(set[3]["message"].as_str().is_some_and(|text| text.contains(":1 holds no statement")), "{set:#?}");
    assert!(set[4]["message"].as_str().is_some_and(|text| text.contains("column")), "{set:#?}");
    assert!(set[5]["message"].as_str().is_some_and(|text| text.contains("a hit count is a number")), "{set:#?}");
    let other = json!({ "source": { "path": "/elsewhere/x.ts" }, "breakpoints": [{ "line": 3 }] });
    let other = editor.get("setBreakpoints", other);
    assert_eq!(other["breakpoints"][0]["verified"], false);

    editor.get("configurationDone", json!({}));
    assert_eq!(editor.stopped().0["reason"], "entry");
    editor.get("continue", json!({ "threadId": 1 }));
    let (stopped, said) = editor.stopped();
    assert_eq!((&stopped["reason"], &stopped["hitBreakpointIds"]), (&"breakpoint".into(), &json!([set[0]["id"]])));
    assert_eq!(said, ["2 of 3 make 6"]);
    let sum = editor.get("evaluate", json!({ "expression": "sum", "context": "watch" }));
    assert_eq!(sum["result"], "6");
    assert_eq!(editor.moves("continue"), ("breakpoint".to_owned(), inside));
    editor.get("continue", json!({ "threadId": 1 }));
    let (stopped, said) = editor.stopped();
    assert_eq!(stopped["description"], "No breakpoint after this: the request's last statement");
    assert_eq!(said, ["4 of 5 make 20"]);
    assert_eq!(editor.moves("reverseContinue"), ("breakpoint".to_owned(), inside));
    assert_eq!(editor.moves("reverseContinue"), ("breakpoint".to_owned(), call));
    editor.get("reverseContinue", json!({ "threadId": 1 }));
    let (stopped, said) = editor.stopped();
    assert_eq!(stopped["description"], "No breakpoint before this: the request's first statement");
    assert_eq!(said, ["2 of 3 make 6"]);
    editor.get("setBreakpoints", json!({ "source": main_ts(&place), "breakpoints": [] }));
    assert_eq!(editor.moves("continue").0, "pause");
}

#[test]
fn steps_lead_there_and_back() {
    let place = recorded();
    let at = |text: &str| line_of(&place, text);
    let arguments = json!({ "dir": place.dir(), "requestId": "good", "stopOnEntry": true });
    let mut editor = Editor::launched(&place, arguments);
    editor.get("configurationDone", json!({}));
    editor.stopped();
    let (sum, body, call, inside) = (at("let sum"), at("for (const"), at("sum += priceOf"), at("const line"));
    for (command, line) in [
        ("next", body),
        ("next", body),
        ("next", call),
        ("stepIn", inside),
        ("stepOut", body),
        ("stepBack", call),
        ("stepBack", body),
        ("stepBack", body),
        ("stepBack", sum),
        ("stepBack", sum),
    ] {
        assert_eq!(editor.moves(command), ("step".to_owned(), line), "{command}");
    }
    let target = json!({ "source": main_ts(&place), "line": at("return text") });
    let targets = editor.get("gotoTargets", target)["targets"].clone();
    editor.get("goto", json!({ "threadId": 1, "targetId": targets[0]["id"] }));
    let (stopped, _) = editor.stopped();
    assert_eq!(stopped["reason"], "goto");
    let trace = editor.get("stackTrace", json!({ "threadId": stopped["threadId"], "levels": 1 }));
    assert_eq!(trace["stackFrames"][0]["line"], at("return text"));
    assert_eq!((trace["stackFrames"].as_array().map(Vec::len), &trace["totalFrames"]), (Some(1), &3.into()));
    assert_eq!(
        editor.get("gotoTargets", json!({ "source": main_ts(&place), "line": at("throw new") }))["targets"],
        json!([])
    );
}

#[test]
fn writes_and_failures_stop_it() {
    let place = recorded();
    let arguments = json!({ "dir": place.dir(), "requestId": "bad", "stopOnEntry": true });
    let mut editor = Editor::launched(&place, arguments);
    let set = json!({ "breakpoints": [{ "dataId": "session.plan" }, { "dataId": "nowhere.x" }] });
    let set = editor.get("setDataBreakpoints", set);
    assert_eq!((&set["breakpoints"][0]["verified"], &set["breakpoints"][1]["verified"]), (&true.into(), &false.into()));
    let filters = editor.get("setExceptionBreakpoints", json!({ "filters": ["failed"] }));
    assert_eq!(filters["breakpoints"][0]["verified"], true);
    editor.get("configurationDone", json!({}));
    editor.stopped();
    editor.get("continue", json!({ "threadId": 1 }));
    let (stopped, _) = editor.stopped();
    assert_eq!((&stopped["reason"], &stopped["text"]), (&"data breakpoint".into(), &"session.plan: 0 → 206".into()));
    let written = line_of(&place, "patchState");
    assert_eq!(editor.moves("continue"), ("exception".to_owned(), line_of(&place, "throw new")));
    assert_eq!(editor.moves("reverseContinue"), ("data breakpoint".to_owned(), written));
    editor.get("setExceptionBreakpoints", json!({ "filters": [] }));
    assert_eq!(editor.moves("continue").0, "pause");
    let nothing = editor.get("dataBreakpointInfo", json!({ "name": "sum" }));
    assert_eq!(nothing["dataId"], Value::Null);
}

#[test]
fn blocks_that_ran_side_by_side_are_threads() {
    let place = recorded();
    let mut editor = Editor::launched(&place, json!({ "dir": place.dir(), "requestId": "both" }));
    let second = line_of(&place, "const second");
    let wanted = json!({ "source": main_ts(&place), "breakpoints": [{ "line": second }] });
    editor.get("setBreakpoints", wanted);
    editor.get("configurationDone", json!({}));
    let (stopped, _) = editor.stopped();
    assert_eq!(stopped["reason"], "breakpoint", "it runs to the first breakpoint");
    let threads = editor.get("threads", json!({}))["threads"].clone();
    let names: Vec<&Value> = threads.as_array().into_iter().flatten().map(|thread| &thread["name"]).collect();
    assert_eq!(names, ["root/parallel/left", "root/parallel/right"]);
    assert_eq!(threads[0]["id"], stopped["threadId"]);
    let trace = editor.get("stackTrace", json!({ "threadId": threads[1]["id"] }));
    let frames = trace["stackFrames"].as_array().expect("frames");
    let scopes = editor.get("scopes", json!({ "frameId": frames[0]["id"] }))["scopes"].clone();
    let locals = editor.variables(&scopes[0]["variablesReference"]);
    assert_eq!(named(&locals, "ms")["value"], "7", "it waits in pause");
    editor.get("next", json!({ "threadId": threads[1]["id"] }));
    let (stopped, _) = editor.stopped();
    assert_eq!(stopped["threadId"], threads[1]["id"], "the other block goes on");
}

#[test]
fn a_file_that_changed_is_shown_as_it_ran() {
    let place = recorded();
    let before = std::fs::read_to_string(place.dir().join("flows/main.ts")).expect("it is there");
    place.write("flows/main.ts", format!("// new\n{before}"));
    let mut editor = Editor::launched(&place, json!({ "dir": place.dir(), "requestId": "bad" }));
    let wanted = json!({ "source": main_ts(&place), "breakpoints": [{ "line": line_of(&place, "let sum") - 1 }] });
    let set = editor.get("setBreakpoints", wanted)["breakpoints"][0].clone();
    assert!(set["message"].as_str().is_some_and(|text| text.contains("has changed since")), "{set}");
    editor.get("configurationDone", json!({}));
    let thread = editor.stopped().0["threadId"].clone();
    let frame = editor.get("stackTrace", json!({ "threadId": thread }))["stackFrames"][0].clone();
    assert_eq!(frame["line"], line_of(&place, "throw new") - 1);
    let reference = &frame["source"]["sourceReference"];
    assert!(reference.as_i64().is_some_and(|reference| reference > 0), "{frame}");
    let text = editor.get("source", json!({ "sourceReference": reference }))["content"].clone();
    assert_eq!(text, before);
    let by_reference =
        json!({ "source": { "sourceReference": reference }, "breakpoints": [{ "line": frame["line"] }] });
    assert_eq!(editor.get("setBreakpoints", by_reference)["breakpoints"][0]["verified"], true);
}

#[test]
fn editors_that_count_from_zero_are_understood() {
    let place = recorded();
    let mut editor = Editor::start(&place);
    editor.get("initialize", json!({ "adapterID": "x", "linesStartAt1": false, "columnsStartAt1": false }));
    editor.get("attach", json!({ "request": "bad", "dir": place.dir() }));
    let line = line_of(&place, "let sum") - 1;
    let wanted = json!({ "source": main_ts(&place), "breakpoints": [{ "line": line }] });
    assert_eq!(editor.get("setBreakpoints", wanted)["breakpoints"][0]["line"], line);
}

#[test]
fn whatever_is_written_to_it_is_answered_and_a_closed_input_ends_it() {
    let place = recorded();
    let mut editor = Editor::start(&place);
    assert!(editor.refused("threads", json!({})).contains("launch or attach first"));
    assert!(editor.refused("launch", json!({ "dir": "/nowhere/at/all" })).contains("/nowhere/at/all"));
    assert!(editor.refused("launch", json!({ "dir": place.dir(), "requestId": "x" })).contains("unknown request"));
    assert!(
        editor.refused("launch", json!({ "dir": place.dir(), "requestId": "good", "at": "#" })).contains("no block")
    );
    assert!(editor.refused("launch", json!({ "dir": 7 })).contains("the arguments of launch are wrong"));
    editor.get("launch", json!({ "dir": place.dir(), "requestId": "good" }));
    assert!(editor.refused("brew", json!({})).contains("does not know the request \"brew\""));
    for command in [
        "setBreakpoints",
        "setDataBreakpoints",
        "dataBreakpointInfo",
        "setExceptionBreakpoints",
        "stackTrace",
        "scopes",
        "variables",
        "evaluate",
        "next",
        "stepIn",
        "stepOut",
        "stepBack",
        "gotoTargets",
        "goto",
        "source",
    ] {
        assert!(!editor.refused(command, json!("wrong")).is_empty(), "{command}");
    }
    let most = i64::MAX;
    for (command, arguments) in [
        ("scopes", json!({ "frameId": i64::MIN })),
        ("scopes", json!({ "frameId": 0 })),
        ("variables", json!({ "variablesReference": most })),
        ("stackTrace", json!({ "threadId": i64::MIN })),
        ("source", json!({ "sourceReference": most })),
        ("goto", json!({ "threadId": 1, "targetId": 9 })),
        ("evaluate", json!({ "expression": "", "frameId": most })),
    ] {
        assert!(!editor.refused(command, arguments).is_empty(), "{command}");
    }
    let far = json!({ "source": main_ts(&place), "breakpoints": [{ "line": most, "column": -5 }, { "line": -1 }] });
    assert_eq!(editor.get("setBreakpoints", far)["breakpoints"][0]["verified"], false);
    for garbage in [
        "\r\n\r\nhello\r\n",
        "Content-Length: many\r\n\r\n",
        "Content-Length: 2\r\n\r\n{{",
        "Content-Length: 4\r\n\r\nnull",
        "Content-Length: 18446744073709551615\r\n\r\n",
        "Content-Length: 18\r\n\r\n{\"type\":\"request\"}",
    ] {
        editor.write(garbage.as_bytes());
        editor.get("threads", json!({}));
    }
    editor.write(&[0xff, 0x00, b'\n']);
    let deep = "[".repeat(200_000);
    editor.write(format!("Content-Length: {}\r\n\r\n{deep}", deep.len()).as_bytes());
    editor.get("threads", json!({}));
    editor.write(b"Content-Length: 500\r\n\r\n{\"half\":");
    drop(editor.stdin.take());
    assert_eq!(editor.child.wait().expect("it ends").code(), Some(0));

    let mut editor = Editor::launched(&place, json!({ "dir": place.dir(), "requestId": "good" }));
    editor.get("terminate", json!({}));
    assert_eq!(editor.event()["event"], "terminated");
    editor.get("disconnect", json!({}));
    assert_eq!(editor.child.wait().expect("it ends").code(), Some(0));
}

/// Plays the editor: loads the extension, starts what it registers, and prints what came of it.
const PLAYED: &str = r"
const told = { errors: [], started: [] };
const registered = {};
const folder = { uri: { fsPath: '/flows' } };
const vscode = {
  window: { showErrorMessage: (text) => told.errors.push(text) },
  workspace: {
    workspaceFolders: [folder],
    getWorkspaceFolder: () => folder,
    getConfiguration: () => ({ get: () => '/opt/flowglass' }),
  },
  commands: { registerCommand: (name, run) => (registered[name] = run) },
  debug: {
    startDebugging: (where, configuration) => told.started.push(configuration),
    registerDebugConfigurationProvider: (type, provider) => (registered.provider ??= provider),
    registerDebugAdapterDescriptorFactory: (type, factory) => (registered.factory = factory),
  },
  DebugAdapterExecutable: class { constructor(program, args, options) { Object.assign(this, { program, args, options }); } },
  DebugConfigurationProviderTriggerKind: { Dynamic: 2 },
};
const module_ = require('node:module');
const load = module_._load;
module_._load = (name, ...rest) => (name === 'vscode' ? vscode : load(name, ...rest));
require(process.argv[1]).activate({ subscriptions: [] });
registered['flowglass.debugLastFailedRun']().then(() => {
  told.program = registered.factory.createDebugAdapterDescriptor({ workspaceFolder: folder });
  told.empty = registered.provider.resolveDebugConfiguration(folder, {});
  told.own = registered.provider.resolveDebugConfiguration(undefined, { type: 'flowglass', requestId: 'r' });
  console.log(JSON.stringify(told));
});
";

#[test]
fn the_extension_of_vs_code_starts_it_and_is_packed() {
    let folder = repository().join("src-tauri/vscode");
    let node = |args: &[&str]| {
        let output = Command::new("node").args(args).output().expect("node runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let extension = folder.join("extension.js").display().to_string();
    let told: Value = serde_json::from_slice(&node(&["-e", PLAYED, &extension])).expect("JSON");
    assert_eq!((&told["program"]["program"], &told["program"]["args"]), (&"/opt/flowglass".into(), &json!(["dap"])));
    for configuration in [&told["started"][0], &told["empty"]] {
        let expected = json!({
            "type": "flowglass", "request": "launch", "name": "Last failed run", "dir": "/flows",
            "requestId": "last-failed",
        });
        assert_eq!(configuration, &expected);
    }
    assert_eq!((&told["own"]["dir"], &told["own"]["requestId"]), (&"/flows".into(), &"r".into()));

    let about = std::fs::read_to_string(folder.join("package.json")).expect("it is there");
    let about: Value = serde_json::from_str(&about).expect("JSON");
    assert_eq!(about["version"], env!("CARGO_PKG_VERSION"));
    let place = Place::new();
    let package = place.dir().join("made/flowglass.vsix");
    node(&[&folder.join("pack.mjs").display().to_string(), &package.display().to_string()]);
    let bytes = std::fs::read(&package).expect("it is packed");
    assert!(bytes.starts_with(b"PK\x03\x04"));
    for name in ["extension.vsixmanifest", "extension/package.json", "extension/extension.js"] {
        assert!(bytes.windows(name.len()).any(|window| window == name.as_bytes()), "{name}");
    }
    assert!(!bytes.windows(8).any(|window| window == b"pack.mjs"));
}
