//! Cost must not grow with the size of what did not change: time of long chains, bytes of large states.

use runner::{Durability, Shape, Synthetic};
use serde_json::{Value, json};
use tests::bench::{Place, chain};

use super::figure::{Figure, Limit, Table};
use super::trial::{bytes_on_disk, median, open, run, step_us};

/// Bytes of database that a step may cost beyond what is new in it.
const BEYOND: f64 = 2_048.0;

pub(crate) fn measure(table: &mut Table) {
    long_chain(table);
    let grown = beyond(GROWS, 500, 1_024.0);
    table.push(Figure::below("bytes of a step beyond 1 KB that is pushed", grown, "B", BEYOND));
    let kept = beyond(KEEPS, 200, 0.0);
    table.push(Figure::below("bytes of a step beside 1 MB that stays", kept, "B", BEYOND));
    whole(table);
}

fn long_chain(table: &mut Table) {
    let (short, long) = (Place::with_flow(&chain(1_000, "")), Place::with_flow(&chain(10_000, "")));
    let (few, many) = (open(&short, Durability::Process), open(&long, Durability::Process));
    let (mut of_few, mut of_many) = (Vec::new(), Vec::new());
    for round in 0..5 {
        let request = format!("r{round}");
        let answered = run(&few, &request, json!(0));
        of_few.push(step_us(&few, &request, 1_000, answered));
        let answered = run(&many, &request, json!(0));
        of_many.push(step_us(&many, &request, 10_000, answered));
    }
    let (few, many) = (median(of_few), median(of_many));
    table.push(Figure::line("a step of a chain of 10,000", many, "µs", "of 1,000", few, Limit::AtMost(1.2)));
}

/// Noise, so that no two kilobytes are alike.
const NOISE: &str = "
let seed = 7;
const noise = (bytes) => {
  let text = \"\";
  while (text.length < bytes) { seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648; text += seed.toString(36); }
  return text.slice(0, bytes);
};
";

const GROWS: &str = "
const add = handler({ name: \"add\", execute: async (n, ctx) => { await ctx.sequencer.pushState(\"log\", noise(1_024)); return n + 1; } });
let chain = sequencer({ name: \"chain\", inputSchema: z.any(), stateSchema: z.object({ log: z.array(z.string()).default([]) }) });
for (let n = 0; n < STEPS; n++) chain = chain.step(add);
export default defineFlow({ kind: \"main\", actions: { go: { block: chain } } });
";

const KEEPS: &str = "
const fill = handler({ name: \"fill\", execute: async (n, ctx) => { await ctx.sequencer.patchState({ kept: noise(1_048_576) }); return n; } });
const add = handler({ name: \"add\", execute: async (n, ctx) => { await ctx.sequencer.incState({ done: 1 }); return n + 1; } });
let chain = sequencer({ name: \"chain\", inputSchema: z.any(), stateSchema: z.object({ done: z.number().default(0), kept: z.string().default(\"\") }) }).step(fill);
for (let n = 0; n < STEPS; n++) chain = chain.step(add);
export default defineFlow({ kind: \"main\", actions: { go: { block: chain } } });
";

/// The bytes of database of each step beyond the bytes that are new in it: a chain of so many steps against
/// one without any.
fn beyond(source: &str, steps: usize, new: f64) -> f64 {
    let bytes = |steps: usize| {
        let place = Place::with_flow(&format!("{NOISE}{}", source.replace("STEPS", &steps.to_string())));
        run(&open(&place, Durability::Process), "r", json!(0));
        bytes_on_disk(&place)
    };
    (bytes(steps) - bytes(0)) / steps as f64 - new
}

fn whole(table: &mut Table) {
    for shape in [Shape::Mixed, Shape::State, Shape::Chat] {
        let place = Place::new();
        let workspace = open(&place, Durability::Process);
        let wanted = Synthetic { events: 50_000, requests: 2, seed: 5, shape, rate: None, at_once: 0 };
        workspace.synthesize(&wanted).unwrap_or_else(|fault| panic!("{fault}"));
        let stats = json!(workspace.stats().expect("it counts"));
        drop(workspace);
        let count = |name: &str| stats[name].as_f64().unwrap_or_else(|| panic!("{name} in {stats}"));
        let most = 1.5 * count("uniquePayloadBytes") + 600.0 * count("events");
        let what = format!("a database of {} {} events", Value::from(count("events") as u64), shape.as_str());
        table.push(Figure::below(&what, bytes_on_disk(&place) / 1e6, "MB", most / 1e6));
    }
}
