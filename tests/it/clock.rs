//! A clock that was put back: order comes from numbers, never from times.
//!
//! The program has no switch for its clock. A request of another time is made by exporting one, moving
//! its times, and importing it.

use serde_json::{Value, json};
use tests::bench::Place;
use tests::exported::{opened, packed};

const FLOW: &str = r#"
const say = (name, ms) => handler({ name, execute: async (value, ctx) => {
  ctx.emit.message(name);
  await ctx.session.pushState("said", name);
  await new Promise((done) => setTimeout(done, ms));
  return value;
} });
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ said: z.array(z.string()).default([]) }) },
  actions: { go: { block: sequencer({ name: "chain", inputSchema: z.any() }).step(say("one", 0)).step(say("two", 0)).step(say("three", 400)) } },
});
"#;

const HOUR: i64 = 3_600_000;

/// Exports session `s` of `here.db`, moves the time of each event, and imports it into `there.db`.
fn moved(place: &Place, shift: impl Fn(u64) -> i64) {
    place.get("--data here.db export --session s --out s.flowglass");
    let text = opened(&place.dir().join("s.flowglass"));
    let lines = text.lines().skip(2).map(|line| {
        let mut line: Value = serde_json::from_str(line).expect("it is JSON");
        if let Some(event) = line.get_mut("event") {
            let at = event["at"].as_i64().expect("an event has a time");
            event["at"] = json!(at + shift(event["seq"].as_u64().expect("an event has a number")));
        }
        line.to_string()
    });
    place.write("moved.flowglass", packed(&lines.collect::<Vec<_>>().join("\n")));
    place.get("--data there.db import moved.flowglass");
}

/// No duration is negative.
#[track_caller]
fn no_time_runs_backwards(shown: &Value) {
    let rows = shown["blocks"].as_array().expect("a list").iter().chain([&shown["request"]]);
    for row in rows {
        assert!(row["durationMs"].as_i64().is_none_or(|took| took >= 0), "{row}");
    }
}

/// The time between a request and its fork is no work of a block that both have.
#[test]
fn a_fork_of_yesterday_took_no_day() {
    let place = Place::with_flow(FLOW);
    place.get("--data here.db run main go --user ada --session s --request r --input 1");
    moved(&place, |_| -24 * HOUR);
    let fork = place.get("--data there.db fork r --at root/step:one");
    let fork = fork["requestId"].as_str().expect("an id");
    let shown = place.get(&format!("--data there.db show {fork}"));
    let root = &shown["blocks"][0];
    assert_eq!(root["path"], "root");
    assert!(root["durationMs"].as_i64().is_some_and(|took| took < HOUR), "{root}");
    let block = place.get(&format!("--data there.db block {fork} root"));
    assert_eq!(block["block"]["durationMs"], root["durationMs"]);
    let tree = place.run(&["--data", "there.db", "show", fork, "--tree"]).stdout;
    let root = tree.lines().find(|line| line.starts_with("root")).unwrap_or_default();
    assert!(root.contains(" ms"), "it took no second: {tree}");
}

#[test]
fn a_clock_that_jumps_back_in_a_request() {
    let place = Place::with_flow(FLOW);
    place.get("--data here.db run main go --user ada --session s --request r --input 1");
    let middle = place.get("--data here.db show r")["blocks"][2]["seqStart"].as_u64().expect("a number");
    moved(&place, |seq| if seq > middle { -HOUR } else { 0 });
    let shown = place.get("--data there.db show r");
    no_time_runs_backwards(&shown);
    assert_eq!(shown["output"], 1);
    let said = |machine: &str, line: &str| place.get(&format!("--data {machine}.db {line}"));
    for line in ["state --session s", "state --request r --at root/step:two"] {
        assert_eq!(said("here", line)["session"], said("there", line)["session"], "{line}");
    }
    let order = |machine: &str| -> Vec<Value> {
        let items = said(machine, "items --session s --view client --type message");
        items.as_array().expect("a list").iter().map(|item| item["content"].clone()).collect()
    };
    assert_eq!((order("there").len(), order("there")), (3, order("here")));
}

#[test]
fn a_clock_that_was_put_back_before_a_resume() {
    let place = Place::with_flow(FLOW);
    let going = place.start("--data here.db run main go --user ada --session s --request r --input 1");
    place.until("the last step runs", |place| {
        let items = place.ask("--data here.db items --request r").stdout;
        items.contains("three").then_some(())
    });
    going.kill();
    moved(&place, |_| HOUR);
    let resumed = place.get("--data there.db resume r");
    assert_eq!((&resumed["status"], &resumed["output"]), (&json!("completed"), &json!(1)), "{resumed}");
    no_time_runs_backwards(&place.get("--data there.db show r"));
    assert_eq!(place.get("--data there.db state --session s")["session"]["said"], json!(["one", "two", "three"]));
    // What comes next is the newest, whatever the clock says.
    place.get("--data there.db run main go --user ada --session s --request later --input 2");
    assert_eq!(place.get("--data there.db requests --session s")[0]["id"], "later");
    assert_eq!(place.get("--data there.db sessions")[0]["lastStatus"], "completed");
}

/// A clock of the whole system that is so many seconds away from the real one, for one program.
const SHIFTED: &str = r#"
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *time) {
  int result = syscall(SYS_clock_gettime, clock, time);
  const char *seconds = getenv("SHIFT_SECONDS");
  if (clock == CLOCK_REALTIME && seconds) time->tv_sec += atoll(seconds);
  return result;
}
"#;

#[test]
#[cfg(target_os = "linux")]
fn a_clock_before_the_epoch_or_far_after_it_ends_nothing() {
    let code = "export default defineFlow({ kind: \"main\", actions: { go: { block: handler({ name: \"go\",\n\
                execute: async () => { await new Promise((done) => setTimeout(done, 5)); return new Date().getTime(); } }) } } });";
    for seconds in ["-3000000000", "8000000000000"] {
        let place = Place::with_flow(code).file("clock.c", SHIFTED);
        let library = place.dir().join("clock.so");
        let built = std::process::Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(place.dir().join("clock.c"))
            .status();
        assert!(built.is_ok_and(|status| status.success()), "cc builds a library");
        let place = place.variable("LD_PRELOAD", &library.display().to_string()).variable("SHIFT_SECONDS", seconds);
        let run = place.get("run main go --user ada --session s --request r");
        assert_eq!(run["status"], "completed", "{run}");
        place.get("run main go --user ada --session s");
        for line in
            ["sessions", "requests", "show r", "events r", "stats", "check --data", "fork r --at root", "retry r"]
        {
            place.get(line);
            assert_eq!(place.run(&line.split(' ').collect::<Vec<_>>()).code, Some(0), "{line}");
        }
    }
}
