//! Reading: any instant of a long request, and what lists and searches cost over a large log.

use std::sync::Arc;

use runner::{At, Durability, SearchQuery, SessionQuery, Shape, Synthetic, Workspace};
use serde_json::json;
use tests::bench::Place;

use super::figure::{Figure, Table};
use super::trial::{median_ms, open, run};

/// About how many events a long request has.
const LONG: u64 = 100_000;
const REQUESTS: u32 = 10;
const GOES: usize = 31;

pub(crate) fn measure(table: &mut Table) {
    instants(table);
    large_states(table);
    search(table);
    sessions(table);
    blocks(table);
}

fn synthetic(events: u64, requests: u32, shape: Shape) -> (Place, Arc<Workspace>, Vec<String>) {
    let place = Place::new();
    let workspace = open(&place, Durability::Process);
    let wanted = Synthetic { events, requests, seed: 3, shape, rate: None, at_once: 0 };
    let made = workspace.synthesize(&wanted).unwrap_or_else(|fault| panic!("{fault}"));
    (place, workspace, made.requests)
}

fn instants(table: &mut Table) {
    for shape in [Shape::State, Shape::Mixed] {
        let (_place, workspace, requests) = synthetic(LONG, 1, shape);
        let last = workspace.stats().unwrap_or_else(|fault| panic!("{fault}")).events;
        let mut seq = 1;
        let time = median_ms(GOES * 3, |_| {
            seq = seq * 48_271 % last;
            let state = workspace.request_state(&requests[0], Some(&At::Seq(seq.max(3))));
            state.unwrap_or_else(|fault| panic!("{fault}"));
        });
        let what = format!("state at a random event of 100,000, {}", shape.as_str());
        table.push(Figure::below(&what, time, "ms", 10.0));
    }
}

const LARGE: &str = "
const rows = (n) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`row ${i}`, { id: i, text: `a line of text with the number ${i * 7919} in it`, tags: [\"a\", \"b\"] }]));
const fill = handler({ name: \"fill\", execute: async (n, ctx) => { await ctx.session.patchState({ table: rows(11_000) }); return n; } });
const edit = handler({ name: \"edit\", execute: async (n, ctx) => {
  const table = { ...ctx.session.state.table, \"row 17\": { id: 17, text: \"another\", tags: [] } };
  delete table[\"row 400\"];
  await ctx.session.patchState({ table });
  return n;
} });
export default defineFlow({ kind: \"main\", session: { stateSchema: z.object({ table: z.any() }) }, actions: { go: { block: sequencer({ name: \"chain\", inputSchema: z.any() }).step(fill).step(edit) } } });
";

fn large_states(table: &mut Table) {
    let place = Place::with_flow(LARGE);
    let workspace = open(&place, Durability::Process);
    run(&workspace, "r", json!(0));
    let (from, to) = (At::Path("root/step:fill".to_owned()), At::Path("root/step:edit".to_owned()));
    let state = workspace.request_state("r", Some(&to)).unwrap_or_else(|fault| panic!("{fault}"));
    let bytes = json!(state).to_string().len();
    assert!(bytes > 1_000_000, "{bytes} bytes");
    let time = median_ms(GOES, |_| {
        let changes = workspace.diff("r", Some(&from), Some(&to), None).unwrap_or_else(|fault| panic!("{fault}"));
        assert!(!changes.is_empty() && changes.len() < 20, "{} changes", changes.len());
    });
    table.push(Figure::below("diff of two states of 1 MB", time, "ms", 30.0));
}

fn search(table: &mut Table) {
    let (_place, workspace, _) = synthetic(LONG, REQUESTS, Shape::Mixed);
    let queries = [
        ("a word that is everywhere", "orchard"),
        ("two words in a row", "zephyr juniper"),
        ("three letters", "umb"),
        ("a number", "937"),
        ("what is nowhere", "xylophone"),
    ];
    for (what, text) in queries {
        let query = SearchQuery { text: text.to_owned(), limit: Some(50), ..SearchQuery::default() };
        let time = median_ms(9, |_| {
            workspace.search(&query).unwrap_or_else(|fault| panic!("{fault}"));
        });
        table.push(Figure::below(&format!("search in 1,000,000 events, {what}"), time, "ms", 300.0));
    }
}

fn sessions(table: &mut Table) {
    let (_place, workspace, _) = synthetic(20, 10_000, Shape::Mixed);
    let query = || SessionQuery { limit: Some(50), ..SessionQuery::default() };
    let time = median_ms(GOES, |_| {
        assert_eq!(workspace.sessions(query()).map(|rows| rows.len()).unwrap_or_else(|fault| panic!("{fault}")), 50);
    });
    table.push(Figure::below("first page of 10,000 sessions", time, "ms", 20.0));
}

fn blocks(table: &mut Table) {
    let (_place, workspace, requests) = synthetic(20_010, 1, Shape::Chain);
    let shown = workspace.show(&requests[0]).unwrap_or_else(|fault| panic!("{fault}"));
    assert!(shown.blocks.len() >= 10_000, "{} blocks", shown.blocks.len());
    let time = median_ms(GOES, |_| {
        workspace.show(&requests[0]).unwrap_or_else(|fault| panic!("{fault}"));
    });
    table.push(Figure::below("show of a request of 10,000 blocks", time, "ms", 200.0));
}
