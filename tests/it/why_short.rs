//! `why` of values that are equal in several places: the answer that a block got comes first, states of sequencers, of
//! blocks and of resources count as other states do, and short values name all that they may be from.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};

const FLOW: &str = r#"
import { defineResource } from "@flow-state-dev/core";
const mode = z.object({ mode: z.string().default(""), level: z.number().default(0) });
const prefs = defineResource({ ref: "prefs", scope: "session", stateSchema: mode });
const chain = (name: string, more = {}) => sequencer({ name, inputSchema: z.any(), ...more });
const asks = handler({ name: "asks", execute: async (i: any, c: any) => {
  const answer = await c.suspend({ reason: "human_input", message: "Which?" });
  return { kept: answer.words, city: i.city };
} });
const tries = handler({ name: "tries", retry: { maxAttempts: 2 }, execute: async (i: any, c: any) => {
  const answer = await c.suspend({ reason: "human_input", message: "Which?" });
  if (c.attempt === 0) throw new Error("once more");
  return { kept: answer.words };
} });
const copies = handler({ name: "copies", execute: (i: any) => ({ ok: i.flag, twice: i.one }) });
const sets = handler({ name: "sets", execute: async (i: any, c: any) => {
  await c.sequencer.patchState({ mode: i.speed, level: i.steps });
  return {};
} });
const reads = handler({ name: "reads", execute: (_: any, c: any) =>
  ({ mode: c.sequencer.state.mode, level: c.sequencer.state.level }) });
const own = handler({ name: "own", stateSchema: mode, execute: async (i: any, c: any) => {
  await c.self.patchState({ mode: i.speed });
  return { mode: c.self.state.mode };
} });
const writes = handler({ name: "writes", resources: { prefs }, execute: async (i: any, c: any) => {
  await c.resources.prefs.patchState({ mode: i.speed, level: i.steps });
  return {};
} });
const looks = handler({ name: "looks", resources: { prefs }, execute: (_: any, c: any) =>
  ({ mode: c.resources.prefs.state.mode, level: c.resources.prefs.state.level }) });
const both = handler({ name: "both", execute: (i: any, c: any) => ({ mode: i.mode }) });
export default defineFlow({
  kind: "short",
  session: { stateSchema: mode },
  actions: {
    ask: { block: chain("a").step(asks).step(handler({ name: "fin", execute: (i: any) => i })) },
    tries: { block: chain("t").step(tries) },
    copy: { block: chain("c").step(copies) },
    sequencer: { block: chain("s", { stateSchema: mode }).step(sets).step(reads) },
    own: { block: chain("o").step(own) },
    resource: { block: chain("r").step(writes).step(looks) },
    both: { block: chain("b", { stateSchema: mode }).step(sets).map(() => ({ mode: "fast" })).step(both) },
  },
});
"#;

fn ran(action: &str, input: &Value) -> (Place, Answer) {
    let place = Place::with_flow(FLOW);
    let words = ["run", "short", action, "--user", "ada", "--session", "s", "--request", "r", "--json"];
    let answer = place.run(&[&words[..], &["--input", &input.to_string()]].concat());
    (place, answer)
}

#[track_caller]
fn done(action: &str, input: &Value) -> Place {
    let (place, answer) = ran(action, input);
    assert_eq!(answer.code, Some(0), "{answer}");
    place
}

#[track_caller]
fn answered(place: &Place, words: &str, code: i32) {
    let resumed = place.run(&["resume", "r", "--submit", &json!({ "words": words }).to_string(), "--json"]);
    assert_eq!(resumed.code, Some(code), "{resumed}");
}

#[track_caller]
fn why(place: &Place, at: &str, value: &str) -> Value {
    let answer = place.run(&["why", "r", "--at", at, "--value", value, "--json"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    answer.json()
}

fn said(view: &Value) -> &str {
    view["answer"].as_str().unwrap_or_default()
}

/// What the first edge leads to: what has it, whose, and where.
#[track_caller]
fn origin(view: &Value) -> [&str; 3] {
    let edge = &view["edges"][0];
    assert_eq!((&edge["kind"], &edge["proven"]), (&json!("copied"), &json!(false)), "{view:#}");
    let of = |name: &str| edge["of"][name].as_str().unwrap_or_default();
    [of("where"), of("path"), of("pointer")]
}

/// Long words are found by their content, short ones next to the block: the answer came after the input in both.
#[test]
fn the_answer_that_a_block_got_comes_before_an_equal_input() {
    for words in ["the same words of both", "yes"] {
        let (place, answer) = ran("ask", &json!({ "city": "elsewhere", "flag": words }));
        assert_eq!(answer.code, Some(4), "{answer}");
        answered(&place, words, 0);
        let kept = why(&place, "root/step:asks", "output:/kept");
        assert_eq!(origin(&kept), ["person", "root/step:asks", "/words"], "{kept:#}");
        let tie = "It may as well be from the input of root/step:asks (/flag, event ";
        assert!(said(&kept).contains(tie), "{words}: {kept:#}");
        // The block that asked is named, and not the request.
        assert!(said(&kept).contains("the answer of a person to root/step:asks"), "{kept:#}");
    }
}

#[test]
fn a_later_try_has_the_answer_to_an_earlier_one() {
    let words = "the same words of both";
    let (place, answer) = ran("tries", &json!({ "flag": words }));
    assert_eq!(answer.code, Some(4), "{answer}");
    answered(&place, words, 0);
    let kept = why(&place, "root/step:tries", "output:/kept");
    assert_eq!(origin(&kept), ["person", "root/step:tries", "/words"], "{kept:#}");
}

#[test]
fn a_common_value_names_what_it_may_be_from_and_is_no_copy_of_the_first() {
    for common in [json!(true), json!(0), json!("")] {
        let place = done("copy", &json!({ "flag": common, "other": common, "one": "yes" }));
        let view = why(&place, "root/step:copies", "output:/ok");
        let edge = &view["edges"][0];
        assert_eq!((&edge["kind"], &edge["proven"]), (&json!("computed"), &json!(false)), "{view:#}");
        let named: Vec<&str> =
            edge["ties"].as_array().expect("ties").iter().filter_map(|tie| tie["pointer"].as_str()).collect();
        assert_eq!((named, &edge["others"]), (vec!["/flag", "/other"], &json!(2)), "{view:#}");
        assert!(said(&view).contains("whether it computed or copied it is not known"), "{view:#}");
        assert!(
            said(&view).contains("It may as well be from the input of root/step:copies (/flag, event "),
            "{view:#}"
        );
        // What is at one place only is there by no chance.
        let twice = why(&place, "root/step:copies", "output:/twice");
        assert_eq!(origin(&twice), ["input", "root/step:copies", "/one"], "{twice:#}");
        assert!(!said(&twice).contains("may as well"), "{twice:#}");
    }
    // The same short word at two places of one input: neither is nearer.
    let place = done("copy", &json!({ "flag": "no", "one": "yes", "two": "yes" }));
    let view = why(&place, "root/step:copies", "output:/twice");
    assert_eq!(view["edges"][0]["kind"], "computed", "{view:#}");
    assert!(said(&view).contains("(/one, event ") && said(&view).contains("(/two, event "), "{view:#}");
}

#[test]
fn short_states_of_sequencers_blocks_and_resources_lead_to_their_writes() {
    let cases = [
        ("sequencer", "root/step:reads", "sequencer[root]", "root/step:sets"),
        ("resource", "root/step:looks", "session/prefs", "root/step:writes"),
    ];
    for (action, at, scope, writer) in cases {
        let place = done(action, &json!({ "speed": "fast", "steps": 7 }));
        for field in ["mode", "level"] {
            let view = why(&place, at, &format!("output:/{field}"));
            assert_eq!(origin(&view)[0], "state", "{view:#}");
            assert_eq!(view["edges"][0]["of"]["scope"], scope, "{view:#}");
            let write = &view["edges"][1];
            assert_eq!((&write["kind"], &write["by"]["path"]), (&json!("written"), &json!(writer)), "{view:#}");
        }
        // And from there to the input that was written.
        let view = why(&place, at, "output:/mode");
        let last = view["edges"].as_array().and_then(|edges| edges.last()).expect("an edge");
        assert_eq!((&last["kind"], &last["in"]["pointer"]), (&json!("recorded"), &json!("/speed")), "{view:#}");
    }
    let place = done("own", &json!({ "speed": "fast" }));
    let view = why(&place, "root/step:own", "output:/mode");
    assert_eq!(view["edges"][0]["of"]["scope"], "block[root/step:own]", "{view:#}");
}

#[test]
fn a_state_with_the_same_field_is_named_beside_an_equal_input() {
    let place = done("both", &json!({ "speed": "fast", "steps": 7 }));
    let view = why(&place, "root/step:both", "output:/mode");
    assert_eq!(origin(&view), ["input", "root/step:both", "/mode"], "{view:#}");
    assert!(said(&view).contains("may as well be from the sequencer[root] state (/mode, event "), "{view:#}");
}
