//! A flow whose code changed between two parts of a request (SEMANTICS §10.3): what ended is found by its
//! path and its name, new steps run, and what does not fit is refused before it can do harm.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::pattern::assert_matches;

/// A flow of one chain. Steps leave their names in the session when they end; `gate` asks.
fn flow(steps: &str) -> String {
    format!(
        "import {{ defineFlow, handler, router, sequencer }} from \"@flow-state-dev/core\";
         import {{ z }} from \"zod\";
         const does = (name: string, more: object = {{}}) => handler({{ name, ...more, execute: async (input: any, ctx: any) => {{ await ctx.session.pushState('log', name); return name; }} }});
         const gate = handler({{ name: 'gate', execute: async (_input: any, ctx: any) => (await ctx.suspend({{ reason: 'approval', allow: ['approve', 'reject'] }})) ?? 'approved' }});
         const chain = (name: string) => sequencer({{ name, inputSchema: z.any() }});
         export default defineFlow({{ kind: 'edited', session: {{ stateSchema: z.object({{ log: z.array(z.string()).default([]) }}) }},
           actions: {{ go: {{ block: chain('edited'){steps} }} }} }});"
    )
}

struct Edited(Place);

impl Edited {
    /// A request that waits for an answer after these steps, in the session `s`.
    fn waiting(steps: &str) -> Edited {
        let edited = Edited(Place::new().file("flows/edited.ts", &flow(steps)));
        let answer = edited.0.ask("run edited go --user ada --session s --request r --input 1");
        assert_eq!(answer.code, Some(4), "{answer}");
        edited
    }

    fn change(&self, steps: &str) {
        self.0.write("flows/edited.ts", flow(steps));
    }

    #[track_caller]
    fn completes(&self, log: &[&str]) -> Value {
        let answer = self.0.ask("resume r --approve");
        assert_eq!(answer.code, Some(0), "{answer}");
        assert_eq!(self.0.get("state --session s")["session"]["log"], json!(log));
        answer.json()
    }

    /// Refused as drift that names the place; the request stands as before, with its question.
    #[track_caller]
    fn drifts(&self, words: &str, details: &Value) {
        for _ in 0..2 {
            let answer = self.0.ask(words);
            assert_eq!(answer.code, Some(7), "{answer}");
            let error = json!({ "name": "ReplayDriftError", "code": "replay_drift", "…": 0 });
            assert_matches("drift", &answer.json()["error"], &error);
            let noted = answer.json()["error"]["message"].to_string();
            for part in ["recorded", "found"] {
                let told = details[part].as_str().unwrap_or_default().replace('"', "\\\"");
                assert!(noted.contains(&told), "{told:?} is not in {noted}");
            }
            assert!(noted.contains(details["path"].as_str().unwrap_or_default()), "{noted}");
            assert_eq!(self.0.get("requests")[0]["status"], "suspended");
            let asked = self.0.get("suspensions --status pending");
            assert_eq!(asked.as_array().map(Vec::len), Some(1), "{asked}");
            assert_eq!(self.0.get("items --request r --type error"), json!([]));
        }
    }
}

const STEPS: &str = ".step(does('a')).step(does('b')).step(gate).step(does('c'))";

#[test]
fn nothing_changed() {
    Edited::waiting(STEPS).completes(&["a", "b", "c"]);
}

#[test]
fn an_inserted_step_runs_and_nothing_else_runs_again() {
    let edited = Edited::waiting(STEPS);
    edited.change(".step(does('new')).step(does('a')).step(does('b')).step(gate).step(does('c'))");
    edited.completes(&["a", "b", "new", "c"]);
}

#[test]
fn a_removed_step_is_no_drift() {
    let edited = Edited::waiting(STEPS);
    edited.change(".step(does('b')).step(gate).step(does('c'))");
    edited.completes(&["a", "b", "c"]);
}

#[test]
fn a_renamed_step_is_a_new_step() {
    let edited = Edited::waiting(STEPS);
    edited.change(".step(does('a')).step(does('renamed')).step(gate).step(does('c'))");
    assert_eq!(edited.0.get("resume r --approve --plan")["new"], json!(["root/step:renamed"]));
    edited.completes(&["a", "b", "renamed", "c"]);
}

#[test]
fn reordered_steps_keep_what_they_gave() {
    let edited = Edited::waiting(STEPS);
    edited.change(".step(does('b')).step(does('a')).step(gate).step(does('c'))");
    let drift = edited.0.get("resume r --approve --plan")["drift"].to_string();
    assert!(drift.contains("drift: root/step:a") && drift.contains("drift: root/step:b"), "{drift}");
    edited.completes(&["a", "b", "c"]);
    // Each got another input than it had; that is noted, and what it came to stays.
    let notes = edited.0.get("events r --kind drift").to_string();
    assert!(notes.contains("drift: root/step:a") && notes.contains("drift: root/step:b"), "{notes}");
}

#[test]
fn a_removed_gate_lets_the_request_go_on() {
    let edited = Edited::waiting(STEPS);
    edited.change(".step(does('a')).step(does('b')).step(does('c'))");
    let ended = edited.completes(&["a", "b", "c"]);
    assert_eq!(ended["output"], "c");
    let asked = edited.0.get("suspensions");
    assert_eq!(asked[0]["status"], "approved", "{asked}");
}

#[test]
fn a_gate_that_was_inserted_asks() {
    let edited = Edited::waiting(STEPS);
    edited.change(".step(does('a')).step(handler({ name: 'earlier', execute: (_i: any, ctx: any) => ctx.suspend({ reason: 'approval', message: 'earlier' }) })).step(does('b')).step(gate).step(does('c'))");
    let answer = edited.0.ask("resume r --approve");
    assert_eq!(answer.code, Some(4), "{answer}");
    // The answer to the later gate is kept for it.
    let asked = edited.0.get("suspensions");
    assert_eq!(
        (&asked[0]["message"], &asked[0]["status"], &asked[1]["status"]),
        (&json!("earlier"), &json!("pending"), &json!("approved"))
    );
    edited.completes(&["a", "b", "c"]);
}

#[test]
fn another_kind_of_block_under_the_same_name_is_drift() {
    let edited = Edited::waiting(STEPS);
    edited.change(".step(chain('a').map(() => 'a')).step(does('b')).step(gate).step(does('c'))");
    edited.drifts(
        "resume r --approve",
        &json!({ "path": "root/step:a", "recorded": "handler \"a\"", "found": "sequencer \"a\"" }),
    );
    edited.change(STEPS);
    edited.completes(&["a", "b", "c"]);
}

#[test]
fn another_name_at_a_numbered_place_is_drift() {
    let edited = Edited::waiting(".parallel({ left: does('a'), right: does('b') }).step(gate).step(does('c'))");
    edited.change(".parallel({ left: does('b'), right: does('a') }).step(gate).step(does('c'))");
    edited.drifts(
        "resume r --approve",
        &json!({ "path": "root/parallel/", "recorded": "handler \"", "found": "handler \"" }),
    );
    edited.change(".parallel({ right: does('b'), left: does('a') }).step(gate).step(does('c'))");
    edited.completes(&["a", "b", "c"]);
}

#[test]
fn drift_within_a_chain_hurts_no_chain_around_it() {
    let inner = |steps: &str| format!(".step(does('a')).step(chain('inner').step({steps}).step(gate)).step(does('c'))");
    let edited = Edited::waiting(&inner("does('b')"));
    edited.change(&inner("chain('b').map(() => 1)"));
    edited.drifts(
        "resume r --reject",
        &json!({ "path": "root/step:inner/step:b", "recorded": "handler \"b\"", "found": "sequencer \"b\"" }),
    );
    edited.change(&inner("does('b')"));
    edited.completes(&["a", "b", "c"]);
}

#[test]
fn drift_in_work_beside_the_chain_is_refused_too() {
    let steps = |beside: &str| format!(".work({beside}).waitForWork().step(gate).step(does('c'))");
    let edited = Edited::waiting(&steps("does('b')"));
    edited.change(".work(chain('b').map(() => 1)).step(does('c'))");
    edited.drifts(
        "resume r --approve",
        &json!({ "path": "root/work:b", "recorded": "handler \"b\"", "found": "sequencer \"b\"" }),
    );
    edited.change(&steps("does('b')"));
    edited.completes(&["b", "c"]);
}

#[test]
fn a_router_that_picks_another_route_is_drift() {
    let steps = |route: &str| {
        format!(
            ".step(does('a')).step(router({{ name: 'way', inputSchema: z.any(), routes: [chain('left').step(gate), chain('right').step(gate)], execute: () => chain('{route}').step(gate) as any }})).step(does('c'))"
        )
    };
    let edited = Edited::waiting(&steps("left"));
    edited.change(&steps("right"));
    edited.drifts(
        "resume r --approve",
        &json!({ "path": "root/step:way", "recorded": "route \"left\"", "found": "route \"right\"" }),
    );
    edited.change(&steps("left"));
    edited.completes(&["a", "c"]);
}

#[test]
fn a_refused_choice_leaves_nothing_behind() {
    // The function that chooses says something, so the log has what it answered.
    let steps = |route: &str| {
        format!(
            ".step(does('a')).step(router({{ name: 'way', inputSchema: z.any(), routes: [chain('{route}').step(gate)], execute: () => {{ console.log('choosing'); return chain('{route}').step(gate) as any; }} }})).step(does('c'))"
        )
    };
    let edited = Edited::waiting(&steps("left"));
    edited.change(&steps("right"));
    let refused = json!({ "path": "root/step:way", "recorded": "route \"left\"", "found": "route \"right\"" });
    edited.drifts("resume r --approve", &refused);
    edited.drifts("resume r --approve", &refused);
    edited.change(&steps("left"));
    edited.completes(&["a", "c"]);
}

#[test]
fn a_list_is_the_one_that_was_begun() {
    let steps =
        |list: &str| format!(".map(() => {list}).forEach(chain('each').step(does('a')).step(gate)).step(does('c'))");
    let edited = Edited::waiting(&steps("[1]"));
    edited.change(&steps("[1, 2, 3]"));
    edited.completes(&["a", "c"]);
    let noted = edited.0.get("events r --kind drift").to_string();
    assert!(noted.contains("drift: forEach") && noted.contains("another list"), "{noted}");
}

#[test]
fn a_stricter_schema_does_not_judge_what_was_recorded() {
    let edited = Edited::waiting(STEPS);
    edited.change(".step(does('a', { outputSchema: z.number() })).step(does('b', { inputSchema: z.number() })).step(gate).step(does('c'))");
    edited.completes(&["a", "b", "c"]);
}

#[test]
fn a_schema_judges_a_block_that_runs_now() {
    let edited = Edited::waiting(STEPS);
    edited.change(".step(does('a')).step(does('b')).step(gate).step(does('c', { inputSchema: z.number() }))");
    let answer = edited.0.ask("resume r --approve");
    assert_eq!(answer.code, Some(3), "{answer}");
    // The code was at fault; with it mended, the answer still counts.
    edited.change(STEPS);
    let answer = edited.0.ask("resume r");
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!("c")), "{answer}");
}

#[test]
fn a_flow_that_does_not_load_leaves_the_request_alone() {
    let edited = Edited::waiting(STEPS);
    let events = edited.0.get("events r");
    edited.0.write("flows/edited.ts", "this is no flow");
    let answer = edited.0.ask("resume r --approve");
    assert_ne!(answer.code, Some(0), "{answer}");
    assert_eq!(edited.0.get("events r"), events, "something was written");
    edited.change(STEPS);
    edited.completes(&["a", "b", "c"]);
}

#[test]
fn drift_of_a_failed_request_leaves_it_failed() {
    let broken = "handler({ name: 'weak', execute: () => { throw new Error('broken'); } })";
    let place = Place::new().file("flows/edited.ts", &flow(&format!(".step(does('a')).step({broken})")));
    assert_eq!(place.ask("run edited go --user ada --session s --request r --input 1").code, Some(3));
    place.write("flows/edited.ts", flow(".step(chain('a').map(() => 1)).step(does('weak'))"));
    assert_eq!(place.ask("resume r").code, Some(7));
    assert_eq!(place.get("requests")[0]["status"], "failed");
    place.write("flows/edited.ts", flow(".step(does('a')).step(does('weak'))"));
    let answer = place.ask("resume r");
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!("weak")), "{answer}");
    assert_eq!(place.get("state --session s")["session"]["log"], json!(["a", "weak"]));
}
