//! What anybody saw of a request survives its death, and after a resume the outside and the log agree.
//!
//! A step that nobody sees is not waited for (ARCHITECTURE §2.3). So each try makes a flow of random steps, lets
//! everybody look who can (the reader of `--events`, another process, a server outside, a second request of the same
//! session), kills the process at a random instant, and compares what they saw with the log. In other tries the power
//! fails: what the process had not synced is lost (`tests/examples/power_cut.rs`), and nobody else may have the database
//! open.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tests::bench::Place;
use tests::counting::Counter;

/// How many requests die, half of them by a power failure; ten times as many in `make soak`.
const TRIES: u64 = 50;
const MAX_STEPS: u64 = 400;

/// Chance that is the same for the same seed.
struct Chance(u64);

impl Chance {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end.max(1)
    }
}

/// What a step does: most steps are seen by nobody.
const KINDS: [&str; 18] = [
    "pure", "pure", "pure", "pure", "pure", "pure", "pure", "pure", "pure", "state", "state", "large", "message",
    "session", "fetch", "once", "items", "back",
];

fn flow(plan: &[&str], host: &str) -> String {
    format!(
        "const plan = {};
const post = (body) => fetch(\"http://{host}\", {{ method: \"POST\", body }});
const acts = {{
  pure: async () => {{}},
  state: async (n, ctx) => {{ await ctx.sequencer.incState({{ done: 1 }}); }},
  large: async (n, ctx) => {{ await ctx.sequencer.patchState({{ text: String(n).repeat(2_000) }}); }},
  message: async (n, ctx) => {{ ctx.emit.message(`step ${{n}}`); }},
  session: async (n, ctx) => {{ await ctx.session.incState({{ seen: 1 }}); }},
  fetch: async (n) => {{ await post(`r:fetch${{n}}`); }},
  once: async (n, ctx) => {{ await ctx.runOnce(`key ${{n}}`, async () => {{ await post(`r:once${{n}}`); return n; }}); }},
  items: async (n, ctx) => {{
    const found = ctx.response.getItems().filter((item) => item.type === \"message\").length;
    const before = plan.slice(0, n).filter((kind) => kind === \"message\").length;
    if (found !== before) throw new Error(`${{found}} messages instead of ${{before}}`);
  }},
  back: async (n, ctx) => {{
    const earlier = (n * 7_919) % Math.max(n, 1);
    const found = n === 0 ? 1 : ctx.getBlockOutput({{ name: `${{plan[earlier]}} ${{earlier}}` }});
    if (found !== earlier + 1) throw new Error(`step ${{earlier}} gave ${{found}}`);
  }},
}};
const block = (n) => handler({{ name: `${{plan[n]}} ${{n}}`, execute: async (input, ctx) => {{
  await acts[plan[n]](n, ctx);
  return input + 1;
}} }});
let chain = sequencer({{
  name: \"chain\",
  inputSchema: z.any(),
  stateSchema: z.object({{ done: z.number().default(0), text: z.string().default(\"\") }}),
}});
for (let n = 0; n < plan.length; n++) chain = chain.step(block(n));
const looks = handler({{ name: \"looks\", execute: async (input, ctx) => ctx.session.state.seen }});
export default defineFlow({{
  kind: \"main\",
  session: {{ stateSchema: z.object({{ seen: z.number().default(0) }}) }},
  actions: {{ go: {{ block: chain }}, look: {{ block: looks }} }},
}});
",
        json!(plan)
    )
}

/// The events of a request by their numbers.
fn events(place: &Place) -> BTreeMap<u64, Value> {
    let all = place.get("events r --limit 100000");
    let by_seq = |event: &Value| (event["seq"].as_u64().expect("a number"), event.clone());
    all.as_array().expect("a list").iter().map(by_seq).collect()
}

/// What others saw while the request ran.
#[derive(Default)]
struct Seen {
    /// Events that another process read.
    read: BTreeMap<u64, Value>,
    /// The session's state, as the newest request of it found it.
    session: u64,
}

fn watch(place: &Place, is_over: &AtomicBool) -> Seen {
    let mut seen = Seen::default();
    let mut n = 0;
    while !is_over.load(Ordering::Relaxed) {
        if place.ask("show r").code == Some(0) {
            seen.read.extend(events(place));
        }
        let line = format!("run main look --user ada --session talk --request look{n} --input 0");
        let found = place.get(&line)["output"].as_u64().expect("a number");
        assert!(found >= seen.session, "the session went back from {} to {found}", seen.session);
        (seen.session, n) = (found, n + 1);
    }
    seen
}

/// How many requests a power failure has ended.
static CUTS: AtomicU64 = AtomicU64::new(0);

/// How a request dies.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Death {
    Kill,
    PowerCut,
}

/// Runs the request until it dies. Returns what it printed, and what others saw meanwhile.
fn run(place: &Place, death: Death, steps: u64, chance: &mut Chance) -> (String, Seen) {
    let line = "run main go --user ada --session talk --request r --input 0 --events";
    if death == Death::PowerCut {
        // A step takes a write or two where many share a transaction, and ten where it has one of its own.
        let most = if chance.below(2) == 0 { 100 } else { 4 * steps };
        let after = 1 + chance.below(most);
        let answer = place.start_until_power_cut(line, after, chance.below(u64::MAX)).ended();
        // Killed, or done before.
        assert!([Some(0), None].contains(&answer.code), "{answer}");
        CUTS.fetch_add(u64::from(answer.code.is_none()), Ordering::Relaxed);
        return (answer.stdout, Seen::default());
    }
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watching = scope.spawn(|| watch(place, &is_over));
        let going = place.start(line);
        place.until("the request has begun", |place| (place.ask("show r").code == Some(0)).then_some(()));
        std::thread::sleep(Duration::from_millis(chance.below(150)));
        let printed = going.kill();
        is_over.store(true, Ordering::Relaxed);
        (printed, watching.join().expect("nobody panicked"))
    })
}

fn one_try(seed: u64, durability: &str, death: Death) {
    let mut chance = Chance(seed);
    let steps = 20 + chance.below(MAX_STEPS - 20);
    let plan: Vec<&str> = (0..steps).map(|_| KINDS[chance.below(KINDS.len() as u64) as usize]).collect();
    let counter = Counter::start();
    let host = counter.host();
    let settings = json!({ "fetch": { "allow": [host] }, "durability": durability });
    let place = Place::with_flow(&flow(&plan, &host)).file("flowglass.json", &settings.to_string());
    place.get("flows");
    let (printed, seen) = run(&place, death, steps, &mut chance);
    let outside = counter.of("r");
    // `process` promises nothing of a power failure but a database that is whole.
    let is_promised = death == Death::Kill || durability != "process";
    let printed = if is_promised { printed } else { String::new() };
    if place.ask("show r").code != Some(0) {
        let context = format!("seed {seed}, {durability}, {death:?}: the request is not there");
        assert!(!printed.contains("\"seq\""), "{context}: {printed}");
        assert!(!is_promised || outside.is_empty(), "{context}: {outside:?}");
        assert_eq!(place.get("check --data")["ok"], json!(true), "{context}");
        return;
    }
    let log = events(&place);
    let last = log.keys().last();
    let context = format!("seed {seed}, {durability}, {death:?}, {steps} steps, dead after event {last:?}");

    // Whoever listened or read has seen nothing that is not there.
    for (seq, event) in &seen.read {
        assert_eq!(log.get(seq), Some(event), "{context}: another process read event {seq}");
    }
    for line in printed.lines().filter(|line| line.contains("\"seq\"")) {
        // The last line may be cut off.
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let seq = event["seq"].as_u64().expect("a number");
        assert_eq!(log.get(&seq), Some(&event), "{context}: event {seq} was printed");
    }
    // Whatever was done outside had been announced.
    let begun = |name: &str| {
        let n = name.trim_start_matches(char::is_alphabetic);
        let path = json!(format!("root/step:{} {n}", name.trim_end_matches(n)));
        log.values().filter(|event| event["kind"] == "effect_started" && event["path"] == path).count()
    };
    for (name, times) in &outside {
        assert!(
            begun(name) >= *times || !is_promised,
            "{context}: {name} happened {times} times, and the log has {} of it",
            begun(name)
        );
    }
    // A later request builds on what the session's state was.
    let committed = log.values().filter(|event| {
        event["kind"] == "block_finished"
            && event["payload"]["commits"].as_array().is_some_and(|commits| !commits.is_empty())
    });
    assert!(committed.count() as u64 >= seen.session, "{context}: the session was seen at {}", seen.session);
    assert_eq!(place.get("check --data")["ok"], json!(true), "{context}");

    // The rest is done, and nothing that the log had finished is done again.
    let finished: Vec<String> = log
        .values()
        .filter(|event| event["kind"] == "effect_finished" && event["payload"]["error"].is_null())
        .filter_map(|event| event["path"].as_str()?.strip_prefix("root/step:").map(|name| name.replace(' ', "")))
        .collect();
    let status = place.get("show r")["request"]["status"].clone();
    if status != "completed" {
        let resumed = place.get("resume r");
        assert_eq!(resumed["output"], json!(steps), "{context}");
    }
    let after = counter.of("r");
    for name in finished {
        assert_eq!(after.get(&name), outside.get(&name), "{context}: {name} was finished, and done again");
    }
    let told = plan.iter().enumerate().filter(|(_, kind)| ["fetch", "once"].contains(*kind));
    for (n, kind) in told {
        let times = after.get(&format!("{kind}{n}")).copied().unwrap_or_default();
        assert!((1..=2).contains(&times), "{context}: {kind}{n} happened {times} times");
    }
    let sessions = plan.iter().filter(|kind| **kind == "session").count();
    assert_eq!(place.get("state --session talk")["session"], json!({ "seen": sessions }), "{context}");
    assert_eq!(place.get("check --data")["ok"], json!(true), "{context}");
}

#[test]
fn nothing_that_was_seen_is_lost() {
    let seed = match std::env::var("CRASH_SEED") {
        Ok(given) => given.parse().expect("CRASH_SEED is a number"),
        Err(_) => SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_nanos() as u64,
    };
    let tries = if std::env::var_os("FLOWGLASS_SOAK").is_some() { 10 * TRIES } else { TRIES };
    println!("CRASH_SEED={seed}");
    for n in 0..tries {
        let durability = ["process", "power", "each"][n as usize % 3];
        let death = if n % 2 == 0 { Death::Kill } else { Death::PowerCut };
        one_try(seed.wrapping_add(n), durability, death);
    }
    let cuts = CUTS.load(Ordering::Relaxed);
    assert!(cuts >= tries / 8, "of {} power failures only {cuts} came before the end", tries / 2);
}
