//! `why` where the nearest value is not the cause: prompts before answers, errors, JSON in texts, states that say the
//! same as an input.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};

const FLOW: &str = r#"
const step = (name: string, execute: any) => handler({ name, inputSchema: z.any(), execute });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const weather = handler({ name: "weather", description: "Weather", inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => ({ report: `In ${city} it rains today` }) });
const asks = generator({ name: "asks", model: "tiny", tools: [weather],
  prompt: (i: any) => `You answer about ${i.city}.`, user: (i: any) => i.question });
const tells = generator({ name: "tells", model: "tiny", prompt: "Summarise.", user: (i: any) => JSON.stringify(i) });
const made = step("made", (i: any) => ({ n: 1, report: `In ${i.city} it "rains" today` }));
const joined = step("joined", (i: any) => ({ text: i.a + " / " + i.b }));
const whole = step("whole", (i: any) => ({ whole: i.text }));
const save = step("save", async (i: any, ctx: any) => { await ctx.session.patchState({ note: i.note }); return i; });
const load = step("load", async (_: any, ctx: any) => ({ loaded: ctx.session.state.note }));
const bad = step("bad", (i: any) => { throw new Error("broken on " + i.what); });
const caught = step("caught", (e: any) => ({ said: "sorry: " + e.message }));
export default defineFlow({
  kind: "causes",
  session: { stateSchema: z.object({ note: z.string().default("") }) },
  actions: {
    ask: { block: chain("a").step(asks) }, tell: { block: chain("t").step(made).step(tells) },
    join: { block: chain("j").step(joined).step(whole) }, state: { block: chain("s").step(save).step(load) },
    bad: { block: chain("b").step(bad) },
    rescued: { block: chain("r").step(bad).rescue([{ when: [Error], block: caught }]) },
  },
});
"#;
const MOCK: &str = r#"{ "generators": {
  "asks": [{ "toolCalls": [{ "id": "c1", "name": "weather", "args": { "city": "Old Bergen" } }] }, { "text": "Rain." }],
  "tells": [{ "text": "It rains." }]
} }"#;

fn ran(action: &str, input: &Value) -> (Place, Answer) {
    let place = Place::with_flow(FLOW).file("flows/main.mock.json", MOCK);
    let words = ["run", "causes", action, "--user", "ada", "--session", "s", "--request", "r", "--mock", "--json"];
    let answer = place.run(&[&words[..], &["--input", &input.to_string()]].concat());
    (place, answer)
}

#[track_caller]
fn why(place: &Place, at: &str, more: [&str; 2]) -> Value {
    let answer = place.run(&[&["why", "r", "--at", at][..], &more, &["--json"]].concat());
    assert_eq!(answer.code, Some(0), "{answer}");
    answer.json()
}

fn answer(view: &Value) -> &str {
    view["answer"].as_str().unwrap_or_default()
}

/// A later prompt of a block repeats the first one, which no answer of its model can have made.
#[test]
fn a_prompt_is_not_made_of_the_answers_to_it() {
    let (place, ran) = ran("ask", &json!({ "city": "Old Bergen", "question": "What is the weather like?" }));
    assert_eq!(ran.code, Some(0), "{ran}");
    for value in ["prompt#1:/messages/0/content", "prompt#2:/messages/0/content", "prompt:/messages/0/content"] {
        let view = why(&place, "root/step:asks", ["--value", value]);
        let of = &view["edges"][0]["of"];
        assert_eq!((&of["where"], &of["pointer"]), (&json!("input"), &json!("/city")), "{value}: {view:#}");
        assert!(!answer(&view).contains("answer of a model"), "{value}: {view:#}");
    }
}

#[test]
fn the_parts_of_a_text_are_named_behind_its_whole_copies() {
    let (place, ran) = ran("join", &json!({ "a": "alpha particle", "b": "beta carotene" }));
    assert_eq!(ran.code, Some(0), "{ran}");
    let view = why(&place, "root", ["--value", "output:/whole"]);
    let parts = "Parts of it are in the input of root/step:joined (/a, event ";
    assert!(answer(&view).contains(parts), "{view:#}");
    assert!(answer(&view).contains(", the input of root/step:joined (/b, event "), "{view:#}");
    assert!(!answer(&view).contains("Parts of it are in the input of root/step:whole"), "{view:#}");
}

#[test]
fn a_state_that_says_the_same_as_the_input_is_named() {
    let (place, ran) = ran("state", &json!({ "note": "remember the milk please" }));
    assert_eq!(ran.code, Some(0), "{ran}");
    for at in ["root/step:load", "root"] {
        let view = why(&place, at, ["--value", "output:/loaded"]);
        let named = "may as well be from the write of root/step:save to the session state (/note, event ";
        assert!(answer(&view).contains(named), "{at}: {view:#}");
        let edges = view["edges"].as_array().expect("edges");
        let ties = edges.iter().find_map(|edge| edge["ties"].as_array()).expect("a tie");
        assert_eq!(ties[0]["where"], "state", "{view:#}");
    }
}

#[test]
fn the_error_of_a_block_is_a_value_of_it() {
    let (place, ran) = ran("bad", &json!({ "what": "the wheel of fortune" }));
    assert_eq!(ran.code, Some(3), "{ran}");
    for more in [["--value", "error:/message"], ["--text", "broken on the wheel of fortune"]] {
        let view = why(&place, "root/step:bad", more);
        assert_eq!((&view["asked"]["in"], &view["value"]), (&json!("error"), &json!("broken on the wheel of fortune")));
        let of = &view["edges"][0]["of"];
        assert_eq!((&of["where"], &of["pointer"]), (&json!("input"), &json!("/what")), "{view:#}");
        assert!(answer(&view).contains("the rest is text of the code, root/step:bad (flows/main.ts:"), "{view:#}");
    }
    // The block around failed with the same error.
    let around = why(&place, "root", ["--value", "error:/message"]);
    assert_eq!(around["edges"][0]["of"]["path"], "root/step:bad", "{around:#}");
}

#[test]
fn what_a_rescue_gets_is_the_error_of_the_block_that_failed() {
    let (place, ran) = ran("rescued", &json!({ "what": "the wheel of fortune" }));
    assert_eq!(ran.code, Some(0), "{ran}");
    let view = why(&place, "root/rescue:caught", ["--value", "/message"]);
    let of = &view["edges"][0]["of"];
    assert_eq!((&of["where"], &of["path"]), (&json!("error"), &json!("root/step:bad")), "{view:#}");
    let code = view["edges"].as_array().into_iter().flatten().find(|edge| edge["operation"] == "text_of_code");
    assert_eq!(code.expect("text of the code")["by"]["path"], "root/step:bad", "{view:#}");
    let none = place.run(&["why", "r", "--at", "root/rescue:caught", "--value", "error:/message"]);
    assert_eq!(none.code, Some(2), "{none}");
    assert!(none.stderr.contains("did not fail, so it has no error"), "{none}");
}

#[test]
fn a_text_in_a_value_that_was_made_json_is_followed_from_its_place() {
    let (place, ran) = ran("tell", &json!({ "city": "Old Bergen" }));
    assert_eq!(ran.code, Some(0), "{ran}");
    let view = why(&place, "root/step:tells", ["--text", "Old Bergen it"]);
    let edges = view["edges"].as_array().expect("edges");
    assert_eq!(edges[0]["of"]["asJson"], true, "{view:#}");
    let next = &edges[1]["in"];
    assert_eq!((&next["pointer"], &next["from"], &next["to"]), (&json!("/report"), &json!(3), &json!(16)), "{view:#}");
    let city = edges.iter().any(|edge| edge["kind"] == "recorded" && edge["in"]["pointer"] == "/city");
    assert!(city, "{view:#}");
}
