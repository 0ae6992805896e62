//! `why` where several origins are possible: edits of forks, what other requests wrote, parts of texts, ties, defaults.

use serde_json::{Value, json};
use tests::bench::Place;

const FLOW: &str = r#"
const memory = z.object({ note: z.string().default("nothing was noted here yet") });
const account = z.object({ iban: z.string().default("DE00 0000 is the default") });
const input = z.object({ city: z.string().default("Reykjavik in the north"), memo: z.string().default(""), from: z.number().default(0) });
const note = handler({ name: "note", sessionStateSchema: memory, execute: async (i: any, ctx: any) => {
  await ctx.session.patchState({ note: `a note of ${i.city}` });
  return i;
} });
const part = handler({ name: "part", execute: (i: any) => ({ ...i, sliced: i.memo.slice(i.from, i.from + 30) }) });
const plan = generator({ name: "plan", model: "tiny", sessionStateSchema: memory,
  prompt: (i: any, ctx: any) => `Plan. City: ${i.city}. Keep to the plan that was agreed on. ${ctx.session.state.note}` });
const pay = handler({ name: "pay", userStateSchema: account, execute: async (i: any, ctx: any) => {
  const answer = await ctx.suspend({ reason: "human_input", message: "Which words?" });
  return { iban: ctx.user.state.iban, words: answer.words };
} });
const move = handler({ name: "move", userStateSchema: account, execute: async (i: any, ctx: any) => {
  await ctx.user.patchState({ iban: i.iban });
} });
const swap = handler({ name: "swap", execute: (i: any) => ({ shipping: i.shipping, to: i.shipping }) });
const chain = (name: string, schema: any = z.any()) => sequencer({ name, inputSchema: schema });
export default defineFlow({
  kind: "origins",
  session: { stateSchema: memory }, user: { stateSchema: account },
  actions: {
    trip: { inputSchema: input, block: chain("trip", input).step(note).step(part).step(plan) },
    pay: { block: chain("pay").step(handler({ name: "draft", userStateSchema: account, execute: (_i, ctx: any) => ({ iban: ctx.user.state.iban }) })).step(pay) },
    move: { inputSchema: z.any(), block: move },
    ship: { inputSchema: z.any(), block: chain("ship").step(swap) },
  },
});
"#;
const MOCK: &str =
    r#"{ "generators": { "plan": [{ "text": "Go." }, { "text": "Go." }, { "text": "Go." }, { "text": "Go." }] } }"#;

fn place() -> Place {
    Place::with_flow(FLOW).file("flows/main.mock.json", MOCK)
}

#[track_caller]
fn run(place: &Place, action: &str, request: &str, input: &Value) -> Option<i32> {
    let words =
        ["run", "origins", action, "--user", "ada", "--session", request, "--request", request, "--mock", "--json"];
    place.run(&[&words[..], &["--input", &input.to_string()]].concat()).code
}

#[track_caller]
fn forked(place: &Place, more: &[&str]) -> String {
    let answer = place.run(&[&["fork", "r", "--at", "root/step:part", "--mock", "--json"][..], more].concat());
    assert_eq!(answer.code, Some(0), "{answer}");
    answer.json()["requestId"].as_str().expect("an id").to_owned()
}

#[track_caller]
fn why(place: &Place, request: &str, at: &str, more: [&str; 2]) -> Value {
    let answer = place.run(&[&["why", request, "--at", at][..], &more, &["--json"]].concat());
    assert_eq!(answer.code, Some(0), "{answer}");
    answer.json()
}

fn answer(view: &Value) -> &str {
    view["answer"].as_str().unwrap_or_default()
}

/// What the first edge leads to: what has it, and where.
fn origin(view: &Value) -> (&str, &str, &Value) {
    let of = &view["edges"][0]["of"];
    (of["where"].as_str().unwrap_or_default(), of["pointer"].as_str().unwrap_or_default(), &of["from"])
}

#[test]
fn what_a_fork_set_is_its_edit_and_the_rest_is_of_its_request() {
    let place = place();
    assert_eq!(run(&place, "trip", "r", &json!({ "city": "Lisbon by the river" })), Some(0));
    let set = r#"session.note="a note that the fork was given""#;
    let fork = forked(&place, &["--set", set]);
    let asked = [["--value", "session.note"], ["--text", "a note that the fork was given"]];
    for more in asked {
        let view = why(&place, &fork, "root/step:plan", more);
        assert!(answer(&view).contains("an edit of the fork (/note, event "), "{view:#}");
        let last = view["edges"].as_array().and_then(|edges| edges.last()).expect("an edge");
        assert_eq!((&last["kind"], &last["in"]["where"]), (&json!("recorded"), &json!("edit")), "{view:#}");
    }
    // A fork without that edit has the note from its request.
    let plain = forked(&place, &[]);
    let view = why(&place, &plain, "root/step:plan", ["--value", "session.note"]);
    assert!(answer(&view).starts_with("root/step:note (flows/main.ts:"), "{view:#}");
    assert!(answer(&view).contains("in the earlier request r (patch, event "), "{view:#}");
}

#[test]
fn what_another_request_wrote_while_one_waited_is_found_there() {
    let place = place();
    assert_eq!(run(&place, "pay", "waits", &json!({})), Some(4));
    assert_eq!(run(&place, "move", "moved", &json!({ "iban": "FR77 7777 is another one" })), Some(0));
    let resumed = place.run(&["resume", "waits", "--submit", r#"{"words":"yes"}"#, "--mock", "--json"]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    let view = why(&place, "waits", "root/step:pay", ["--value", "output:/iban"]);
    assert!(answer(&view).contains("wrote it to user/iban in the earlier request moved (patch, event "), "{view:#}");
    // What it had before that is not what the other one wrote.
    let before = why(&place, "waits", "root/step:draft", ["--value", "output:/iban"]);
    assert!(!answer(&before).contains("moved"), "{before:#}");
}

#[test]
fn a_whole_value_comes_before_a_few_more_bytes_of_another() {
    let place = place();
    let memo = "City: Manchester by the canal was rejected, as were others";
    assert_eq!(
        run(&place, "trip", "t", &json!({ "city": "Manchester by the canal", "memo": memo, "from": 3 })),
        Some(0)
    );
    let view = why(&place, "t", "root/step:plan", ["--text", "Manchester by"]);
    let (place_of, pointer, from) = origin(&view);
    assert_eq!((place_of, pointer, from), ("input", "/city", &json!(0)), "{view:#}");
    let sliced = why(&place, "t", "root/step:part", ["--value", "output:/sliced"]);
    let (place_of, pointer, from) = origin(&sliced);
    assert_eq!((place_of, pointer, from), ("input", "/memo", &json!(3)), "{sliced:#}");
    assert!(sliced["edges"][0]["of"]["asJson"].is_null(), "{sliced:#}");
}

/// A value that says the same as the code is not its origin.
#[test]
fn text_of_the_code_is_not_copied() {
    let place = place();
    let memo = "Keep to the plan that was agreed on.";
    assert_eq!(run(&place, "trip", "t", &json!({ "city": "Porto", "memo": "" })), Some(0));
    assert_eq!(run(&place, "move", "m", &json!({ "iban": memo })), Some(0));
    assert_eq!(run(&place, "trip", "u", &json!({ "city": "Porto", "memo": "" })), Some(0));
    let view = why(&place, "u", "root/step:plan", ["--text", memo]);
    assert_eq!(view["edges"][0]["operation"], "text_of_code", "{view:#}");
}

#[test]
fn a_tie_is_told_and_a_field_of_the_same_name_comes_first() {
    let place = place();
    let street = "12 Main Street 90210";
    assert_eq!(run(&place, "ship", "s", &json!({ "billing": street, "shipping": street })), Some(0));
    let named = why(&place, "s", "root/step:swap", ["--value", "output:/shipping"]);
    assert_eq!((origin(&named).1, &named["edges"][0]["others"]), ("/shipping", &json!(1)), "{named:#}");
    let other = why(&place, "s", "root/step:swap", ["--value", "output:/to"]);
    assert!(other["edges"][0]["others"].as_u64().is_some_and(|others| others > 0), "{other:#}");
    let named = "It may as well be from the input of root/step:swap (/";
    assert!(answer(&other).contains(named), "{other:#}");
}

#[test]
fn a_default_of_the_schema_may_not_have_been_given() {
    let place = place();
    assert_eq!(run(&place, "trip", "r", &json!({ "memo": "Reykjavik in winter" })), Some(0));
    let view = why(&place, "r", "root/step:part", ["--value", "/city"]);
    assert!(answer(&view).ends_with("(/city, event 1), or a default of its schema."), "{view:#}");
    let given = why(&place, "r", "root/step:part", ["--value", "/memo"]);
    assert!(answer(&given).ends_with("as the input of the request (/memo, event 1)."), "{given:#}");
}

/// The statement is named where the definition has one, and not the line that the definition begins at.
#[test]
fn the_line_that_made_a_value_is_named() {
    let place = place();
    assert_eq!(
        run(&place, "trip", "t", &json!({ "city": "Porto", "memo": "a long memo of the whole trip to Porto" })),
        Some(0)
    );
    let line_of = |text: &str| FLOW.lines().position(|line| line.contains(text)).map(|at| at + 3);
    let note = why(&place, "t", "root/step:plan", ["--value", "session.note"]);
    assert_eq!(note["edges"][0]["by"]["line"], json!(line_of("await ctx.session.patchState({ note")), "{note:#}");
}
