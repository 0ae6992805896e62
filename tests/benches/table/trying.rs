//! Experiments: arms that begin late in a long request, and run nothing of what came before.

use runner::{Cancel, Durability, SetAxis, TryQuery};
use serde_json::json;
use tests::bench::Place;

use super::figure::{Figure, Table};
use super::trial::{median, now_ms, open, run};

const STEPS: usize = 1_000;
const FROM: usize = 900;
const ARMS: usize = 100;
const ROUNDS: usize = 5;

fn flow() -> String {
    format!(
        "import {{ defineFlow, handler, sequencer }} from '@flow-state-dev/core';\nimport {{ z }} from 'zod';\n\
         const any = z.any();\n\
         const one = handler({{ name: 'one', inputSchema: any, outputSchema: any, execute: (n) => n + 1 }});\n\
         const last = handler({{ name: 'last', inputSchema: any, outputSchema: any, execute: (n) => n + 1 }});\n\
         let all = sequencer({{ name: 'all', inputSchema: any }});\n\
         for (let n = 0; n < {STEPS}; n++) all = all.step(n < {FROM} ? one : last);\n\
         export default defineFlow({{ kind: 'main', actions: {{ go: {{ inputSchema: any, block: all }} }} }});\n"
    )
}

pub(crate) fn measure(table: &mut Table) {
    let place = Place::new().file("flows/main.ts", &flow());
    let workspace = open(&place, Durability::Process);
    run(&workspace, "r", json!(0));
    let started = (0..ROUNDS).map(|_| {
        let values = (1..=ARMS).map(|n| json!(n)).collect();
        let query = TryQuery {
            request: "r".to_owned(),
            at: "root/step:last".to_owned(),
            set: vec![SetAxis { place: "session.n".to_owned(), values }],
            ..TryQuery::default()
        };
        let begin = now_ms();
        let view = workspace.try_out(&query, &Cancel::default(), |_| {}).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!((view.arms.len(), view.missing), (ARMS, 0));
        let samples = view.arms.iter().flat_map(|arm| &arm.samples);
        let times = samples.map(|sample| workspace.request(&sample.request_id).expect("it is there").started_at as f64);
        times.fold(begin, f64::max) - begin
    });
    let name = "100 arms from step 900 of 1,000, until all are started";
    table.push(Figure::below(name, median(started.collect()), "ms", 1_000.0));
}
