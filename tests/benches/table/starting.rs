//! What a person waits for before anything runs, and what the program weighs.

use std::process::Command;

use tests::bench::{Place, chain, program};
use tests::webdriver::Window;

use super::figure::{Figure, Table};
use super::trial::{median, median_ms, most_memory_mb, ms};

const MEGABYTE: f64 = 1_048_576.0;

pub(crate) fn measure(table: &mut Table) {
    let place = Place::with_examples();
    place.get("flows");
    let time = median_ms(15, |_| {
        place.get("flows");
    });
    table.push(Figure::below("flowglass flows", time, "ms", 150.0));
    cold(table);
    window(table, &place);
    let bytes = std::fs::metadata(program()).expect("the program is there").len() as f64;
    table.push(Figure::below("the program", bytes / MEGABYTE, "MB", 60.0));
    memory(table);
}

/// Many flows of which none was loaded before.
fn cold(table: &mut Table) {
    const FLOWS: usize = 300;
    let place = Place::new();
    for n in 0..FLOWS {
        let source = format!(
            r#"import {{ defineFlow, handler, sequencer }} from "@flow-state-dev/core";
import {{ z }} from "zod";
const input = z.object({{ n: z.number() }});
const add = handler({{ name: "add", inputSchema: input, execute: async (input) => ({{ n: input.n + {n} }}) }});
export default defineFlow({{
  kind: "flow-{n}",
  actions: {{ go: {{ block: sequencer({{ name: "go", inputSchema: input }}).step(add) }} }},
}});
"#
        );
        place.write(&format!("flows/flow-{n}.ts"), source);
    }
    let time = median_ms(3, |_| {
        let _ = std::fs::remove_dir_all(place.dir().join(".flowglass"));
        assert_eq!(place.get("flows").as_array().map(Vec::len), Some(FLOWS));
    });
    table.push(Figure::below("300 flows, none loaded before", time, "ms", 4_000.0));
}

/// From the start of the program until its flows can be clicked. The driver that starts it is running.
fn window(table: &mut Table, place: &Place) {
    let dir = place.dir().display().to_string();
    let mut times = Vec::new();
    for _ in 0..5 {
        let window = Window::open(&program(), &["open", &dir]);
        window.wait_for_text("[data-testid=\"action-chat-chat\"]", "chat");
        times.push(ms(window.age()));
    }
    table.push(Figure::below("the window, from click to its flows", median(times), "ms", 1_500.0));
}

/// The most memory of a process that runs a chain of 10,000 steps.
fn memory(table: &mut Table) {
    let place = Place::with_flow(&chain(10_000, ""));
    // Bundled before, as a flow is that somebody has looked at.
    place.get("flows");
    let mut command = Command::new(program());
    command.args(["run", "main", "go", "--user", "bench", "--input", "0", "--json"]).current_dir(place.dir());
    let most = most_memory_mb(&mut command);
    table.push(Figure::below("memory of a run of 10,000 steps", most, "MB", 80.0));
}
