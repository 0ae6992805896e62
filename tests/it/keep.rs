//! Recorded runs as text files, which a repository can hold and `verify` can run on any machine.

use serde_json::{Value, json};
use tests::bench::Place;

const SECRET: &str = "sk-very-secret-1234567890";
const CHAT: &str = r#"import { defineFlow, generator, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const look = handler({ name: "look", inputSchema: z.string(), outputSchema: z.any(), execute: async (text, ctx) => {
  await ctx.session.pushState("said", text);
  await ctx.user.incState({ turns: 1 });
  return { text, said: ctx.session.state.said, turns: ctx.user.state.turns, at: Date.now(), drawn: Math.random() };
} });
const fails = handler({ name: "fails", inputSchema: z.any(), execute: () => { throw new Error("no"); } });
const reply = generator({ name: "reply", model: "openai/gpt-5-mini", inputSchema: z.any(), outputSchema: z.string(), prompt: "Be kind.\nBe short.\n".repeat(20), user: (seen) => JSON.stringify(seen), history: (_, ctx) => ctx.session.items.llm() });
export default defineFlow({
  kind: "chat",
  session: { stateSchema: z.object({ said: z.array(z.string()).default([]) }) },
  user: { stateSchema: z.object({ turns: z.number().default(0) }) },
  actions: {
    say: { inputSchema: z.string(), userMessage: (text) => text, block: sequencer({ name: "say", inputSchema: z.string() }).step(look).step(reply) },
    fail: { inputSchema: z.string(), block: sequencer({ name: "fail", inputSchema: z.string() }).step(fails) },
  },
});
"#;

fn chat() -> Place {
    let place = Place::new().variable("CHAT_TOKEN", SECRET);
    place.write("flows/chat.ts", CHAT);
    let mock = r#"{ "generators": { "reply": [{ "text": "Hello" }, { "text": "Good bye" }, { "text": "More" }] } }"#;
    place.write("elsewhere.mock.json", mock);
    for (request, text) in [("first", "hi"), ("second", "how are you?"), ("third", "bye")] {
        let mock = format!("--mock={}", place.dir().join("elsewhere.mock.json").display());
        let line = ["run", "chat", "say", "--user", "ada", "--session", "s", "--request", request, &mock];
        let answer = place.run(&[&line[..], &["--input", &json!(text).to_string()]].concat());
        assert_eq!(answer.code, Some(0), "{answer}");
    }
    place
}

fn text_of(place: &Place, file: &str) -> String {
    std::fs::read_to_string(place.dir().join(file)).expect("it is there")
}

/// A folder that has the flow and the file, and nothing else.
fn elsewhere(place: &Place, files: &[&str]) -> Place {
    let other = Place::new();
    other.write("flows/chat.ts", text_of(place, "flows/chat.ts"));
    for file in files {
        other.write(file, text_of(place, file));
    }
    other
}

#[test]
fn the_file_of_a_run_contains_the_conversation_that_the_run_saw() {
    let place = chat();
    for request in ["first", "second", "third"] {
        let kept = place.get(&format!("keep {request} --as {request}.run"));
        assert_eq!(kept["bytes"].as_u64(), Some(text_of(&place, &format!("{request}.run")).len() as u64));
    }
    let other = elsewhere(&place, &["first.run", "second.run", "third.run"]);
    let verified = other.ask("verify third.run first.run second.run");
    assert_eq!((verified.code, &verified.json()["same"]), (Some(0), &json!(3)), "{verified}");
    assert_eq!(verified.json()["results"][0]["file"], "third.run", "as they were named");
    assert_eq!(verified.json()["results"][0]["requestId"], "third");
    // The file has the conversation that the run saw: if its text is edited, the model is asked another question.
    let lines = text_of(&place, "third.run");
    let edited = lines.lines().map(|line| {
        let is_earlier = line.contains("\"request\":\"first\"") && line.contains("item_added");
        if is_earlier { line.replace("\"hi\"", "\"good night\"") } else { line.to_owned() }
    });
    other.write("third.run", edited.collect::<Vec<_>>().join("\n"));
    let row = &other.get_any("verify third.run")["results"][0];
    assert_eq!((&row["verdict"], &row["path"]), (&json!("asks_new"), &json!("root/step:reply")), "{row:#}");
}

trait Asking {
    fn get_any(&self, line: &str) -> Value;
}

impl Asking for Place {
    fn get_any(&self, line: &str) -> Value {
        self.ask(line).json()
    }
}

#[test]
fn a_file_has_no_path_of_this_machine_and_is_the_same_if_kept_again() {
    let place = chat();
    place.get("keep third --as a.run");
    let text = text_of(&place, "a.run");
    let folder = place.dir().display().to_string();
    assert!(!text.contains(&folder), "{text}");
    assert!(text.contains("\"mock\":\"elsewhere.mock.json\""), "{text}");
    // Later requests in the database do not change the file.
    let mock = format!("--mock={}", place.dir().join("elsewhere.mock.json").display());
    place.run(&[
        "run",
        "chat",
        "say",
        "--user",
        "ada",
        "--session",
        "s",
        "--request",
        "fourth",
        &mock,
        "--input",
        "\"x\"",
    ]);
    place.get("keep third --as b.run");
    assert_eq!(text, text_of(&place, "b.run"));
    assert!(text.lines().all(|line| line.len() < 2_000), "lines can be read");
}

#[test]
fn a_secret_that_the_settings_name_later_is_not_in_the_file() {
    let place = chat();
    let input = json!(format!("my key is {SECRET}")).to_string();
    let mock = format!("--mock={}", place.dir().join("elsewhere.mock.json").display());
    place.run(&["run", "chat", "say", "--user", "ada", "--request", "told", &mock, "--input", &input]);
    place.write("flowglass.json", r#"{ "env": { "TOKEN": { "valueEnv": "CHAT_TOKEN" } } }"#);
    let kept = place.ask("keep told --as told.run");
    assert_eq!(kept.code, Some(0), "{kept}");
    let text = text_of(&place, "told.run");
    assert!(!text.contains(SECRET) && text.contains("[redacted]"), "{text}");
}

#[test]
fn a_failed_run_fails_in_its_file_as_it_did() {
    let place = chat();
    place.run(&["run", "chat", "fail", "--user", "ada", "--request", "failed", "--input", "\"x\""]);
    place.get("keep failed --as failed.run");
    assert!(!text_of(&place, "failed.run").contains(&place.dir().display().to_string()));
    let other = elsewhere(&place, &["failed.run"]);
    assert_eq!(other.get("verify failed.run")["same"], 1);
    other.write("flows/chat.ts", CHAT.replace("new Error(\"no\")", "new Error(\"never\")"));
    let verified = other.ask("verify failed.run");
    assert_eq!((verified.code, &verified.json()["results"][0]["field"]), (Some(1), &json!("error")), "{verified}");
}

#[test]
fn a_difference_is_accepted_into_the_file_as_lines() {
    let place = chat();
    place.get("keep first --as first.run");
    let before = text_of(&place, "first.run");
    place.write("flows/chat.ts", CHAT.replace("incState({ turns: 1 })", "incState({ turns: 5 })"));
    let verified = place.ask("verify first.run --accept");
    // The prompt has the number of turns in it.
    assert_eq!((verified.code, &verified.json()["results"][0]["accepted"]), (Some(1), &Value::Null), "{verified}");
    assert_eq!(text_of(&place, "first.run"), before, "what asks for something new is not accepted");
    place.write("flows/chat.ts", CHAT.replace(".step(look)", ".step(look).tap(() => undefined)"));
    assert_eq!(place.get("verify first.run")["same"], 1);
    place.run(&["run", "chat", "fail", "--user", "ada", "--request", "failed", "--input", "\"x\""]);
    place.get("keep failed --as failed.run");
    let before = text_of(&place, "failed.run");
    place.write("flows/chat.ts", CHAT.replace("new Error(\"no\")", "new Error(\"never\")"));
    assert_eq!(place.ask("verify failed.run").code, Some(1));
    assert_eq!(place.ask("verify failed.run --accept").code, Some(0));
    let after = text_of(&place, "failed.run");
    let added: Vec<&str> = after.lines().filter(|line| !before.lines().any(|old| old == *line)).collect();
    assert_eq!(added.len(), 2, "a line for each block that does otherwise: {added:#?}");
    assert!(before.lines().all(|line| after.lines().any(|new| new == line)), "nothing is lost");
    assert_eq!(place.get("verify failed.run")["same"], 1);
    // Expectations of the database are written to the file, too.
    place.get("verify --request failed --accept");
    place.get("keep failed --as again.run");
    assert_eq!(text_of(&place, "again.run").lines().filter(|line| line.contains("\"expected\"")).count(), 2);
    // The original code behaves as recorded, so accepting removes the lines.
    place.write("flows/chat.ts", CHAT);
    assert_eq!(place.ask("verify failed.run --accept").code, Some(0));
    assert_eq!(text_of(&place, "failed.run"), before);
}

#[test]
fn a_run_that_cannot_be_kept_is_refused_with_a_reason() {
    let place = chat();
    place.get("keep first --as tests/first.run");
    for (line, code, what) in [
        ("keep nobody --as x.run", 6, "unknown request"),
        ("keep first --as tests/first.run", 7, "exists already"),
        ("keep first --as no/where/x.run", 2, "cannot be written"),
        ("keep first --as flows/chat.ts --force", 7, "file of code"),
        ("keep first --as .flowglass/x.run", 7, "folder of the database"),
        ("keep first", 2, "--as"),
    ] {
        let refused = place.ask(line);
        assert_eq!(refused.code, Some(code), "{line}\n{refused}");
        assert!(refused.stderr.contains(what), "{line}\n{refused}");
    }
    place.get("keep second --as tests/first.run --force");
    assert!(text_of(&place, "tests/first.run").contains("\"request\":\"second\""));
}

#[test]
fn a_wrong_file_is_reported_with_its_line_and_the_others_are_verified() {
    let place = chat();
    place.get("keep first --as first.run");
    let whole = text_of(&place, "first.run");
    place.write("cut.run", &whole[..whole.len() / 3]);
    place.write("empty.run", "");
    place.write("newer.run", whole.replacen("\"format\":1", "\"format\":2", 1));
    place.write("seq.run", whole.replacen("\"seq\":4}", "\"seq\":44}", 1));
    place.write("gone.run", whole.replace("\"flow\":\"chat\"", "\"flow\":\"gone\""));
    place.write("flow.run", whole.replacen("\"flow\":\"chat\"", "\"flow\":\"gone\"", 1));
    place.write("older.run", whole.replacen("\"format\":1", "\"format\":0", 1));
    place.write("action.run", whole.replacen("\"action\":\"say\"", "\"action\":\"fail\"", 1));
    place.write("status.run", whole.replacen("\"status\":\"completed\"", "\"status\":\"failed\"", 1));
    place.write("nothing.run", whole.replacen('\n', "\n{\"did\":[],\"expected\":\"root\"}\n", 1));
    let record = whole.lines().find(|line| line.starts_with("{\"record\"")).expect("it saw a record");
    place.write("twice.run", whole.replacen(record, &format!("{record}\n{record}"), 1));
    std::fs::write(place.dir().join("bytes.run"), [0xff, 0xfe]).expect("the place is writable");
    let files = "cut.run empty.run newer.run seq.run gone.run bytes.run missing.run . older.run action.run status.run \
                 nothing.run twice.run first.run flow.run *.run";
    let verified = place.ask(&format!("verify {files}"));
    assert_eq!(verified.code, Some(1), "{verified}");
    let results = verified.json()["results"].clone();
    for (at, verdict, what) in [
        (0, "not_comparable", "cut.run, line "),
        (1, "not_comparable", "empty.run, line 1: this is no .run file"),
        (2, "not_comparable", "line 1: the file has format 2, newer than format 1"),
        (3, "not_comparable", ": expected event 4 of request \"first\", found event 44"),
        (4, "does_not_load", "unknown flow \"gone\""),
        (5, "not_comparable", "no text in UTF-8"),
        (6, "not_comparable", "missing.run is not there"),
        (7, "not_comparable", ". is a folder: name its files, like ./*.run"),
        (8, "not_comparable", "line 1: there is no format 0"),
        (9, "not_comparable", "line 1: the action is \"fail\" here, and \"say\" in the events"),
        (10, "not_comparable", "line 1: the status is \"failed\" here, and \"completed\" in the events"),
        (11, "not_comparable", "a list of at least one entry, or null"),
        (12, "not_comparable", "line 3: version 0 of the record of "),
    ] {
        let row = &results[at];
        assert_eq!(row["verdict"], verdict, "{row}");
        assert!(row["why"].as_str().is_some_and(|why| why.contains(what)), "{row}: {what}");
    }
    assert_eq!(results[13]["verdict"], "same");
    // As a shell hands it on where no file matches.
    assert!(results[15]["why"].as_str().is_some_and(|why| why.starts_with("*.run matches no file")), "{}", results[15]);
    let twice = place.get("verify first.run ./first.run first.run");
    assert_eq!(twice["results"].as_array().map(Vec::len), Some(1), "{twice}");
    let twice = place.get("verify --all --request first --request first");
    assert_eq!(twice["results"].as_array().map(Vec::len), Some(1), "{twice}");
    let why = results[14]["why"].as_str().unwrap_or_default();
    assert!(why.contains("line 1: the flow is \"gone\" here, and \"chat\" in the events"), "{}", results[14]);
    place.write("flowglass.json", r#"{ "limits": { "importBytes": 100 } }"#);
    let row = &place.get_any("verify first.run")["results"][0];
    assert!(row["why"].as_str().is_some_and(|why| why.contains("limits.importBytes")), "{row}");
}

/// Links to an accepted file and its permissions are kept.
#[cfg(unix)]
#[test]
fn an_accepted_file_is_changed_in_place() {
    use std::os::unix::fs::PermissionsExt;
    let place = chat();
    place.run(&["run", "chat", "fail", "--user", "ada", "--request", "failed", "--input", "\"x\""]);
    place.get("keep failed --as tests/real.run");
    let at = |name: &str| place.dir().join(name);
    std::fs::set_permissions(at("tests/real.run"), PermissionsExt::from_mode(0o640)).expect("it is ours");
    std::os::unix::fs::symlink("tests/real.run", at("link.run")).expect("a link can be made");
    place.write("flows/chat.ts", CHAT.replace("new Error(\"no\")", "new Error(\"never\")"));
    let verified = place.ask("verify link.run --accept");
    assert_eq!(verified.code, Some(0), "{verified}");
    assert!(at("link.run").symlink_metadata().is_ok_and(|about| about.is_symlink()), "the link stays");
    assert!(text_of(&place, "tests/real.run").contains("never"), "what it leads to is changed");
    let mode = at("tests/real.run").metadata().map(|about| about.permissions().mode() & 0o777);
    assert_eq!(mode.ok(), Some(0o640), "whoever could read it still can");
}

/// An editor may change the ends of lines, and trim spaces.
#[test]
fn a_file_that_an_editor_has_saved_is_the_same_run() {
    let place = chat();
    place.get("keep third --as third.run");
    let text = text_of(&place, "third.run");
    place.write("third.run", text.lines().map(str::trim_end).collect::<Vec<_>>().join("\r\n"));
    assert_eq!(place.get("verify third.run")["same"], 1);
}

/// A run that fails in CI can be examined on another machine.
#[test]
fn a_file_can_be_imported_and_looked_at() {
    let place = chat();
    place.get("keep third --as third.run");
    let other = elsewhere(&place, &["third.run"]);
    let imported = other.get("import third.run");
    assert!(imported["requests"].as_array().is_some_and(|ids| ids.contains(&json!("third"))), "{imported}");
    assert_eq!(other.get("show third")["output"], place.get("show third")["output"]);
    assert_eq!(other.get("verify --all --request third")["same"], 1);
    assert_eq!(other.get("import third.run")["imported"], false, "it is here already");
    other.get("keep third --as again.run");
    assert_eq!(text_of(&other, "again.run"), text_of(&other, "third.run"));
}

/// A value that a block made of a secret is redacted in the kept file and in accepted lines, and compared as redacted.
#[test]
fn a_secret_equals_its_redacted_value_and_is_never_accepted_into_a_file() {
    let place = chat();
    place.write("flowglass.json", r#"{ "env": { "TOKEN": { "valueEnv": "CHAT_TOKEN" } } }"#);
    let flow = |extra: &str| {
        format!(
            "import {{ defineFlow, handler }} from \"@flow-state-dev/core\";\nimport {{ z }} from \"zod\";\n\
             export default defineFlow({{ kind: \"leak\", actions: {{ go: {{ block: handler({{ name: \"leak\", inputSchema: z.any(),\n\
             outputSchema: z.any(), execute: () => ({{ token: process.env.TOKEN{extra} }}) }}) }} }} }});\n"
        )
    };
    place.write("flows/leak.ts", flow(""));
    place.run(&["run", "leak", "go", "--user", "ada", "--request", "leaks"]);
    place.get("keep leaks --as leaks.run");
    assert_eq!(place.get("verify leaks.run")["same"], 1);
    place.write("flows/leak.ts", flow(", more: 1"));
    let verified = place.ask("verify leaks.run --accept");
    assert_eq!(verified.code, Some(0), "{verified}");
    assert!(!verified.stdout.contains(SECRET), "{verified}");
    let text = text_of(&place, "leaks.run");
    assert!(!text.contains(SECRET) && text.contains("\"more\":1"), "{text}");
    place.get("verify --request leaks --accept");
    place.get("keep leaks --as again.run");
    assert!(!text_of(&place, "again.run").contains(SECRET));
}
