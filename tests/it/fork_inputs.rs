//! A fork with another input: that of a block, which then runs again, or that of the action. An input that nothing
//! would read is refused.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const price = handler({ name: "price", inputSchema: z.any(), execute: async (input: any, ctx: any) => { await ctx.session.incState({ runs: 1 }); return { amount: input.amount }; } });
const pay = handler({ name: "pay", inputSchema: z.object({ amount: z.number() }), execute: async ({ amount }: any, ctx: any) => {
  if (amount > 10) throw new Error(`too much: ${amount}`);
  await ctx.session.incState({ paid: amount });
  return { paid: amount };
} });
const thank = handler({ name: "thank", inputSchema: z.any(), execute: (input: any) => `paid ${input.paid}` });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ runs: z.number().default(0), paid: z.number().default(0) }) },
  actions: {
    go: { block: chain("all").step(price).step(pay).step(thank) },
    each: { block: chain("all").step(price).map((one: any) => [one, { amount: 99 }]).forEach(pay, { maxConcurrency: 2 }) },
    nested: { block: chain("all").step(chain("inner").step(price).step(pay)).step(thank) },
  },
});
"#;

/// A request that failed.
fn failed(action: &str) -> Place {
    let place = Place::with_flow(FLOW);
    let line = format!("run main {action} --user ada --session s --request r --input {{\"amount\":5}}");
    place.ask(&line.replace('5', "50"));
    place
}

/// What the fork gave; its replay is the same, and the step before was taken from the log.
#[track_caller]
fn forked(place: &Place, line: &str, output: Value) -> String {
    let plan = place.ask(&format!("{line} --plan"));
    assert_eq!(plan.code, Some(0), "{plan}");
    let fork = place.get(line);
    assert_eq!((&fork["status"], &fork["output"]), (&json!("completed"), &output), "{fork}");
    let id = fork["requestId"].as_str().expect("an id").to_owned();
    let replay = place.ask(&format!("replay {id}"));
    assert_eq!(replay.json()["identical"], true, "{replay}");
    assert_eq!(place.get("check --data")["ok"], true);
    id
}

#[track_caller]
fn refused(place: &Place, line: &str, code: i32, words: &str) {
    for line in [line.to_owned(), format!("{line} --plan")] {
        let answer = place.ask(&line);
        assert_eq!(answer.code, Some(code), "{line}: {answer}");
        assert!(answer.stderr.contains(words), "{line}: {answer}");
    }
    assert_eq!(place.get("requests").as_array().map(Vec::len), Some(1), "nothing was begun");
}

#[test]
fn a_failed_block_runs_again_with_another_input() {
    let place = failed("go");
    let fork = forked(&place, "fork r --at root/step:pay --input {\"amount\":5}", json!("paid 5"));
    let session = place.get(&format!("show {fork}"))["request"]["sessionId"].clone();
    let state = place.get(&format!("state --session {}", session.as_str().expect("a session")));
    assert_eq!(state["session"], json!({ "runs": 1, "paid": 5 }), "the step before was taken from the log");
    let block = place.get(&format!("block {fork} root/step:pay"));
    assert_eq!(block["input"], json!({ "amount": 5 }), "{block}");
    assert_eq!(place.get("block r root/step:pay")["input"], json!({ "amount": 50 }));
}

#[test]
fn a_block_inside_another_gets_its_own_input() {
    let place = failed("nested");
    forked(&place, "fork r --at root/step:inner/step:pay --input {\"amount\":7}", json!("paid 7"));
}

#[test]
fn one_of_several_branches_gets_another_input() {
    let place = failed("each");
    let line = "fork r --at root/forEach:pay[1] --input {\"amount\":1}";
    let answer = place.ask(line);
    assert_eq!(answer.code, Some(3), "the other branch still fails: {answer}");
    assert!(answer.stderr.contains("too much: 50"), "{answer}");
    let fork = answer.json()["requestId"].as_str().expect("an id").to_owned();
    assert_eq!(place.get(&format!("block {fork} root/forEach:pay[1]"))["output"], json!({ "paid": 1 }));
}

/// A block whose input does not fit its schema fails, as it would have.
#[test]
fn an_input_is_held_against_the_schema_of_its_block() {
    let place = failed("go");
    let answer = place.ask("fork r --at root/step:pay --input {\"amount\":\"five\"}");
    assert_eq!(answer.code, Some(3), "{answer}");
    assert!(answer.stderr.contains("input validation failed at \"amount\""), "{answer}");
}

#[test]
fn the_action_gets_another_input() {
    let place = failed("go");
    for line in [
        "fork r --action-input {\"amount\":3}",
        "fork r --at 0 --input {\"amount\":3}",
        "fork r --at root --input {\"amount\":3}",
    ] {
        forked(&place, line, json!("paid 3"));
    }
}

#[test]
fn a_fork_of_a_fork_keeps_the_edit() {
    let place = failed("go");
    let first = forked(&place, "fork r --at root/step:pay --input {\"amount\":5}", json!("paid 5"));
    let line = format!("fork {first} --at root/step:thank --input {{\"paid\":6}}");
    let second = forked(&place, &line, json!("paid 6"));
    assert_eq!(place.get(&format!("block {second} root/step:pay"))["input"], json!({ "amount": 5 }));
}

#[test]
fn an_input_that_nothing_would_read_is_refused() {
    let place = failed("go");
    let last = place.get("events r").as_array().map_or(0, Vec::len);
    refused(&place, &format!("fork r --at {last} --input 1"), 2, "nothing would read it");
    refused(&place, "fork r --at root/step:pay --input 1 --output 2", 2, "its output cannot be given");
    refused(&place, "fork r --at root/step:gone --input 1", 6, "no block began at path \"root/step:gone\"");
    refused(&place, "fork r --at root/step:thank --input 1", 6, "no block began at path \"root/step:thank\"");
    refused(&place, "fork r --action-input 1 --at root/step:pay", 2, "cannot be used with");
}

/// The item of a tool call has the arguments that ran; those of the model stand beside them, as after an answer.
#[test]
fn the_item_of_a_tool_has_the_arguments_that_ran() {
    const FLOW: &str = r#"
const pay = handler({ name: "pay", description: "pays", inputSchema: z.object({ amount: z.number() }), execute: ({ amount }: any) => {
  if (amount > 100) throw new Error(`too much: ${amount}`);
  return { paid: amount };
} });
const bot = generator({ name: "bot", model: "tiny", prompt: "Pay.", tools: [pay] });
const chain = sequencer({ name: "chain", inputSchema: z.any() });
export default defineFlow({ kind: "main", actions: { ask: { block: bot }, step: { block: chain.step(pay.asTool()) } } });
"#;
    let script = json!({ "generators": { "bot": [
        { "toolCalls": [{ "name": "pay", "args": { "amount": 5 } }] }, { "text": "done" },
    ] } });
    let place = Place::with_flow(FLOW).file("flows/main.mock.json", &script.to_string());
    place.get("run main ask --user ada --request asked --mock --input \"go\"");
    place.get("run main step --user ada --request stepped --input {\"amount\":5}");
    for (request, path, amount, status) in [
        ("asked", "root/tool:pay[0.0]", 7, "completed"),
        ("asked", "root/tool:pay[0.0]", 700, "failed"),
        ("stepped", "root/step:pay__as_tool/tool:pay", 7, "completed"),
        ("stepped", "root/step:pay__as_tool/tool:pay", 700, "failed"),
    ] {
        let fork = place.ask(&format!("fork {request} --at {path} --input {{\"amount\":{amount}}}")).json();
        let id = fork["requestId"].as_str().expect("an id").to_owned();
        let items = place.get(&format!("items --request {id} --type block_tool_output"));
        assert_eq!(items.as_array().map(Vec::len), Some(1), "{items:#}");
        let (item, call) = (&items[0], &items[0]["toolCall"]);
        assert_eq!(item["status"], status, "{items:#}");
        assert_eq!(call["arguments"], format!("{{\"amount\":{amount}}}"), "{items:#}");
        assert_eq!(call["proposedArguments"], "{\"amount\":5}", "{items:#}");
        assert_eq!(place.get(&format!("replay {id}"))["identical"], true, "{path} {amount}");
    }
}

/// Which requests a list finds by a text, oldest first, with the first words of their inputs.
#[track_caller]
fn found(place: &Place, text: &str) -> Vec<(String, String)> {
    let listed = place.get(&format!("requests --search {text}"));
    let rows = listed.as_array().expect("a list").iter().rev();
    let text = |row: &Value, field: &str| row[field].as_str().unwrap_or_default().to_owned();
    rows.map(|row| (text(row, "id"), text(row, "words"))).collect()
}

/// A list shows a fork by the input that it has instead, however its beginning is named; so do a fork of the fork, a
/// retry of it, and an import.
#[test]
fn a_fork_is_listed_by_its_own_input() {
    const FLOW: &str = r#"const eat = handler({ name: "eat", inputSchema: z.string(), execute: (input) => input });
export default defineFlow({ kind: "main", actions: { go: { block: eat } } });"#;
    let place = Place::with_flow(FLOW);
    place.get("run main go --user ada --session s --request a --input \"apple\"");
    let id = |answer: &Value| answer["requestId"].as_str().expect("an id").to_owned();
    let banana = id(&place.get("fork a --at 0 --input \"banana\""));
    let fig = id(&place.get("fork a --at 1 --input \"fig\""));
    let root = id(&place.get("fork a --at root --input \"grape\""));
    let again = id(&place.get(&format!("retry {banana}")));
    let later = id(&place.get(&format!("fork {banana} --at root --output \"peel\"")));
    assert_eq!(found(&place, "apple"), [("a".to_owned(), "apple".to_owned())]);
    assert_eq!(found(&place, "fig"), [(fig, "fig".to_owned())]);
    assert_eq!(found(&place, "grape"), [(root, "grape".to_owned())]);
    let bananas = [banana.clone(), again, later].map(|id| (id, "banana".to_owned()));
    assert_eq!(found(&place, "banana"), bananas);
    let sessions = place.get("sessions --search fig");
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
    assert_eq!(place.get("check --data")["ok"], true);
    let other = Place::with_flow(FLOW);
    let file = other.dir().join("fork.json");
    place.get(&format!("export --request {banana} --out {}", file.display()));
    other.get(&format!("import {}", file.display()));
    // Its retry is of the same session.
    let imported = found(&other, "banana");
    assert!(imported.contains(&(banana, "banana".to_owned())), "{imported:?}");
    assert!(imported.iter().all(|(_, words)| words == "banana"), "{imported:?}");
    assert_eq!(other.get("check --data")["ok"], true);
}
