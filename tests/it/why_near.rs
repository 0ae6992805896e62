//! `why` where the nearest value by the structure of a run is the origin, and not what is equal elsewhere: short
//! values, branches and entries, parts of texts, and texts of the block's own code.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};

const FLOW: &str = r#"
const st = z.object({ total: z.number().default(0), tier: z.string().default("") });
const step = (name: string, execute: any) => handler({ name, inputSchema: z.any(), sessionStateSchema: st, execute });
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const w1 = handler({ name: "w1", sessionStateSchema: st, execute: async (i: any, c: any) => {
  await c.session.patchState({ total: 5, tier: "gold" });
  return {};
} });
const r1 = handler({ name: "r1", sessionStateSchema: st,
  execute: (_: any, c: any) => ({ total: c.session.state.total, tier: c.session.state.tier }) });
const fin = handler({ name: "fin", execute: (i: any) => i });
const pick = handler({ name: "pick", execute: (i: any) => ({
  level: i.tier === "gold" ? "high" : "low",
  tier: i.tier,
  sum: i.a * 1000 + i.b,
}) });
const save = handler({ name: "save", sessionStateSchema: st, execute: async (i: any, c: any) => {
  await c.session.patchState({ tier: i.tier });
  return i;
} });
const pj = step("pj", (i: any) => ({ sum: i.a.v + i.b.v, a: i.a.v }));
const each = handler({ name: "each", execute: (i: any) => ({ price: i.price * 2, note: i.note }) });
const total = step("total", (x: any) => ({ second: x[1].price }));
const order = handler({ name: "order", execute: (i: any) => ({
  id: i.mail.match(/ORD-\d+/)[0], trimmed: i.padded.trim(), tail: i.mail.slice(-12),
}) });
const turn = handler({ name: "turn", execute: (i: any) => ({
  n: i.n + 1,
  words: `words of turn number ${i.n} here`,
  fixed: "the same words each time",
}) });
const asks = handler({ name: "asks", execute: async (i: any, c: any) => {
  const answer = await c.suspend({ reason: "human_input", message: "Which?" });
  return { city: i.city, said: answer.said };
} });
export default defineFlow({
  kind: "near",
  session: { stateSchema: st },
  actions: {
    state: { block: chain("s").step(w1).step(r1).step(fin) },
    pick: { block: chain("p").step(pick) },
    save: { block: chain("v").step(save) },
    par: { block: chain("j").parallel({
      a: step("pa", () => ({ v: 1, text: "a text of both branches" })),
      b: step("pb", () => ({ v: 2, text: "a text of both branches" })),
    }).step(pj) },
    each: { block: chain("e").map((i: any) => i.items).forEach(each).step(total) },
    list: { block: chain("l").step(fin).forEach((i: any) => i.items, each) },
    order: { block: chain("o").step(order) },
    loop: { block: chain("t").doUntil((v: any) => v.n >= 3, turn) },
    ask: { block: chain("k").step(asks).map((i: any) => ({ city: i.city, said: i.said, more: 1 })).step(fin) },
  },
});
"#;

fn ran(action: &str, input: &Value) -> (Place, Answer) {
    let place = Place::with_flow(FLOW);
    let words = ["run", "near", action, "--user", "ada", "--session", "s", "--request", "r", "--json"];
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

fn line_of(text: &str) -> Option<u64> {
    FLOW.lines().position(|line| line.contains(text)).map(|at| at as u64 + 3)
}

#[test]
fn a_short_value_of_the_state_leads_to_its_write() {
    let place = done("state", &json!({}));
    for (at, pointer) in [("root/step:r1", "output:/tier"), ("root/step:r1", "output:/total")] {
        let view = why(&place, at, pointer);
        assert_eq!(origin(&view)[0], "state", "{view:#}");
        let write = &view["edges"][1];
        assert_eq!((&write["kind"], &write["by"]["path"]), (&json!("written"), &json!("root/step:w1")), "{view:#}");
        assert!(!said(&view).contains("root/step:r1 (flows/main.ts"), "{view:#}");
    }
    let tier = why(&place, "root/step:r1", "output:/tier");
    let code = &tier["edges"][2];
    assert_eq!((&code["operation"], &code["by"]["path"]), (&json!("text_of_code"), &json!("root/step:w1")), "{tier:#}");
    assert_eq!(code["by"]["line"].as_u64(), line_of("tier: \"gold\""), "{tier:#}");
    // Through the handler that returns what it got, too.
    let last = why(&place, "root", "output:/tier");
    let edges = last["edges"].as_array().expect("edges");
    assert!(edges.iter().any(|edge| edge["by"]["path"] == "root/step:w1"), "{last:#}");
}

#[test]
fn a_short_field_that_was_read_from_the_input_is_no_text_of_the_code() {
    let place = done("pick", &json!({ "tier": "gold", "a": 4, "b": 2 }));
    let tier = why(&place, "root/step:pick", "output:/tier");
    assert_eq!(origin(&tier), ["input", "root/step:pick", "/tier"], "{tier:#}");
    assert!(!said(&tier).contains("text of the code"), "{tier:#}");
    let level = why(&place, "root/step:pick", "output:/level");
    assert_eq!((&level["edges"][0]["operation"], &level["edges"][0]["proven"]), (&json!("text_of_code"), &json!(true)));
    assert_eq!(level["edges"][0]["by"]["line"].as_u64(), line_of("level: i.tier"), "{level:#}");
    // The line of the property is named; whether a short value was computed is not known.
    let sum = why(&place, "root/step:pick", "output:/sum");
    let edge = &sum["edges"][0];
    assert_eq!((&edge["kind"], &edge["proven"]), (&json!("computed"), &json!(false)), "{sum:#}");
    assert_eq!(edge["by"]["line"].as_u64(), line_of("sum: i.a * 1000"), "{sum:#}");
    assert!(said(&sum).contains("whether it computed or copied it is not known"), "{sum:#}");
}

#[test]
fn a_short_field_that_is_written_leads_to_the_input() {
    let place = done("save", &json!({ "tier": "vip" }));
    let state = why(&place, "root", "session.tier");
    let copied = &state["edges"][1];
    assert_eq!((&copied["kind"], &copied["of"]["where"]), (&json!("copied"), &json!("input")), "{state:#}");
    assert!(!said(&state).contains("computed"), "{state:#}");
    let output = why(&place, "root/step:save", "output:/tier");
    assert_eq!(origin(&output), ["input", "root/step:save", "/tier"], "{output:#}");
}

#[test]
fn a_joined_value_leads_to_its_branches() {
    let place = done("par", &json!({}));
    let short = why(&place, "root/step:pj", "/a/v");
    assert_eq!(origin(&short), ["output", "root/parallel/a", "/v"], "{short:#}");
    for arm in ["a", "b"] {
        let text = why(&place, "root/step:pj", &format!("/{arm}/text"));
        assert_eq!(origin(&text), ["output", &format!("root/parallel/{arm}"), "/text"], "{text:#}");
    }
    let whole = why(&place, "root/step:pj", "");
    let of: Vec<&Value> = whole["edges"].as_array().into_iter().flatten().filter(|edge| edge["depth"] == 0).collect();
    assert_eq!(of.len(), 2, "{whole:#}");
    assert!(of.iter().all(|edge| edge["operation"] == "branch"), "{whole:#}");
}

#[test]
fn an_entry_of_a_list_leads_to_its_block_and_from_it() {
    let items = json!({ "items": [{ "price": 10, "note": "the same note for all" },
        { "price": 20, "note": "the same note for all" }, { "price": 30, "note": "the same note for all" }] });
    let place = done("each", &items);
    let price = why(&place, "root/step:total", "/1/price");
    assert_eq!(origin(&price), ["output", "root/forEach:each[1]", "/price"], "{price:#}");
    let note = why(&place, "root/step:total", "/2/note");
    assert_eq!(origin(&note), ["output", "root/forEach:each[2]", "/note"], "{note:#}");
    let place = done("list", &items);
    for value in ["/note", "/price"] {
        let given = why(&place, "root/forEach:each[2]", value);
        let [.., pointer] = origin(&given);
        assert!(pointer == format!("/items/2{value}") || pointer == format!("/2{value}"), "{given:#}");
    }
    let out = why(&place, "root", "output:/1/note");
    assert_eq!(origin(&out), ["output", "root/forEach:each[1]", "/note"], "{out:#}");
}

#[test]
fn a_short_part_of_what_the_block_got_is_found() {
    let input = json!({ "mail": "About ORD-1234567: it is late, sincerely yours", "padded": "  sixteen letters " });
    let place = done("order", &input);
    for (field, from) in [("id", "/mail"), ("trimmed", "/padded"), ("tail", "/mail")] {
        let view = why(&place, "root/step:order", &format!("output:/{field}"));
        assert_eq!(origin(&view), ["input", "root/step:order", from], "{view:#}");
    }
}

#[test]
fn a_text_that_the_code_of_the_block_has_comes_first_and_an_equal_one_is_named() {
    let place = done("loop", &json!({ "n": 0 }));
    let words = why(&place, "root", "output:/words");
    let code = words["edges"].as_array().into_iter().flatten().find(|edge| edge["operation"] == "text_of_code");
    let code = code.expect("text of the code");
    assert_eq!(code["text"], "words of turn number ", "{words:#}");
    assert_eq!(code["ties"][0]["pointer"], "/words", "{words:#}");
    let fixed = why(&place, "root", "output:/fixed");
    let edges = fixed["edges"].as_array().expect("edges");
    let code = edges.iter().find(|edge| edge["kind"] != "copied").expect("an end");
    assert_eq!((&code["operation"], &code["proven"]), (&json!("text_of_code"), &json!(false)), "{fixed:#}");
    assert_eq!(code["by"]["line"].as_u64(), line_of("fixed: "), "{fixed:#}");
    assert!(said(&fixed).contains("may as well be from"), "{fixed:#}");
}

#[test]
fn equal_words_of_a_person_and_of_the_input_each_lead_to_their_own() {
    let words = "the same words of both";
    let (place, answer) = ran("ask", &json!({ "city": words }));
    assert_eq!(answer.code, Some(4), "{answer}");
    let resumed = place.run(&["resume", "r", "--submit", &json!({ "said": words }).to_string(), "--json"]);
    assert_eq!(resumed.code, Some(0), "{resumed}");
    let city = why(&place, "root/step:asks", "output:/city");
    assert_eq!(origin(&city), ["input", "root/step:asks", "/city"], "{city:#}");
    for field in ["city", "said"] {
        let view = why(&place, "root/step:fin", &format!("/{field}"));
        assert_eq!(origin(&view), ["output", "root/step:asks", &format!("/{field}")], "{view:#}");
    }
}
