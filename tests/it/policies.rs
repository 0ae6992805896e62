//! What a workspace owes to requests as a whole: who may run beside whom, how they are stopped, and
//! what becomes of those whose process dies. Two real processes on one database wherever it matters.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::going::Going;
use tests::pattern::assert_matches;

/// A flow whose actions all have one policy: one that holds until it is stopped, and one that is done at once.
fn flow(kind: &str, policy: &str) -> String {
    format!(
        r#"import {{ defineFlow, handler }} from "@flow-state-dev/core";
const hold = handler({{ name: "hold", execute: async () => {{ await new Promise((done) => setTimeout(done, 600_000)); }} }});
const quick = handler({{ name: "quick", execute: async (input, ctx) => {{ ctx.emit.message("quick"); return input ?? "done"; }} }});
export default defineFlow({{
  kind: "{kind}",
  request: {{ concurrency: {policy} }},
  session: {{ stateSchema: undefined }},
  actions: {{
    hold: {{ block: hold }},
    quick: {{ block: quick }},
    free: {{ block: quick, concurrency: "allow" }},
    refused: {{ block: quick, concurrency: "reject" }},
  }},
}});
"#
    )
}

fn place(flows: &[(&str, &str)]) -> Place {
    let place = Place::new();
    for (kind, policy) in flows {
        place.write(&format!("flows/{kind}.ts"), flow(kind, policy));
    }
    // Loaded once, so that no two processes of a test do it at the same time.
    place.get("check");
    place
}

/// Starts the action that holds, and waits until it runs.
fn holding(place: &Place, line: &str) -> Going {
    let going = place.start(&format!("run {line} --request holder"));
    place.until_status("holder", "in_progress");
    // Then it writes nothing more: its beginning, its block's, and what it waits for.
    place.until("it waits", |place| (place.get("events holder").as_array()?.len() >= 4).then_some(()));
    going
}

/// Starts a request that has to wait, and waits until it does.
fn queued(place: &Place, line: &str, request: &str) -> Going {
    let going = place.start(&format!("run {line} --request {request}"));
    place.until_status(request, "queued");
    going
}

fn status_of(place: &Place, request: &str) -> Value {
    place.get(&format!("show {request}"))["request"]["status"].clone()
}

/// Command lines, and whether each may run beside what holds the key.
type Tries = &'static [(&'static str, bool)];

#[test]
fn reject_refuses_what_has_the_same_key_and_writes_nothing() {
    const FREE: bool = true;
    const REFUSED: bool = false;
    let by = |key: &str| format!("{{ policy: 'reject', key: {key} }}");
    let custom = by("({ flowKind, actionName, sessionId, userId, projectId, orgId }) => \
         actionName && flowKind && sessionId !== 'none' && projectId === orgId ? `of ${userId} in ${projectId}` : undefined");
    let rows: [(&str, &str, &str, Tries); 5] = [
        (
            "session",
            "'reject'",
            "hold --user ada --session s",
            &[
                ("session quick --user ada --session s", REFUSED),
                ("session refused --user ada --session s", REFUSED),
                ("session free --user ada --session s", FREE),
                ("session quick --user ada --session t", FREE),
                ("session quick --user ada", FREE),
                ("user quick --user ada --session s", FREE),
            ],
        ),
        ("session", "'reject'", "hold --user ada", &[("session quick --user ada", FREE)]),
        (
            "user",
            &by("'user'"),
            "hold --user ada --session s",
            &[("user quick --user ada", REFUSED), ("user quick --user bob", FREE)],
        ),
        ("none", &by("'none'"), "hold --user ada --session s", &[("none quick --user ada --session s", FREE)]),
        (
            "custom",
            &custom,
            "hold --user ada --session s --project p",
            &[
                ("custom quick --user ada --session t --project p", REFUSED),
                ("custom quick --user ada --session s --project q", FREE),
                ("custom quick --user ada --session none --project p", FREE),
            ],
        ),
    ];
    let user = by("'user'");
    for (kind, policy, held, tries) in rows {
        let mut flows = vec![(kind, policy)];
        if kind == "session" {
            flows.push(("user", &user));
        }
        let place = place(&flows);
        let holder = holding(&place, &format!("{kind} {held}"));
        for (line, is_free) in tries {
            let before = place.get("stats")["events"].clone();
            let answer = place.ask(&format!("run {line}"));
            if *is_free {
                assert_eq!(answer.code, Some(0), "{line} while {kind} {held}\n{answer}");
                continue;
            }
            assert_eq!(answer.code, Some(7), "{line} while {kind} {held}\n{answer}");
            let message = answer.json()["error"]["message"].clone();
            let message = message.as_str().expect("a message");
            for words in ["\"holder\"", "\"reject\"", "abort holder"] {
                assert!(message.contains(words), "{message}");
            }
            assert_eq!(place.get("stats")["events"], before, "{line}: something was written");
        }
        holder.kill();
        // A dead process holds nothing.
        for (line, _) in tries {
            assert_eq!(place.ask(&format!("run {line}")).code, Some(0), "{line} after the end of {held}");
        }
    }
}

#[test]
fn queue_runs_one_at_a_time_in_the_order_of_acceptance() {
    let place = place(&[("line", "'queue'")]);
    let holder = holding(&place, "line hold --user ada --session s");
    let waiting: Vec<(String, Going)> = (1..=3)
        .map(|n| {
            let id = format!("q{n}");
            let going = queued(&place, &format!("line quick --user ada --session s --input {n}"), &id);
            (id, going)
        })
        .collect();
    assert_matches(
        "requests --status queued",
        &place.get("requests --status queued"),
        &json!([{ "id": "q3", "…": 0 }, { "id": "q2", "…": 0 }, { "id": "q1", "…": 0 }]),
    );
    // Accepted means recorded, its input included.
    assert_eq!(place.get("show q2")["input"], 2);
    // Whoever refuses is refused by those who wait, too; a session of its own is nobody's business.
    assert_eq!(place.ask("run line refused --user ada --session s").code, Some(7));
    assert_eq!(place.ask("run line quick --user ada --session t").code, Some(0));
    assert_eq!(place.get("abort holder"), json!({ "status": "aborted" }));
    assert_eq!(holder.ended().code, Some(5));
    let mut free_since = 0;
    for (n, (id, going)) in waiting.into_iter().enumerate() {
        let answer = going.ended();
        assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!(n + 1)), "{answer}");
        let events = place.get(&format!("events {id}"));
        let at = |at: usize| events[at]["at"].as_i64().expect("a time");
        let last = events.as_array().expect("events").len() - 1;
        let kinds: Vec<(&str, &str)> = (0..3)
            .map(|at| &events[at])
            .map(|event| (event["kind"].as_str().unwrap_or("?"), event["payload"]["status"].as_str().unwrap_or("")))
            .collect();
        assert_eq!(kinds, [("request_started", ""), ("request_status", "queued"), ("request_status", "in_progress")]);
        assert!(at(2) >= free_since, "{id} began at {} while the one before it ran until {free_since}", at(2));
        free_since = at(last);
    }
}

#[test]
fn hold_starts_beside_anything_and_defer_waits_for_it() {
    let place = Place::new();
    place.write(
        "flows/turns.ts",
        r#"import { defineFlow, handler } from "@flow-state-dev/core";
const stays = handler({ name: "stays", execute: async () => { await new Promise((done) => setTimeout(done, 600_000)); } });
const quick = handler({ name: "quick", execute: async (input) => input ?? "done" });
export default defineFlow({
  kind: "turns",
  actions: {
    reply: { block: stays, concurrency: "hold" },
    answer: { block: quick, concurrency: "hold" },
    notice: { block: quick, concurrency: { policy: "defer", key: "session" } },
    line: { block: quick, concurrency: "queue" },
    alone: { block: quick, concurrency: "reject" },
  },
});
"#,
    );
    place.get("check");
    let holder = holding(&place, "turns reply --user ada --session s");
    let notice = queued(&place, "turns notice --user ada --session s --input 1", "notice");
    let next = queued(&place, "turns notice --user ada --session s --input 2", "next");
    let line = queued(&place, "turns line --user ada --session s --input 3", "line");
    assert_eq!(place.ask("run turns alone --user ada --session s").code, Some(7));
    assert_eq!(place.ask("run turns answer --user ada --session s").code, Some(0));
    // One that started after the others began to wait goes before them, too, and so does one that is resumed.
    let second = place.start("run turns reply --user ada --session s --request second");
    place.until_status("second", "in_progress");
    assert_eq!(place.get("abort holder"), json!({ "status": "aborted" }));
    assert_eq!(holder.ended().code, Some(5));
    assert_eq!(status_of(&place, "notice"), "queued");
    second.kill();
    for (waited, output) in [(notice, 1), (next, 2), (line, 3)] {
        let answer = waited.ended();
        assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!(output)), "{answer}");
    }
    let third = place.start("run turns reply --user ada --session s --request third");
    place.until_status("third", "in_progress");
    let again = place.start("resume second");
    place.until_status("second", "in_progress");
    third.kill();
    again.kill();
}

#[test]
fn the_dead_keep_nobody_waiting_and_go_on_when_resumed() {
    let place = place(&[("line", "'queue'")]);
    let holder = holding(&place, "line hold --user ada --session s");
    let dead = queued(&place, "line quick --user ada --session s --input 1", "dead");
    let alive = queued(&place, "line quick --user ada --session s --input 2", "alive");
    dead.kill();
    place.until_status("dead", "interrupted");
    assert_eq!(status_of(&place, "alive"), "queued");
    holder.kill();
    let answer = alive.ended();
    assert_eq!((answer.code, &answer.json()["output"]), (Some(0), &json!(2)), "{answer}");
    assert_eq!(place.get("requests --status interrupted").as_array().map(Vec::len), Some(2));
    // It was accepted, so it can be taken up; it takes its place in the line again.
    let resumed = place.ask("resume dead");
    assert_eq!((resumed.code, &resumed.json()["output"]), (Some(0), &json!(1)), "{resumed}");
}

#[test]
fn a_resumed_request_claims_its_key_again() {
    let place = place(&[("line", "'queue'"), ("alone", "'reject'")]);
    for (kind, while_held) in [("line", "queued"), ("alone", "refused")] {
        let first = place.start(&format!("run {kind} hold --user ada --session s --request first-{kind}"));
        place.until_status(&format!("first-{kind}"), "in_progress");
        first.kill();
        let second = place.start(&format!("run {kind} hold --user ada --session s --request second-{kind}"));
        place.until_status(&format!("second-{kind}"), "in_progress");
        if while_held == "refused" {
            let events = place.get(&format!("events first-{kind}"));
            assert_eq!(place.ask(&format!("resume first-{kind}")).code, Some(7));
            assert_eq!(place.get(&format!("events first-{kind}")), events, "something was written");
        } else {
            let resumed = place.start(&format!("resume first-{kind}"));
            place.until_status(&format!("first-{kind}"), "queued");
            resumed.kill();
        }
        second.kill();
    }
}

#[test]
fn a_queued_request_can_be_aborted() {
    let place = place(&[("line", "'queue'")]);
    let _holder = holding(&place, "line hold --user ada --session s");
    let waiting = queued(&place, "line quick --user ada --session s", "waits");
    assert_eq!(place.get("abort waits"), json!({ "status": "aborted" }));
    let answer = waiting.ended();
    assert_eq!((answer.code, &answer.json()["status"]), (Some(5), &json!("aborted")), "{answer}");
    assert_eq!(place.get("show waits")["blocks"], json!([]));
    assert_eq!(status_of(&place, "holder"), "in_progress");
}

#[test]
fn abort_says_what_it_cannot_do() {
    let place = place(&[("any", "'allow'")]);
    place.get("run any quick --user ada --request done");
    for (request, code, says) in [("done", 7, "completed"), ("nobody", 6, "nobody")] {
        let answer = place.ask(&format!("abort {request}"));
        assert_eq!(answer.code, Some(code), "{answer}");
        assert!(answer.stderr.contains(says), "{answer}");
    }
}

#[test]
fn a_signal_aborts_the_request_and_its_result_is_printed() {
    let place = place(&[("any", "'allow'")]);
    for signal in ["INT", "TERM"] {
        let going = place.start(&format!("run any hold --user ada --session s --request by-{signal}"));
        place.until_status(&format!("by-{signal}"), "in_progress");
        going.signal(signal);
        let answer = going.ended();
        assert_eq!(answer.code, Some(5), "{answer}");
        assert_matches(
            signal,
            &answer.json(),
            &json!({ "requestId": format!("by-{signal}"), "status": "aborted", "error": { "code": "aborted", "…": 0 }, "…": 0 }),
        );
        assert_eq!(status_of(&place, &format!("by-{signal}")), "aborted");
    }
    // It can be taken up again, and a signal stops that as well.
    let going = place.start("resume by-INT");
    place.until_status("by-INT", "in_progress");
    going.signal("INT");
    assert_eq!(going.ended().json()["status"], "aborted");
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let place = Place::with_flow(
        "export default defineFlow({ kind: 'busy', actions: { go: { block: handler({ name: 'go', execute: () => { for (;;) {} } }) } } });",
    )
    .file("flowglass.json", r#"{ "limits": { "yieldMs": 600000 } }"#);
    let mut going = place.start("run busy go --user ada --request r");
    place.until_status("r", "in_progress");
    going.signal("INT");
    going.until_it_says("repeat to exit at once");
    going.signal("INT");
    assert_eq!(going.ended().code, Some(5));
    assert_eq!(status_of(&place, "r"), "interrupted");
}

#[test]
fn policies_that_make_no_sense_do_not_load() {
    let block = "handler({ name: 'a', execute: () => 1 })";
    let action = |concurrency: &str| format!("actions: {{ a: {{ block: {block}, concurrency: {concurrency} }} }}");
    let session = |session: &str| format!("actions: {{ a: {{ block: {block} }} }}, session: {session}");
    let rows: [(String, &[&str]); 11] = [
        (action("'debounce'"), &["action \"a\"", "\"debounce\" is reserved", "\"queue\""]),
        (action("{ policy: 'restart' }"), &["\"restart\" is reserved"]),
        (action("'first'"), &["\"allow\", \"queue\", \"reject\"", "not \"first\""]),
        (action("{ policy: 'queue', key: 'team' }"), &["\"session\", \"user\", \"none\"", "not \"team\""]),
        (action("{ key: 'user' }"), &["the policy is", "not undefined"]),
        (
            format!("request: {{ concurrency: 'never' }}, actions: {{ a: {{ block: {block} }} }}"),
            &["request.concurrency", "not \"never\""],
        ),
        (session("{ historyWindow: 3 }"), &["session.historyWindow", "\"turns\"", "not 3"]),
        (session("{ historyWindow: { turns: 1.5 } }"), &["session.historyWindow.turns", "not 1.5"]),
        (session("{ retention: { maxItem: 3 } }"), &["session.retention has no \"maxItem\"", "\"maxItems\""]),
        (session("{ retention: { maxItems: 1.5 } }"), &["session.retention.maxItems", "not 1.5"]),
        (session("{ retention: { maxAge: '2 weeks' } }"), &["session.retention.maxAge", "\"24h\"", "not \"2 weeks\""]),
    ];
    for (definition, says) in rows {
        let place = Place::with_flow(&format!("export default defineFlow({{ kind: 'wrong', {definition} }});"));
        let answer = place.ask("check");
        assert_eq!(answer.code, Some(1), "{definition}\n{answer}");
        for words in says {
            let message = answer.json()[0]["error"]["message"].to_string().replace("\\\"", "\"");
            assert!(message.contains(words), "{definition}: {words:?} is not in {message}");
        }
    }
}

#[test]
fn a_key_that_fails_refuses_the_request() {
    for (key, says) in [("() => { throw new Error('no idea'); }", "no idea"), ("async () => 'later'", "a string")] {
        let policy = format!("{{ policy: 'queue', key: {key} }}");
        let place = place(&[("odd", &policy)]);
        let answer = place.ask("run odd quick --user ada");
        assert_eq!(answer.code, Some(7), "{answer}");
        assert!(answer.stderr.contains(says), "{answer}");
        assert_eq!(place.get("stats")["events"], 0);
    }
}

#[test]
fn warnings_are_told_once_at_the_end() {
    let place = Place::with_flow(
        "const odd = handler({ name: 'odd', execute: async (_i, ctx) => { await ctx.session.patchState({ odd: 1 }); await ctx.session.patchState({ odd: 2 }); } });
         export default defineFlow({ kind: 'w', session: { stateSchema: z.object({ even: z.number().default(0) }) },
           actions: { go: { block: sequencer({ name: 's' }).step(odd).step(odd) } } });",
    );
    let answer = place.run(&["run", "w", "go", "--user", "ada"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    let warnings: Vec<&str> = answer.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
    assert!(matches!(warnings[..], [one] if one.contains("odd")), "{answer}");
}

#[test]
fn a_refused_write_that_nobody_awaited_is_told() {
    let place = Place::with_flow(
        "const odd = handler({ name: 'odd', execute: async (_i, ctx) => { ctx.session.patchState({ even: 'x' }); await new Promise((done) => setTimeout(done, 5)); return 1; } });
         export default defineFlow({ kind: 'w', session: { stateSchema: z.object({ even: z.number().default(0) }) }, actions: { go: { block: odd } } });",
    );
    let answer = place.run(&["run", "w", "go", "--user", "ada"]);
    assert_eq!(answer.code, Some(0), "{answer}");
    let warnings: Vec<&str> = answer.stderr.lines().filter(|line| line.starts_with("warning: ")).collect();
    let says = ["Unhandled promise rejection: ValidationError", "session state at \"even\"", "flows/main.ts:3"];
    assert!(matches!(warnings[..], [one] if says.iter().all(|part| one.contains(part))), "{answer}");
}

#[test]
fn kinds_and_types_that_do_not_exist_are_answered_with_those_that_do() {
    let place = place(&[("any", "'allow'")]);
    place.get("run any quick --user ada --session s --request r");
    for (line, wrong, right) in [
        ("events r --kind block_begun", "block_begun", "block_started"),
        ("items --request r --type massage", "massage", "message"),
    ] {
        let answer = place.ask(line);
        assert_eq!(answer.code, Some(2), "{answer}");
        assert!(answer.stderr.contains(wrong) && answer.stderr.contains(right), "{answer}");
    }
    assert_eq!(place.get("events r --kind block_finished").as_array().map(Vec::len), Some(1));
    // Newer names of a type are read as ours.
    assert_eq!(place.get("items --request r --type block_trace"), place.get("items --request r --type block_output"));
}

#[test]
fn a_journal_reads_like_a_list_for_people() {
    let place = Place::with_flow(
        "const note = handler({ name: 'note', execute: async (text, ctx) => ctx.session.appendJournal({ text, source: 'test', tags: ['a', 'b'] }) });
         export default defineFlow({ kind: 'j', actions: { note: { block: note } } });",
    );
    place.get("run j note --user ada --session s --input \"bees\"");
    let text = place.run(&["journal", "--session", "s"]);
    let line = text.stdout.lines().nth(1).unwrap_or_default();
    assert!(["test", "a b", "bees"].iter().all(|word| line.contains(word)), "{text}");
    assert_eq!(place.ask("journal --session nobody").code, Some(6));
}

#[test]
fn a_damaged_or_unwritable_database_is_named_and_left_alone() {
    let place = place(&[("any", "'allow'")]);
    place.get("run any quick --user ada");
    let whole = std::fs::read(place.database()).expect("the database is there");
    let half = &whole[..whole.len() / 2];
    place.write(".flowglass/flowglass.db", half);
    let answer = place.ask("requests");
    assert_eq!(answer.code, Some(1), "{answer}");
    assert!(["flowglass.db", "damaged", "copy"].iter().all(|word| answer.stderr.contains(word)), "{answer}");
    assert_eq!(std::fs::read(place.database()).expect("it is there"), half);

    let blocked = Place::new().file(".flowglass", "a file where a folder should be");
    let answer = blocked.ask("requests");
    assert_eq!(answer.code, Some(1), "{answer}");
    assert!([".flowglass", "--data"].iter().all(|word| answer.stderr.contains(word)), "{answer}");

    let nowhere = Place::new().ask("requests --data /proc/flowglass.db");
    assert_eq!(nowhere.code, Some(6), "a command that reads makes no database\n{nowhere}");
    let flow = place.dir().join("flows").display().to_string();
    let nowhere = Place::new().ask(&format!("run any quick --user ada --dir {flow} --data /proc/flowglass.db"));
    assert_eq!(nowhere.code, Some(1), "{nowhere}");
    assert!(["/proc/flowglass.db", "--data"].iter().all(|word| nowhere.stderr.contains(word)), "{nowhere}");
}

#[test]
fn a_session_forgets_by_age() {
    for (age, kept) in [("0", 1), ("'1ms'", 1), ("'7d'", 3), ("3_600_000", 3)] {
        let place = Place::with_flow(&format!(
            "const say = handler({{ name: 'say', execute: async (text, ctx) => {{ const seen = ctx.session.items.all({{ itemTypes: ['message'] }}).length; ctx.emit.message(String(text)); return seen; }} }});
             export default defineFlow({{ kind: 'r', session: {{ retention: {{ maxAge: {age} }} }}, actions: {{ say: {{ block: say }} }} }});"
        ));
        for n in 0..3 {
            let answer = place.get(&format!("run r say --user ada --session s --input {n}"));
            assert_eq!(answer["output"], if kept == 1 { 0 } else { n }, "maxAge {age}");
            // The next one begins more than a millisecond after this one ended.
            let ended = place.get("requests")[0]["finishedAt"].as_i64().expect("a time");
            place.until("the clock has moved", |_| {
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?.as_millis();
                (now as i64 > ended + 1).then_some(())
            });
        }
        let seen = place.get("items --session s --type message").as_array().map(Vec::len);
        assert_eq!(seen, Some(kept), "maxAge {age}");
        // Views forget; the log does not.
        assert_eq!(place.get("requests --session s").as_array().map(Vec::len), Some(3));
    }
}

#[test]
fn a_window_of_no_turns_is_no_limit() {
    for (turns, seen) in [(1, json!(["2"])), (0, json!(["1", "2"])), (-3, json!(["1", "2"]))] {
        let place = Place::with_flow(&format!(
            "const say = handler({{ name: 'say', execute: (input, ctx) => {{ ctx.emit.message(String(input)); }} }});
             const read = handler({{ name: 'read', execute: async (_input, ctx) =>
               (await ctx.session.items.history()).map(({{ content }}) => content) }});
             export default defineFlow({{ kind: 'windowed', session: {{ historyWindow: {{ turns: {turns} }} }},
               actions: {{ say: {{ block: say }}, read: {{ block: read }} }} }});"
        ));
        for input in [1, 2] {
            place.get(&format!("run windowed say --user ada --session s --input {input}"));
        }
        assert_eq!(place.get("run windowed read --user ada --session s")["output"], seen, "{turns} turns");
    }
}
