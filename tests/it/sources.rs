//! Functions and blocks that have no name of their own are known by their source (ARCHITECTURE §4.2): a resume
//! finds what they did wherever they stand in the code of today, and what is new runs.

use serde_json::{Value, json};
use tests::bench::{Answer, Place};

/// A flow of one chain. `gate` asks; whatever writes leaves its name in the session.
fn flow(steps: &str) -> String {
    format!(
        "import {{ router }} from '@flow-state-dev/core';
         const named = (name: string, execute: any) => handler({{ name, execute, description: name }});
         const gate = named('gate', async (input: any, ctx: any) => {{ await ctx.suspend({{ reason: 'approval' }}); return input; }});
         const chain = (name: string, more: any = {{}}) => sequencer({{ name, inputSchema: z.any(), ...more }});
         const tell = (ctx: any, name: string) => ctx.session.pushState('log', name);
         export default defineFlow({{ kind: 'main', session: {{ stateSchema: z.object({{ log: z.array(z.string()).default([]) }}) }},
           actions: {{ go: {{ block: chain('chain'){steps} }} }} }});"
    )
}

/// A function that leaves its name, and gives it.
fn does(name: &str) -> String {
    format!("async (_: any, ctx: any) => {{ await tell(ctx, '{name}'); return '{name}'; }}")
}

struct Edited(Place);

impl Edited {
    /// A request that waits for an answer after these steps.
    #[track_caller]
    fn waiting(steps: &str) -> Edited {
        let edited = Edited(Place::with_flow(&flow(steps)).file("flows/main.mock.json", SCRIPT));
        let answer = edited.0.ask("run main go --user ada --session s --request r --mock --input 1");
        assert_eq!(answer.code, Some(4), "{steps}\n{answer}");
        edited
    }

    fn change(&self, steps: &str) {
        self.0.edit(&flow(steps));
    }

    fn resume(&self) -> Answer {
        self.0.ask("resume r --approve")
    }

    fn log(&self) -> Vec<String> {
        let state = self.0.get("state --session s");
        let log = state["session"]["log"].as_array().cloned().unwrap_or_default();
        log.iter().map(|name| name.as_str().unwrap_or_default().to_owned()).collect()
    }

    /// Goes on with these steps, to its end, and leaves these names in this order.
    #[track_caller]
    fn completes(&self, steps: &str, log: &str) -> Value {
        self.change(steps);
        let answer = self.resume();
        assert_eq!(answer.code, Some(0), "{steps}\n{answer}");
        assert_eq!(self.log().join(" "), log, "{steps}");
        assert_eq!(self.0.get("check --data")["ok"], true);
        // A replay with other code may differ, and says where.
        let replay = self.0.ask("replay r");
        assert!(matches!(replay.code, Some(0 | 1)), "{steps}\n{replay}");
        answer.json()
    }

    /// Cannot go on with these steps, and says where what they have in common stands. Nothing runs.
    #[track_caller]
    fn drifts(&self, steps: &str, places: [&str; 2]) {
        self.change(steps);
        let before = self.log();
        for _ in 0..2 {
            let answer = self.resume();
            assert_eq!(answer.code, Some(7), "{steps}\n{answer}");
            let error = &answer.json()["error"];
            assert_eq!((&error["name"], &error["code"]), (&json!("ReplayDriftError"), &json!("replay_drift")));
            for place in places {
                assert!(error["message"].to_string().contains(place), "{place} is not in {error}");
            }
            assert_eq!(self.log(), before);
            assert_eq!(self.0.get("requests")[0]["status"], "suspended");
            assert_eq!(self.0.get("suspensions --status pending").as_array().map(Vec::len), Some(1));
        }
    }

    /// What drift events of changed sources say.
    fn changed(&self) -> Vec<String> {
        let events = self.0.get("events r --kind drift");
        let of_sources =
            events.as_array().expect("a list").iter().filter(|event| event["payload"]["drift"] == "source");
        of_sources.map(|event| event["payload"]["text"].to_string()).collect()
    }
}

/// The model calls its tool whenever it is asked, and then ends; for as many generators as a flow has.
const SCRIPT: &str = r#"{ "generators": { "bot": [
    { "toolCalls": [{ "name": "tool", "args": {} }] }, { "text": "done" }, { "toolCalls": [{ "name": "tool", "args": {} }] }, { "text": "done" },
    { "toolCalls": [{ "name": "tool", "args": {} }] }, { "text": "done" }, { "toolCalls": [{ "name": "tool", "args": {} }] }, { "text": "done" }] } }"#;

/// Makes the source of a flow of some kind around a piece of code.
type Kind = Box<dyn Fn(&str) -> String>;

/// What operations of one kind look like, with the name that they leave.
fn kinds() -> Vec<Kind> {
    vec![
        Box::new(|name| format!(".map({})", does(name))),
        Box::new(|name| {
            format!(
                ".map(function (this: unknown, _: any, ctx: any) {{ return tell(ctx, '{name}').then(() => '{name}'); }})"
            )
        }),
        Box::new(|name| format!(".tap({})", does(name))),
        Box::new(|name| format!(".tapIf({}, () => 1)", does(name))),
        Box::new(|name| format!(".tapIf(() => true, {})", does(name))),
        Box::new(|name| format!(".exitIf(async (_: any, ctx: any) => {{ await tell(ctx, '{name}'); return false; }})")),
        Box::new(|name| format!(".step(named('charge', {}))", does(name))),
        Box::new(|name| format!(".tap(named('charge', {}))", does(name))),
        Box::new(|name| format!(".step({}, named('same', () => 1))", does(name))),
        Box::new(|name| format!(".stepIf({}, named('same', () => 1))", does(name))),
        Box::new(|name| format!(".parallel({{ a: named('same', {}) }})", does(name))),
        Box::new(|name| format!(".stepAll([named('same', () => 1), named('same', {})])", does(name))),
        Box::new(|name| format!(".step(chain('inner').map({}))", does(name))),
        Box::new(|name| format!(".step(chain('inner').step(named('charge', {})))", does(name))),
        Box::new(|name| format!(".map(() => [1]).forEach(named('charge', {}))", does(name))),
        Box::new(|name| format!(".doUntil(() => true, named('charge', {}))", does(name))),
        Box::new(|name| format!(".work(named('charge', {})).waitForWork()", does(name))),
        Box::new(|name| format!(".branch({{ a: [(v: any) => v, () => true, named('same', {})] }} as any)", does(name))),
        Box::new(|name| {
            let (does, plain) = (does(name), "routes: [named('same', () => 1)], validateRoute: (() => true) as any");
            format!(
                ".step(router({{ name: 'way', inputSchema: z.any(), {plain}, execute: (() => named('same', {does})) as any }}))"
            )
        }),
        Box::new(|name| {
            format!(
                ".step(generator({{ name: 'bot', model: 'tiny', prompt: 'Go.', tools: [named('tool', {})] }}))",
                does(name)
            )
        }),
        Box::new(|name| format!(".step(named('charge', {}).asTool())", does(name))),
    ]
}

#[test]
fn what_is_inserted_runs_and_what_ran_does_not() {
    for kind in kinds() {
        let (a, b, new) = (kind("a"), kind("b"), kind("new"));
        let gate = ".step(gate)";
        let end = kind("end");
        let steps = format!("{a}{b}{gate}{end}");
        Edited::waiting(&steps).completes(&format!("{new}{a}{b}{gate}{end}"), "a b new end");
        Edited::waiting(&steps).completes(&format!("{a}{new}{b}{gate}{end}"), "a b new end");
        Edited::waiting(&steps).completes(&format!("{a}{b}{new}{gate}{end}"), "a b new end");
    }
}

#[test]
fn what_is_removed_or_moved_does_not_run_again() {
    for kind in kinds() {
        let (a, b, c, new) = (kind("a"), kind("b"), kind("c"), kind("new"));
        let gate = ".step(gate)";
        let steps = format!("{a}{b}{c}{gate}");
        Edited::waiting(&steps).completes(&format!("{b}{c}{gate}"), "a b c");
        Edited::waiting(&steps).completes(&format!("{a}{c}{gate}"), "a b c");
        Edited::waiting(&steps).completes(&format!("{c}{a}{b}{gate}"), "a b c");
        Edited::waiting(&steps).completes(&format!("{c}{new}{b}{gate}{a}"), "a b c new");
    }
}

#[test]
fn what_was_edited_in_place_keeps_what_it_did() {
    for kind in kinds() {
        let (a, b, other) = (kind("a"), kind("b"), kind("other"));
        let edited = Edited::waiting(&format!("{a}{b}.step(gate).step(gate)"));
        edited.change(&format!("{a}{other}.step(gate).step(gate)"));
        assert_eq!(edited.resume().code, Some(4), "{other}");
        assert_eq!(edited.log(), ["a", "b"], "{other}");
        let said = edited.changed();
        assert!(said.len() == 1 && said[0].contains("root/"), "{other}\n{said:?}");
        // Once, however often it is taken up.
        edited.completes(&format!("{a}{other}.step(gate).step(gate)"), "a b");
        assert_eq!(edited.changed(), said, "{other}");
    }
}

#[test]
fn code_that_did_not_change_says_nothing() {
    for kind in kinds() {
        let steps = format!("{}{}.step(gate){}", kind("a"), kind("b"), kind("c"));
        let edited = Edited::waiting(&steps);
        edited.completes(&format!("{steps}.map((value: any) => value)"), "a b c");
        assert_eq!(edited.0.get("events r --kind drift"), json!([]), "{steps}");
    }
}

#[test]
fn what_cannot_be_told_apart_is_drift() {
    let (one, gate) = (format!(".map({})", does("a")), ".step(gate)");
    let edited = Edited::waiting(&format!("{one}{one}{gate}"));
    edited.drifts(
        &format!(".map({}){one}{one}{gate}", does("new")),
        ["root/map and root/map~2", "root/map~2 and root/map~3"],
    );
    edited.completes(&format!("{one}{one}{gate}.map((value: any) => value)"), "a a");

    let charge = format!(".step(named('charge', {}))", does("a"));
    let edited = Edited::waiting(&format!("{charge}{gate}"));
    edited.drifts(
        &format!(".step(named('charge', () => 1)){charge}{charge}{gate}"),
        ["root/step:charge", "root/step:charge~2 and root/step:charge~3"],
    );
    // At its place it is what it was, and the equal one behind it runs.
    edited.completes(&format!("{charge}{charge}{gate}"), "a a");
}

#[test]
fn edits_may_follow_each_other() {
    let (a, b, new, newer) = (does("a"), does("b"), does("new"), does("newer"));
    let [a, b, new, newer] = [a, b, new, newer].map(|does| format!(".map({does})"));
    let gates = ".step(gate).step(gate).step(gate)";
    let edited = Edited::waiting(&format!("{a}{b}{gates}"));
    edited.change(&format!("{new}{a}{b}{gates}"));
    assert_eq!(edited.resume().code, Some(4));
    assert_eq!(edited.log(), ["a", "b", "new"]);
    // The same code once more, then another edit, then back to the first.
    assert_eq!(edited.resume().code, Some(4));
    assert_eq!(edited.log(), ["a", "b", "new"]);
    edited.change(&format!("{newer}{b}{new}{a}{gates}"));
    edited.completes(&format!("{newer}{b}{new}{a}{gates}"), "a b new newer");
    let edited = Edited::waiting(&format!("{a}{b}{gates}"));
    edited.change(&format!("{new}{a}{b}{gates}"));
    assert_eq!(edited.resume().code, Some(4));
    edited.change(&format!("{a}{b}{gates}"));
    assert_eq!(edited.resume().code, Some(4));
    edited.completes(&format!("{a}{b}{newer}{gates}"), "a b new newer");
}

#[test]
fn what_was_edited_can_move_afterwards() {
    let (a, other, new) =
        (format!(".map({})", does("a")), format!(".map({})", does("other")), format!(".map({})", does("new")));
    let gates = ".step(gate).step(gate)";
    let edited = Edited::waiting(&format!("{a}{gates}"));
    edited.change(&format!("{other}{gates}"));
    assert_eq!(edited.resume().code, Some(4));
    assert_eq!(edited.log(), ["a"]);
    edited.completes(&format!("{new}{other}{gates}"), "a new");
}

#[test]
fn all_that_belongs_to_a_block_moves_with_it() {
    // A chain with state, work, and a question in its midst; another of its name comes before it.
    let inner = |name: &str, gate: &str| {
        format!(
            ".step(chain('inner', {{ stateSchema: z.object({{ n: z.number().default(0) }}) }})
               .tap(async (_: any, ctx: any) => {{ await ctx.sequencer.incState({{ n: 1 }}); await tell(ctx, '{name} 1'); }})
               .step(named('charge', {})){gate}
               .map(async (_: any, ctx: any) => {{ await tell(ctx, '{name} ' + (ctx.sequencer.state.n + 1)); return ctx.sequencer.state.n; }}))",
            does(&format!("{name} charged"))
        )
    };
    let old = inner("old", ".step(gate)");
    let edited = Edited::waiting(&old);
    let ended =
        edited.completes(&format!("{}{old}", inner("new", "")), "old 1 old charged new 1 new charged new 2 old 2");
    assert_eq!(ended["output"], 1);
    assert_eq!(edited.0.get("suspensions")[0]["status"], "approved");
}

#[test]
fn passes_of_a_loop_move_too() {
    let steps = |first: &str| {
        format!(
            ".map((n: any) => n).step(named('count', (n: any) => n + 1)){first}.tap(async (n: any, ctx: any) => {{ await tell(ctx, 'tap ' + n); }}).stepIf((n: any) => n === 3, gate).loopBack('count', {{ when: (n: any) => n < 4, maxIterations: 9 }})"
        )
    };
    let edited = Edited::waiting(&steps(""));
    assert_eq!(edited.log(), ["tap 2", "tap 3"]);
    let new = ".tap(async (n: any, ctx: any) => { await tell(ctx, 'new ' + n); })";
    edited.completes(&steps(new), "tap 2 tap 3 new 2 new 3 new 4 tap 4");
}

#[test]
fn a_failed_request_goes_on_likewise() {
    let fails = ".step(named('weak', () => { throw new Error('broken'); }))";
    let (charge, new) = (format!(".map({})", does("charge")), format!(".map({})", does("new")));
    let edited = Edited(Place::with_flow(&flow(&format!("{charge}{fails}"))));
    assert_eq!(edited.0.ask("run main go --user ada --session s --request r --input 1").code, Some(3));
    edited.change(&format!("{new}{charge}.step(named('weak', () => 1))"));
    let answer = edited.0.ask("resume r");
    assert_eq!(answer.code, Some(0), "{answer}");
    assert_eq!(edited.log(), ["charge", "new"]);
}

#[test]
fn a_fork_of_other_code_likewise() {
    let (charge, new) = (format!(".map({})", does("charge")), format!(".map({})", does("new")));
    let steps = format!("{charge}.step(named('then', () => 1)).step(gate)");
    let edited = Edited::waiting(&steps);
    edited.change(&format!("{new}{steps}"));
    let answer = edited.0.ask("fork r --at root/step:then");
    assert_eq!(answer.code, Some(4), "{answer}");
    let state = edited.0.get(&format!("state --session {}", answer.json()["sessionId"].as_str().expect("a text")));
    assert_eq!(state["session"]["log"], json!(["charge", "new"]));
    let fork = answer.json()["requestId"].as_str().expect("a text").to_owned();
    assert_eq!(edited.0.ask(&format!("resume {fork} --approve")).code, Some(0));
    let state = edited.0.get(&format!("state --session {}", answer.json()["sessionId"].as_str().expect("a text")));
    assert_eq!(state["session"]["log"], json!(["charge", "new"]));
}

#[test]
fn chains_that_code_makes_while_it_runs_are_compared_when_they_begin() {
    let steps = |inner: &str| format!(".map(() => [1]).forEach((item: any) => chain('made'){inner}.step(gate))");
    let (a, b) = (format!(".map({})", does("a")), format!(".map({})", does("b")));
    let edited = Edited::waiting(&steps(&format!("{a}{b}")));
    // Its records cannot be moved any more, and must not be given to another.
    edited.drifts(&steps(&format!("{b}{a}")), ["root/forEach:made[0]/map", "root/forEach:made[0]/map~2"]);
    edited.completes(&steps(&format!("{a}{b}")), "a b");
}

/// A resume of edited code recorded again every block that had ended, so a timeline had two rows of each.
#[test]
fn what_was_edited_in_place_is_one_tree_with_what_had_ended() {
    let steps = |first: &str, last: &str| {
        let (first, middle, last) = (does(first), does("middle"), does(last));
        format!(
            ".step(named('first', {first})).step(gate).step(named('middle', {middle})).step(gate)
             .step(named('last', {last}))"
        )
    };
    let edited = Edited::waiting(&steps("one", "bad"));
    edited.change(&steps("two", "bad"));
    let answer = edited.resume();
    assert_eq!(answer.code, Some(4), "{answer}");
    edited.completes(&steps("three", "good"), "one middle good");
    assert_eq!(edited.changed().len(), 2, "each change of the first step is told");
    let events = edited.0.get("events r");
    let events = events.as_array().expect("a list");
    assert!(events.iter().all(|event| event["payload"]["memoized"] != true), "nothing is recorded again");
    let resumes = events.iter().filter(|event| event["kind"] == "request_resumed");
    let keeps: Vec<&Value> = resumes.map(|event| &event["payload"]["keepsEnded"]).collect();
    assert_eq!(keeps, [true, true]);
    let shown = edited.0.get("show r");
    let rows = shown["blocks"].as_array().expect("a list");
    let labels = rows.iter().map(|row| row["path"].as_str().unwrap_or_default().replace("root/step:", ""));
    let labels: Vec<String> = labels.collect();
    assert_eq!(labels.join(" "), "root first gate gate middle gate~2 gate~2 last");
}
