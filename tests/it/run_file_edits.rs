//! A `.run` file in which a person has edited one thing: no edit gives a false verdict, and a refusal names the line
//! that was edited.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"import { defineFlow, generator, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const kept = z.object({ n: z.number().default(0), list: z.array(z.string()).default([]) });
const look = handler({ name: "look", inputSchema: any, outputSchema: any, sessionStateSchema: kept, execute: async (text, ctx) => {
  await ctx.session.incState({ n: 2 });
  await ctx.session.pushState("list", text);
  await ctx.user.pushState("said", text);
  await ctx.request.patchState({ seen: true });
  ctx.emit.message("looked at " + text);
  const once = await ctx.runOnce("once", () => 42);
  return { text, once, at: Date.now(), drawn: Math.random(), session: ctx.session.state, user: ctx.user.state };
} });
const nap = handler({ name: "nap", inputSchema: any, outputSchema: any, execute: async (x) => { await new Promise((r) => setTimeout(r, 1)); return x; } });
const left = handler({ name: "left", inputSchema: any, outputSchema: any, execute: (x) => x.text });
const right = handler({ name: "right", inputSchema: any, outputSchema: any, execute: (x) => x.session.n });
const route = router({ name: "route", inputSchema: any, outputSchema: any, routes: [left, right], execute: (x) => (x.session.n > 2 ? right : left) });
const reply = generator({ name: "reply", model: "openai/gpt-5-mini", inputSchema: any, outputSchema: z.string(), prompt: "Be kind.", user: (x) => JSON.stringify(x) });
const ask = handler({ name: "ask", inputSchema: any, outputSchema: any, execute: async (x, ctx) => [x, await ctx.suspend({ reason: "approval", message: "May I?" })] });
export default defineFlow({
  kind: "main",
  session: { stateSchema: kept },
  user: { stateSchema: z.object({ said: z.array(z.string()).default([]) }) },
  actions: {
    say: { inputSchema: z.string(), userMessage: (text) => text, block: sequencer({ name: "say", inputSchema: z.string(), stateSchema: z.object({ k: z.number().default(1) }) }).step(look).step(nap).step(route).step(reply) },
    wait: { inputSchema: z.string(), block: sequencer({ name: "wait", inputSchema: z.string() }).step(look).step(ask) },
  },
});
"#;

/// The fields that may be edited and leave a run the same, by the kind of their line, and why. `*` is any kind.
const SAME: [(&str, &str, &str); 24] = [
    ("*", "at", "when something happened: blocks read the clock by effects"),
    ("*", "event.fingerprint", "the source of then is not held against that of today"),
    ("block_started", "event.parent gone", "the path says it"),
    ("*", "event.versions gone", "what a block sees is found by the commits, too"),
    ("*", "event.versions.N gone", "what a block sees is found by the commits, too"),
    ("block_started", "event.input.of", "another event may have the same value"),
    ("effect_finished", "event.result", "how a pause ended"),
    ("effect_finished", "event.result.N", "the function of a runOnce runs again"),
    ("effect_finished", "event.result.firstTokenMs", "how long a model took"),
    ("effect_started", "event.request", "how long a pause is, and what a runOnce is called"),
    ("request_started", "event.codeHash", "it is verified against the code of the day"),
    ("request_started", "event.mock", "no model is asked"),
    ("request_started", "event.owner", "who ran it"),
    ("request_started", "event.parsesOnce", "schemas without a transform give the same when they parse again"),
    ("request_started", "event.timeZone gone", "that of this machine counts then"),
    ("request_resumed", "event.codeHash", "it is verified against the code of the day"),
    ("request_resumed", "event.owner", "who ran it"),
    ("request_resumed", "event.keepsEnded", "how the log of a resume is to be read"),
    ("request_finished", "event.output.of", "another event may have the same value"),
    ("record", "record.id", "an empty state at version 0 is what is there without a record"),
    ("record", "swap", "records are in no order before the first event"),
    ("record", "remove", "an empty state at version 0 is what is there without a record"),
    ("block_started", "event.name of an attempt that was cut off", "only the last attempt counts"),
    ("state_initialized", "event.state.N", "first states of resumed requests are not compared"),
];

/// A file with one edit.
struct Edited {
    text: String,
    /// The line, counted from 1, and what kind it is.
    line: usize,
    kind: String,
    what: String,
}

/// The places of all values inside one, and the values.
fn places(value: &Value, at: &mut Vec<String>, found: &mut Vec<(Vec<String>, Value)>) {
    let mut inner = |name: String, inside: &Value| {
        at.push(name);
        found.push((at.clone(), inside.clone()));
        places(inside, at, found);
        at.pop();
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, inside)| inner(name.clone(), inside)),
        Value::Array(items) => items.iter().enumerate().for_each(|(nth, inside)| inner(nth.to_string(), inside)),
        _ => {}
    }
}

/// The same line with another value in a place; without it, if there is none.
fn edited(line: &Value, place: &[String], new: Option<Value>) -> String {
    let mut line = line.clone();
    let (last, around) = place.split_last().expect("it is inside the line");
    let around = around.iter().fold(&mut line, |value, step| match value {
        Value::Array(items) => &mut items[step.parse::<usize>().expect("a number")],
        fields => &mut fields[step.as_str()],
    });
    match (around, new) {
        (Value::Array(items), Some(new)) => items[last.parse::<usize>().expect("a number")] = new,
        (Value::Array(items), None) => drop(items.remove(last.parse().expect("a number"))),
        (fields, Some(new)) => fields[last.as_str()] = new,
        (fields, None) => drop(fields.as_object_mut().expect("an object").remove(last)),
    }
    line.to_string()
}

/// Each line of a file edited in every way: taken out, twice, before the one above it, and each field of it.
fn edits(text: &str) -> Vec<Edited> {
    let lines: Vec<&str> = text.lines().collect();
    let mut all = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let parsed: Value = serde_json::from_str(line).expect("no value of the file is long");
        let kind = match &parsed["event"]["kind"] {
            Value::String(kind) => kind.as_str(),
            _ if parsed["record"].is_object() => "record",
            _ => "first line",
        };
        let mut add = |what: String, instead: &[&str]| {
            let text = [&lines[..at], instead, &lines[at + 1..]].concat().join("\n");
            all.push(Edited { text, line: at + 1, kind: kind.to_owned(), what });
        };
        add("remove".to_owned(), &[]);
        add("duplicate".to_owned(), &[line, line]);
        let mut found = Vec::new();
        places(&parsed, &mut Vec::new(), &mut found);
        for (place, value) in found {
            let name = place.join(".");
            let new = match &value {
                Value::Bool(is) => Some(json!(!is)),
                Value::Number(number) => Some(json!(number.as_f64().unwrap_or_default() + 1.0)),
                Value::String(text) => Some(json!(format!("{text}x"))),
                _ => None,
            };
            // A number stays a whole one.
            let new = new.map(|new| if value.is_u64() { json!(value.as_u64().unwrap_or_default() + 1) } else { new });
            if let Some(new) = new {
                add(name.clone(), &[&edited(&parsed, &place, Some(new))]);
            }
            // Each file takes a database of its own: what is inside a value of the flow is only changed.
            let is_inside = |step: &String| ["value", "payload", "request", "state"].contains(&step.as_str());
            if !place.split_last().is_some_and(|(_, around)| around.iter().any(is_inside)) {
                add(format!("{name} gone"), &[&edited(&parsed, &place, None)]);
            }
        }
        if at + 1 < lines.len() {
            let text = [&lines[..at], &[lines[at + 1], line], &lines[at + 2..]].concat().join("\n");
            all.push(Edited { text, line: at + 1, kind: kind.to_owned(), what: "swap".to_owned() });
        }
    }
    all
}

impl Edited {
    /// Whether the run may be the same in spite of the edit.
    fn may_be_same(&self) -> bool {
        // A place in a list is any.
        let (place, gone) = self.what.strip_suffix(" gone").map_or((self.what.as_str(), ""), |place| (place, " gone"));
        let steps: Vec<&str> =
            place.split('.').map(|step| if step.parse::<u32>().is_ok() { "N" } else { step }).collect();
        let general = steps.join(".") + gone;
        let is_it = |(kind, what, _): &(&str, &str, &str)| {
            let is_kind = *kind == "*" || *kind == self.kind;
            let is_what = general == *what || general == format!("{what} gone");
            is_kind && is_what
        };
        SAME.iter().any(is_it) || self.is_of_cut_off_attempt() || self.is_first_state_of_resumed()
    }

    fn is_of_cut_off_attempt(&self) -> bool {
        self.text.contains("\"request_resumed\"") && self.kind == "block_started" && self.what == "event.name"
    }

    fn is_first_state_of_resumed(&self) -> bool {
        self.text.contains("\"request_resumed\"")
            && self.kind == "state_initialized"
            && self.what.starts_with("event.state")
    }

    /// Whether the reason of a refusal names the line that was edited; of one that is gone, twice or moved there is no
    /// such line, so the next one may be named.
    fn is_named(&self, why: &str) -> bool {
        let names = |line: usize| {
            why.match_indices(&format!("line {line}"))
                .any(|(at, found)| !why[at + found.len()..].starts_with(|next: char| next.is_ascii_digit()))
        };
        match self.what.as_str() {
            "remove" => why.contains("line "),
            "duplicate" | "swap" => names(self.line) || names(self.line + 1),
            _ => names(self.line),
        }
    }
}

/// Verifies all edits of a file in one call, and names those with a false verdict.
fn false_verdicts(place: &Place, request: &str) -> Vec<String> {
    place.get(&format!("keep {request} --as {request}.run"));
    let text = std::fs::read_to_string(place.dir().join(format!("{request}.run"))).expect("it is kept");
    let edits = edits(&text);
    let mut args: Vec<String> = ["verify", "--json"].map(str::to_owned).to_vec();
    for (nth, edit) in edits.iter().enumerate() {
        let file = format!("edited/{request}-{nth}.run");
        place.write(&file, &edit.text);
        args.push(file);
    }
    let answer = place.run(&args);
    assert_eq!(answer.code, Some(1), "{}", answer.stderr);
    let results = answer.json()["results"].as_array().cloned().unwrap_or_default();
    assert_eq!(results.len(), edits.len());
    let told = |edit: &Edited, row: &Value| format!("line {} ({}), {}: {row}", edit.line, edit.kind, edit.what);
    let is_false = |(edit, row): &(&Edited, &Value)| match row["verdict"].as_str().unwrap_or_default() {
        "same" => !edit.may_be_same(),
        "differs" | "asks_new" => false,
        "not_comparable" => {
            let why = row["why"].as_str().unwrap_or_default();
            !edit.is_named(why) || why.contains("database")
        }
        _ => true,
    };
    edits.iter().zip(&results).filter(is_false).map(|(edit, row)| told(edit, row)).collect()
}

fn place() -> Place {
    let place = Place::new().file("flows/main.ts", FLOW);
    let mock = r#"{ "generators": { "reply": [{ "text": "Hello" }, { "text": "Good bye" }] } }"#;
    place.write("mock.json", mock);
    for request in ["first", "second"] {
        let line = "run main say --user ada --session s --mock=mock.json --input \"hi\" --request";
        assert_eq!(place.ask(&format!("{line} {request}")).code, Some(0));
    }
    let waits = place.ask("run main wait --user ada --session t --request waits --input \"hi\"");
    assert_eq!(waits.code, Some(4), "{waits}");
    let answered = place.ask("resume waits --approve");
    assert_eq!(answered.code, Some(0), "{answered}");
    place
}

/// A request that saw the records of another one.
#[test]
fn no_edit_of_a_run_is_taken_for_something_else() {
    let wrong = false_verdicts(&place(), "second");
    assert!(wrong.is_empty(), "{} false verdicts:\n{}", wrong.len(), wrong.join("\n"));
}

/// A request that waited for an answer and was resumed.
#[test]
fn no_edit_of_a_resumed_run_is_taken_for_something_else() {
    let wrong = false_verdicts(&place(), "waits");
    assert!(wrong.is_empty(), "{} false verdicts:\n{}", wrong.len(), wrong.join("\n"));
}

/// The end of a request is compared, and accepting it takes the end of the action's block for it.
#[test]
fn another_output_of_a_request_differs_and_is_accepted_as_its_block_ends() {
    let place = place();
    place.get("keep second --as r.run");
    let text = std::fs::read_to_string(place.dir().join("r.run")).expect("it is kept");
    let end = text.lines().find(|line| line.contains("\"request_finished\"")).expect("it ended");
    for (from, to) in [("\"Hello\"", "\"Goodbye\""), ("{\"value\":\"Hello\"}", "\"undefined\"")] {
        let edited = end.replacen(from, to, 1);
        assert_ne!(edited, end, "{end}");
        place.write("r.run", text.replacen(end, &edited, 1));
        let verified = place.ask("verify r.run");
        let row = &verified.json()["results"][0];
        assert_eq!(
            (&row["verdict"], &row["path"], &row["field"]),
            (&json!("differs"), &json!("root"), &json!("output"))
        );
        assert_eq!(verified.code, Some(1), "{verified}");
        assert_eq!(place.ask("verify r.run --accept").code, Some(0));
        assert_eq!(place.get("verify r.run")["same"], 1);
    }
    // A status is in the first line, too.
    let other = text.replace("\"status\":\"completed\"}", "\"status\":\"incomplete\"}");
    assert_ne!(other, text);
    place.write("r.run", other);
    assert_eq!(place.ask("verify r.run").json()["results"][0]["verdict"], "differs");
}

/// What a process left that was killed while it accepted is removed by the next one that accepts.
#[test]
fn what_a_killed_process_left_beside_a_file_is_removed() {
    let place = place();
    place.get("keep second --as tests/r.run");
    place.write("tests/r.run.4711.part", "half of it");
    place.write("tests/notes.part", "of somebody else");
    assert_eq!(place.get("verify tests/r.run --accept")["same"], 1);
    assert!(!place.dir().join("tests/r.run.4711.part").exists());
    assert!(place.dir().join("tests/notes.part").exists());
}
