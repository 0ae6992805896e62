//! Code that does not yield: a cancel ends it at once, and a verdict names the limit that ended its run.
//!
//! The limit of these tests is far longer than a test waits, so that only a cancel can end the code.

use serde_json::{Value, json};
use tests::bench::{Place, program};
use tests::going::Going;
use tests::processes::Processes;

const FLOW: &str = r#"import { defineFlow, handler, sequencer } from "@flow-state-dev/core";
import { z } from "zod";
const any = z.any();
const first = handler({ name: "first", inputSchema: any, outputSchema: any, execute: (input) => input });
const second = handler({ name: "second", inputSchema: any, outputSchema: any, execute: async (input, ctx) => {
  if (ctx.session.state.mode === "loop") for (;;) input.length;
  return input.length;
} });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ mode: z.string().default("none") }) },
  actions: { go: { inputSchema: any, block: sequencer({ name: "all", inputSchema: any }).step(first).step(second) } },
});
"#;

/// Ways in which code does not yield.
const ENDLESS: [&str; 4] = [
    "for (;;) input.length;",
    "for (;;) { try { for (;;) input.length; } catch { } }",
    "for (;;) await null;",
    "const again = () => { Promise.resolve().then(again); }; again(); await new Promise(() => {});",
];

fn place(yield_ms: u32) -> Place {
    let place = Place::new().file("flows/main.ts", FLOW);
    place.get("run main go --user ada --request r --input [1]");
    place.get("keep r --as r.run");
    place.write("flowglass.json", json!({ "limits": { "yieldMs": yield_ms } }).to_string());
    place
}

fn with(code: &str) -> String {
    FLOW.replace("return input.length;", &format!("{code}\n  return input.length;"))
}

/// Waits until a process has computed for as long as nothing else here takes.
fn until_it_loops(place: &Place, going: &Going) {
    let process = Processes { program: going.id(), others: Vec::new() };
    place.until("the code loops", |_| (process.program_ms() > 2_500.0).then_some(()));
}

#[test]
fn a_signal_ends_a_replay_that_does_not_yield_and_it_has_no_verdict() {
    for code in ENDLESS {
        let place = place(600_000);
        place.write("flows/main.ts", with(code));
        for (line, name) in [("verify", "r"), ("verify r.run", "r.run")] {
            let verify = place.start(line);
            until_it_loops(&place, &verify);
            verify.signal("INT");
            let ended = verify.ended();
            assert_eq!(ended.code, Some(1), "{code}\n{ended}");
            let found = ended.json();
            assert_eq!((&found["results"], &found["missing"]), (&json!([]), &json!([name])), "{code}\n{ended}");
        }
    }
}

/// Waits until the process that loads a file of this one has computed for as long as no file here takes.
fn until_its_load_loops(place: &Place, going: &Going) {
    place.until("the file loops", |_| {
        let loading = Processes::of(going.id(), &program())?;
        (loading.program_ms() > 2_500.0).then_some(())
    });
}

/// It waited for the limit of the load.
#[test]
fn a_signal_ends_a_load_that_does_not_yield_and_no_run_has_a_verdict() {
    let place = place(600_000);
    place.write("flows/main.ts", format!("{FLOW}\nfor (;;) {{}}\n"));
    for (line, name) in [("verify", "r"), ("verify r.run", "r.run"), ("verify --flow main", "r")] {
        let verify = place.start(line);
        until_its_load_loops(&place, &verify);
        verify.signal("INT");
        let ended = verify.ended();
        assert_eq!(ended.code, Some(1), "{line}\n{ended}");
        let found = ended.json();
        assert_eq!((&found["results"], &found["missing"]), (&json!([]), &json!([name])), "{line}\n{ended}");
    }
    // Nothing is kept of the load that was ended.
    place.write("flows/main.ts", FLOW);
    assert_eq!(place.get("verify --all")["same"], 1);
}

#[test]
fn a_save_ends_the_round_whose_load_does_not_yield() {
    let place = place(600_000);
    place.write("flows/main.ts", format!("{FLOW}\nfor (;;) {{}}\n"));
    let watch = place.start("verify --watch --all");
    until_its_load_loops(&place, &watch);
    place.write("flows/main.ts", FLOW);
    watch.until_it_prints("the round after the save", |round| round["same"] == 1);
    watch.signal("INT");
    watch.ended();
}

#[test]
fn a_save_ends_the_round_whose_replay_does_not_yield() {
    let place = place(600_000);
    place.write("flows/main.ts", with(ENDLESS[0]));
    let watch = place.start("verify --watch");
    until_it_loops(&place, &watch);
    place.write("flows/main.ts", with("if (input.length > 5) return 0;"));
    watch.until_it_prints("the round after the save", |round| round["same"] == 1);
    watch.signal("INT");
    let ended = watch.ended();
    assert!(ended.stdout.lines().all(|round| !round.contains("differs\":1")), "{ended}");
}

#[test]
fn a_signal_ends_a_sample_that_does_not_yield() {
    let place = place(600_000);
    let tried = place.start("try r --at root/step:second --set session.mode=\"loop\"");
    until_it_loops(&place, &tried);
    tried.signal("INT");
    let ended = tried.ended();
    assert!(ended.code.is_some_and(|code| code != 0), "{ended}");
    assert_eq!(place.ask("check --data").code, Some(0));
}

#[test]
fn a_verdict_names_the_limit_that_ended_its_run() {
    let place = place(1_500);
    for (code, line) in ENDLESS.iter().zip(["verify", "verify r.run", "verify", "verify r.run"]) {
        place.write("flows/main.ts", with(code));
        let verified = place.ask(line);
        let row: &Value = &verified.json()["results"][0];
        assert_eq!((verified.code, &row["verdict"]), (Some(1), &json!("differs")), "{code}\n{verified}");
        let why = row["why"].as_str().unwrap_or_default();
        assert!(why.contains("1500 ms") && why.contains("limits.yieldMs"), "{code}\n{verified}");
    }
    let text = place.run(&["verify"]).stdout;
    assert!(text.contains("limits.yieldMs"), "{text}");
}
