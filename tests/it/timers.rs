//! Timers and abort signals: which function they belong to, and what is said of those that do not fire.

use serde_json::{Value, json};
use tests::bench::Place;

/// The log lines of request `r`: path, level and text.
fn lines(place: &Place) -> Vec<[String; 3]> {
    let logged = place.get("events r --kind logged");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let lines = logged.as_array().expect("a list").iter();
    lines.map(|one| [text(&one["path"]), text(&one["payload"]["level"]), text(&one["payload"]["text"])]).collect()
}

const FLOW: &str = r#"
const chain = (name: string) => sequencer({ name, inputSchema: z.any() });
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
/** Ends when its signal has fired and a timer that its listener set has fired, too. */
const listens = handler({ name: "listens", execute: (_input: any, ctx: any) => new Promise((done) => {
  ctx.signal.addEventListener("abort", () => {
    console.log("aborted");
    setTimeout(() => { console.log("tidied"); done(ctx.signal.reason.name); }, 1);
  });
}) });
const shared = new AbortController();
let fired = 0;
export default defineFlow({
  kind: "main",
  actions: {
    timeout: { block: chain("all").step(listens, { abortSignal: () => AbortSignal.timeout(5) }) },
    own: {
      block: chain("all").step(listens, {
        abortSignal: () => {
          const controller = new AbortController();
          setTimeout(() => { console.log("first"); setTimeout(() => controller.abort(), 1); }, 1);
          return controller.signal;
        },
      }),
    },
    other: {
      block: chain("all").parallel({
        listens: chain("long").step(listens, { abortSignal: () => shared.signal }),
        stops: handler({ name: "stops", execute: async () => { await pause(5); shared.abort(); return "stopped"; } }),
      }),
    },
    map: { block: chain("all").map(() => { setTimeout(() => { fired += 1; }, 1); return 1; }).step(handler({ name: "waits", execute: async () => { while (!fired) await pause(1); return fired; } })) },
    handler: { block: chain("all").step(handler({ name: "leaves", execute: () => { setTimeout(() => { fired += 1; }, 1); return 1; } })).step(handler({ name: "waits", execute: async () => { while (!fired) await pause(1); return fired; } })) },
    stopped: { block: handler({ name: "stopped", execute: (_input: any, ctx: any) => new Promise(() => {
      ctx.signal.addEventListener("abort", () => { console.log("aborted"); setTimeout(() => console.log("never"), 1); });
      ctx.signal.addEventListener("abort", () => { throw new Error("bad"); });
      ctx.signal.addEventListener("abort", () => console.log("last"));
      setTimeout(() => undefined, 600000);
    }) }) },
    throws: { block: handler({ name: "throws", execute: () => {
      const seen: string[] = [];
      const controller = new AbortController();
      const any = AbortSignal.any([controller.signal]);
      controller.signal.addEventListener("abort", () => { seen.push("first"); throw new Error("bad"); });
      any.addEventListener("abort", () => { seen.push("any"); throw new TypeError("worse"); });
      controller.signal.onabort = function () { seen.push(String(this === controller.signal)); throw "plain"; };
      controller.signal.addEventListener("abort", { handleEvent(event: any) { seen.push(event.type); } } as any);
      controller.abort();
      seen.push("returned");
      return [seen, any.aborted, any.reason === controller.signal.reason];
    } }) },
  },
});
"#;

/// A timer that a function of a chain set never fired, so its signal did not, either.
#[test]
fn a_timer_of_an_abort_signal_function_fires() {
    for (action, first) in [("timeout", None), ("own", Some(["root", "log", "first"]))] {
        let place = Place::with_flow(FLOW);
        let ran = place.get(&format!("run main {action} --user ada --request r"));
        assert_eq!(ran["output"], if action == "timeout" { "TimeoutError" } else { "AbortError" }, "{ran:#}");
        let step = "root/step:listens";
        let wanted: Vec<[&str; 3]> =
            first.into_iter().chain([[step, "log", "aborted"], [step, "log", "tidied"]]).collect();
        assert_eq!(lines(&place), wanted, "{action}");
        assert_eq!(place.get("replay r")["identical"], true, "{action}");
    }
}

/// What a listener does belongs to the block that added it, even if another block aborts.
#[test]
fn a_listener_runs_as_the_block_that_added_it() {
    let place = Place::with_flow(FLOW);
    let ran = place.get("run main other --user ada --request r");
    assert_eq!(ran["output"], json!({ "listens": "AbortError", "stops": "stopped" }), "{ran:#}");
    let step = "root/parallel/listens/step:listens";
    assert_eq!(lines(&place), [[step, "log", "aborted"], [step, "log", "tidied"]]);
    assert_eq!(place.get("replay r")["identical"], true);
}

#[test]
fn a_timer_fires_after_its_function_has_returned() {
    for action in ["map", "handler"] {
        let place = Place::with_flow(FLOW);
        assert_eq!(place.get(&format!("run main {action} --user ada --request r"))["output"], 1, "{action}");
    }
}

/// An aborted request waits for nothing: a timer that its listeners set is dropped, and a line says so.
#[test]
fn a_timer_that_an_abort_drops_is_told() {
    let place = Place::with_flow(FLOW);
    std::thread::scope(|scope| {
        let run = scope.spawn(|| place.ask("run main stopped --user ada --request r"));
        while place.ask("abort r").code != Some(0) {
            assert!(!run.is_finished(), "it waits for ten minutes");
        }
        assert_eq!(run.join().expect("it ends").code, Some(5));
    });
    let said = lines(&place);
    let texts: Vec<&str> = said.iter().map(|[_, _, text]| text.as_str()).collect();
    // An abort that came before the block began calls no listener.
    if said.is_empty() {
        return;
    }
    assert_eq!(texts[0], "aborted", "{texts:?}");
    assert!(texts[1].contains("a timer was dropped, because the request was aborted"), "{texts:?}");
    assert!(texts[2].contains("a listener of an abort signal threw") && texts[2].contains("bad"), "{texts:?}");
    assert_eq!(texts[3..], ["last"], "{texts:?}");
    assert!(said.iter().all(|[path, ..]| path == "root"), "{said:?}");
}

/// As in Node.js, `abort()` returns, and every listener is called.
#[test]
fn a_listener_that_throws_fails_nobody_else() {
    let place = Place::with_flow(FLOW);
    let ran = place.get("run main throws --user ada --request r");
    assert_eq!(ran["output"], json!([["first", "true", "abort", "any", "returned"], true, true]), "{ran:#}");
    let said = lines(&place);
    assert_eq!(said.len(), 3, "{said:?}");
    for ([path, level, text], error) in said.iter().zip(["Error: bad", "plain", "TypeError: worse"]) {
        assert_eq!((path.as_str(), level.as_str()), ("root", "warn"));
        assert!(text.contains("a listener of an abort signal threw") && text.contains(error), "{text}");
    }
    assert_eq!(place.get("replay r")["identical"], true);
}

const CLEARED: &str = r#"
import { clearTimeout as clear, setTimeout as set } from "node:timers";
import { setTimeout as sleeps } from "node:timers/promises";
const LONG = 4000;
const asks = (name: string, before: (ctx: any) => unknown) => ({ block: handler({ name, inputSchema: z.any(), execute: async (_input: any, ctx: any) => {
  await before(ctx);
  return (await ctx.suspend({ reason: "approval", message: "Go?" })) ?? "yes";
} }) });
const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));
const nothing = () => undefined;
export default defineFlow({
  kind: "main",
  actions: {
    timeout: asks("timeout", () => clearTimeout(setTimeout(nothing, LONG))),
    later: asks("later", async () => { const timer = setTimeout(nothing, LONG); await pause(5); clearTimeout(timer); }),
    interval: asks("interval", () => clearInterval(setInterval(nothing, LONG))),
    inside: asks("inside", async () => { let n = 0; await new Promise((done: any) => { const timer = setInterval(() => { if (++n === 2) { clearInterval(timer); done(); } }, 1); }); }),
    module: asks("module", () => clear(set(nothing, LONG))),
    signal: asks("signal", async () => { const controller = new AbortController(); const waits = sleeps(LONG, 1, { signal: controller.signal }).catch(nothing); controller.abort(); await waits; }),
    alone: asks("alone", () => { AbortSignal.timeout(LONG); }),
    released: asks("released", (ctx) => {
      const any = AbortSignal.any([AbortSignal.timeout(LONG), ctx.signal]);
      any.addEventListener("abort", nothing);
      any.onabort = nothing;
      any.removeEventListener("abort", nothing);
      any.onabort = null;
    }),
    over: asks("over", () => {
      const controller = new AbortController();
      const any = AbortSignal.any([controller.signal, AbortSignal.timeout(LONG)]);
      any.addEventListener("abort", nothing);
      controller.abort();
    }),
    passed: asks("passed", () => AbortSignal.any([AbortSignal.timeout(LONG), AbortSignal.abort()]).addEventListener("abort", nothing)),
    fetched: asks("fetched", () => fetch("http://127.0.0.1:9/", { signal: AbortSignal.timeout(LONG) }).catch(nothing)),
    late: { block: sequencer({ name: "late", inputSchema: z.any() }).map(() => { const timer = setTimeout(nothing, LONG); setTimeout(() => clearTimeout(timer), 5); return 1; }).step(asks("asks", nothing).block) },
  },
});
"#;

/// The request waited for a timer that was cleared, or for a timeout that nothing listened to, and suspended only when
/// its time was over.
#[test]
fn a_cleared_timer_holds_no_request() {
    let place = Place::with_flow(CLEARED);
    let cleared = ["timeout", "later", "interval", "inside", "module", "signal", "late"];
    for action in cleared.into_iter().chain(["alone", "released", "over", "passed", "fetched"]) {
        let ran = place.ask(&format!("run main {action} --user ada --request {action}"));
        assert_eq!(ran.code, Some(4), "{action}: {ran}");
        let of_kind = |kind: &str| place.get(&format!("events {action} --kind {kind}"));
        let began = of_kind("effect_started");
        let long: Vec<&Value> =
            began.as_array().expect("a list").iter().filter(|event| event["payload"]["request"] == 4000).collect();
        assert_eq!(long.len(), usize::from(action != "inside"), "{action}: {began}");
        let ended = of_kind("effect_finished");
        let ends = ended.as_array().expect("a list").iter();
        let ended_long = ends.filter(|end| long.iter().any(|began| end["payload"]["started"] == began["seq"]));
        assert_eq!(ended_long.count(), 0, "{action}: {ended}");
        assert_eq!(place.get(&format!("replay {action}"))["identical"], true, "{action}");
        let resumed = place.get(&format!("resume {action} --approve"));
        assert_eq!(resumed["output"], "yes", "{action}: {resumed}");
        assert_eq!(place.get(&format!("replay {action}"))["identical"], true, "{action}");
    }
}
