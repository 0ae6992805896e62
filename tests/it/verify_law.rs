//! A law: what `verify` says of an edit is what a run of the edited flow shows. Whatever the edit: a run that is called
//! the same does the same, and one that differs does not; and what is not run because its code is the same would not
//! have differed.

use serde_json::{Value, json};
use tests::bench::Place;

/// A helper that two of three flows use.
const HELPER: &str = r#"export const RATE = 3;
export function rounded(n: number): number {
  return Math.floor(n * 10) / 10;
}
export const label = (n: number): string => (n > 20 ? "many" : "few");
"#;

const FLOW: &str = r#"import { defineFlow, generator, handler, router, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
//IMPORT
const count = handler({ name: "count", inputSchema: z.number(), outputSchema: z.any(), execute: async (n, ctx) => {
  let sum = 0;
  for (let i = 0; i < n; i++) {
    sum += i % 2 === 0 ? i : 1;
  }
  await ctx.session.patchState({ sum });
  if (sum > 30) throw new Error(`too many: ${sum}`);
  return { n, sum: rounded(sum * RATE) };
} });
const odd = handler({ name: "odd", inputSchema: z.any(), outputSchema: z.any(), execute: (seen, ctx) => {
  ctx.emit.message(`odd ${seen.n}`);
  return { ...seen, odd: true };
} });
const even = handler({ name: "even", inputSchema: z.any(), outputSchema: z.any(), execute: (seen) => ({ ...seen, label: label(seen.sum) }) });
const parity = router({ name: "parity", inputSchema: z.any(), routes: [odd, even], execute: (seen) => (seen.n % 2 ? odd : even) });
const each = handler({ name: "each", inputSchema: z.any(), outputSchema: z.any(), execute: (n) => n * 2 });
const words = generator({ name: "words", model: "tiny", inputSchema: z.any(), outputSchema: z.string(), prompt: "Say it.", user: (seen) => `${seen.n} is ${seen.label ?? "odd"}` });
export default defineFlow({
  kind: "KIND",
  session: { stateSchema: z.object({ sum: z.number().default(0) }) },
  actions: { go: { inputSchema: z.number(), block: sequencer({ name: "all", inputSchema: z.number() })
    .step(count).step(parity).tap(words).map((seen) => [seen.n, seen.sum]).forEach(each) } },
});
"#;
const WITH_HELPER: &str = "import { RATE, label, rounded } from \"./helper\";";
const WITHOUT_HELPER: &str =
    "const RATE = 3; const rounded = (n: number) => n; const label = (n: number) => `${n > 20}`;";

/// Edits that change what some runs do, and some that change nothing.
const EDITS: [(&str, &str); 20] = [
    ("sum += i", "sum += i + 0"),
    ("i % 2 === 0", "i % 3 === 0"),
    ("sum > 30", "sum > 20"),
    ("sum > 30", "sum > 3000"),
    ("too many: ", "far too many: "),
    ("let sum = 0", "let sum = 1 - 1"),
    ("i < n", "i <= n"),
    ("patchState({ sum })", "patchState({ sum: Math.min(sum, 12) })"),
    ("odd ${seen.n}", "odd: ${seen.n}"),
    ("...seen, odd: true", "odd: true, ...seen"),
    ("seen.n % 2", "seen.n % 5"),
    ("n * 2", "n > 8 ? n * 2 : n + n"),
    ("n * 2", "n > 8 ? n * 3 : n * 2"),
    (".step(parity)", ".step(parity).tap(() => {})"),
    (".step(parity)", ".stepIf((seen) => seen.n !== 6, parity)"),
    ("[seen.n, seen.sum]", "[seen.sum, seen.n]"),
    ("[seen.n, seen.sum]", "seen.n === 4 ? [] : [seen.n, seen.sum]"),
    ("// ", "// a comment: "),
    ("Say it.", "Say it well."),
    ("} is ${", "} was ${"),
];
const HELPER_EDITS: [(&str, &str); 4] =
    [("RATE = 3", "RATE = 2 + 1"), ("* 10) / 10", "* 100) / 100"), ("n > 20", "n > 40"), ("Math.floor", "Math.round")];
const INPUTS: std::ops::Range<u64> = 0..13;
const ROUNDS: u32 = 100;
const MOCK: &str = r#"{ "models": { "tiny": [{ "text": "said" }] } }"#;

struct Chance(u64);

impl Chance {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % end as u64) as usize
    }
}

fn flow(kind: &str) -> String {
    let import = if kind == "c" { WITHOUT_HELPER } else { WITH_HELPER };
    FLOW.replace("KIND", kind).replace("//IMPORT", import)
}

/// What a run did: its end, its blocks, its items, and what it left in the session.
fn did(place: &Place, request: &str) -> Value {
    let shown = place.get(&format!("show {request}"));
    let blocks = shown["blocks"].as_array().into_iter().flatten();
    let blocks: Vec<Value> = blocks
        .map(|block| {
            json!([block["path"], block["input"], block["output"], block["status"], block["error"]["message"]])
        })
        .collect();
    let items = place.get(&format!("items --request {request} --view client"));
    let items: Vec<Value> =
        items.as_array().into_iter().flatten().map(|item| json!([item["type"], item["content"]])).collect();
    let state = place.get(&format!("state --request {request}"))["session"].clone();
    json!([shown["request"]["status"], shown["output"], blocks, items, state])
}

/// Runs a flow with its mocked model, and returns its session.
fn run(place: &Place, kind: &str, request: &str, input: u64) -> String {
    let line = format!("run {kind} go --user {request} --request {request} --input {input} --mock=mock.json");
    place.ask(&line).json()["sessionId"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn what_is_said_of_an_edit_is_what_a_run_of_it_shows() {
    let place = Place::new();
    place.write("flows/helper.ts", HELPER);
    place.write("mock.json", MOCK);
    let kinds = ["a", "b", "c"];
    for kind in kinds {
        place.write(&format!("flows/{kind}.ts"), flow(kind));
        INPUTS.for_each(|input| drop(run(&place, kind, &format!("{kind}{input}"), input)));
    }
    let recorded = |kind: &str, input: u64| format!("{kind}{input}");
    let before: Vec<(String, Value)> = kinds
        .iter()
        .flat_map(|kind| INPUTS.map(|input| recorded(kind, input)).collect::<Vec<_>>())
        .map(|request| (request.clone(), did(&place, &request)))
        .collect();
    let mut chance = Chance(7);
    let (mut same, mut differ, mut asked) = (0, 0, 0);
    for round in 0..ROUNDS {
        // One or two edits of one flow, or one of the helper.
        let (file, source) = match chance.below(4) {
            0 => {
                let (from, to) = HELPER_EDITS[chance.below(HELPER_EDITS.len())];
                ("flows/helper.ts".to_owned(), HELPER.replacen(from, to, 1))
            }
            _ => {
                let kind = kinds[chance.below(kinds.len())];
                let edits = (0..=chance.below(2)).map(|_| EDITS[chance.below(EDITS.len())]);
                let edited = edits.fold(flow(kind), |source, (from, to)| source.replacen(from, to, 1));
                (format!("flows/{kind}.ts"), edited)
            }
        };
        let original = std::fs::read_to_string(place.dir().join(&file)).expect("it is there");
        place.write(&file, &source);
        let some = place.ask("verify").json();
        let all = place.ask("verify --all").json();
        for verdict in ["differs", "asksNew"] {
            assert_eq!(some[verdict], all[verdict], "{file}: what is not run would have been the same\n{source}");
        }
        let verdict = |request: &str| {
            let rows = all["results"].as_array().into_iter().flatten();
            rows.clone().find(|row| row["requestId"] == request).map(|row| row["verdict"].clone())
        };
        // One of the flow that was edited, or of one that uses the helper.
        let kind = file.strip_prefix("flows/").and_then(|file| file.strip_suffix(".ts")).filter(|kind| kind.len() == 1);
        let kind = kind.unwrap_or("a");
        let input = chance.below(INPUTS.end as usize) as u64;
        let (request, fresh) = (recorded(kind, input), format!("fresh{round}"));
        let session = run(&place, kind, &fresh, input);
        let then = before.iter().find(|(known, _)| *known == request).map(|(_, did)| did);
        let is_same = then == Some(&did(&place, &fresh));
        match verdict(&request) {
            // Whatever the mock says to another question: a replay does not know it.
            Some(asks) if asks == "asks_new" => asked += 1,
            found => {
                let expected = if is_same { "same" } else { "differs" };
                assert_eq!(found, Some(json!(expected)), "{request} after an edit of {file}:\n{source}");
                (same, differ) = (same + u32::from(is_same), differ + u32::from(!is_same));
            }
        }
        place.get(&format!("delete --session {session}"));
        place.write(&file, original);
    }
    assert!(same > 10 && differ > 10 && asked > 0, "all are tried: {same}, {differ} and {asked}");
    assert_eq!(place.get("verify")["unaffected"], json!(INPUTS.end * 3));
}

/// A flow that sends itself `count` requests, so that one process records all of them.
const SHOP: &str = r#"import { defineFlow, dispatchThroughSeam, handler, markDispatcher } from "@flow-state-dev/core";
import { z } from "zod";
import { price } from "./price";
const send = handler({ name: "send", inputSchema: z.number(), outputSchema: z.any(), execute: async (count, ctx) => {
  for (let n = 0; n < count; n++) await dispatchThroughSeam(ctx, { type: "internal", target: "buy", session: { key: `s${n}` }, payload: { n }, from: "send" });
} });
const buy = handler({ name: "buy", inputSchema: z.any(), outputSchema: z.any(), execute: ({ n }) => ({ n, price: price(n) }) });
export default defineFlow({
  kind: "KIND",
  actions: { go: { inputSchema: z.number(), block: markDispatcher(send, { type: "internal", target: "buy" }) } },
  internal: { actions: { buy: { block: buy } } },
});
"#;

/// Of a thousand requests of ten flows exactly those differ that the edit of their one helper affects, and they are one
/// group.
#[test]
fn an_edit_of_a_helper_of_ten_flows_is_found_in_exactly_the_affected_requests() {
    const FLOWS: usize = 10;
    const EACH: usize = 100;
    let place = Place::new();
    place.write("flows/price.ts", "export const price = (n: number) => (n % 5 === 0 ? n * 2 : n);\n");
    for nth in 0..FLOWS {
        place.write(&format!("flows/shop{nth}.ts"), SHOP.replace("KIND", &format!("shop{nth}")));
        place.get(&format!("run shop{nth} go --user ada --request go{nth} --input {EACH}"));
    }
    place.write("flows/price.ts", "export const price = (n: number) => (n % 10 === 0 ? n * 2 : n);\n");
    let verified = place.ask("verify").json();
    let affected = (0..EACH).filter(|n| n % 5 == 0 && n % 10 != 0).count() * FLOWS;
    assert_eq!(verified["differs"], json!(affected));
    assert_eq!(verified["same"], json!(FLOWS * EACH + FLOWS - affected));
    for row in verified["results"].as_array().into_iter().flatten().filter(|row| row["verdict"] == "differs") {
        let n = row["recorded"]["n"].as_u64().unwrap_or_default();
        assert!(n % 5 == 0 && n % 10 != 0, "{row}");
    }
    let groups = verified["groups"].as_array().cloned().unwrap_or_default();
    assert_eq!(groups.len(), 1, "{groups:#?}");
    assert_eq!(groups[0]["flows"].as_array().map(Vec::len), Some(FLOWS));
}
