//! Bytes of a database that fell over. Where the checksum of an event tells it, the event is named, what is whole is
//! shown and the session can be deleted; where nothing tells it, every question still has an answer.
//!
//! An input is lines of JSON, each `["body", which, place, text, mended]`, which puts a text into an event's body and,
//! where it is mended, gives it the checksum of what it then says; or `["file", place, bits]`, which turns bits
//! anywhere.

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use runner::{Audience, EventQuery, Mock, RequestQuery, Samples, SearchQuery, SessionQuery, Workspace};
use serde_json::{Value, json};
use tests::bench::Place;

use crate::drive::{Target, fuzz};
use crate::edits::hostile_text;
use crate::json_text::quoted;
use crate::workspaces::{action, finished, look_at, look_at_view, opened, options};

const TARGET: Target = Target {
    name: "event_bodies",
    test: "event_bodies::any_bytes_of_events_are_shown_or_named",
    patience: Duration::from_secs(30),
};

const FLOW: &str = r#"
const any = { inputSchema: z.any() };
const say = handler({ name: "say", ...any, sessionStateSchema: z.object({ n: z.number().default(0) }), execute: async (input, ctx) => {
  console.log("said", input);
  await ctx.session.incState({ n: 1 });
  await ctx.user.patchState({ last: "x" });
  await ctx.session.setMetadata({ title: "a talk" });
  ctx.emit.message("hello");
  return { input, at: await ctx.runOnce("once", () => 1) };
} });
const asks = handler({ name: "asks", ...any, execute: (_, ctx) => ctx.suspend({ reason: "approval", message: "sure?" }) });
const chain = sequencer({ name: "chain", ...any, stateSchema: z.object({ done: z.number().default(0) }) }).step(say).parallel({ a: say, b: say });
export default defineFlow({ kind: "main", user: { stateSchema: z.object({ last: z.string().default("") }) },
  actions: { go: { block: chain }, ask: { block: sequencer({ name: "ask", ...any }).step(say).step(asks) } } });
"#;

/// What a text that is put into a body may be.
const WORDS: [&str; 34] = [
    "0",
    "1",
    "-1",
    "9",
    "99999",
    "null",
    "true",
    "{",
    "}",
    "[",
    "]",
    "\"",
    ",",
    ":",
    " ",
    "\"\"",
    "[]",
    "{}",
    "root",
    "root/step:say",
    "session",
    "user",
    "request",
    "$payload",
    "completed",
    "failed",
    "say",
    "bad",
    "good",
    "seq",
    "1e999",
    "18446744073709551615",
    "ok",
    "\u{0}",
];

fn inputs() -> BoxedStrategy<Vec<u8>> {
    let word = proptest::sample::select(&WORDS[..]).prop_map(str::to_owned);
    let text = prop_oneof![6 => word, 1 => hostile_text(), 2 => ".{1}"];
    let body = (any::<u16>(), any::<u16>(), text, prop_oneof![2 => Just(true), 1 => Just(false)])
        .prop_map(|(which, place, text, mended)| format!("[\"body\",{which},{place},{},{mended}]", quoted(&text)));
    let file = (any::<u32>(), any::<u8>()).prop_map(|(place, bits)| format!("[\"file\",{place},{bits}]"));
    let line = prop_oneof![5 => proptest::collection::vec(body, 1..4), 2 => proptest::collection::vec(file, 1..6)];
    line.prop_map(|lines| lines.join("\n").into_bytes()).boxed()
}

/// An event's body in the file, and the bytes of its checksum, which follow it.
#[derive(Clone)]
struct Body {
    from: usize,
    to: usize,
    sum: usize,
}

fn sum(text: &[u8]) -> u32 {
    let hash = blake3::hash(text);
    u32::from_be_bytes(std::array::from_fn(|at| hash.as_bytes()[at]))
}

/// Every text of JSON in a file that its checksum follows, as SQLite keeps a number: in four bytes, or in six.
fn bodies(file: &[u8]) -> Vec<Body> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < file.len() {
        if file[at] == b'{'
            && let Some(Ok(_)) =
                serde_json::Deserializer::from_slice(&file[at..]).into_iter::<&serde_json::value::RawValue>().next()
        {
            let mut values =
                serde_json::Deserializer::from_slice(&file[at..]).into_iter::<&serde_json::value::RawValue>();
            let text = values.next().and_then(Result::ok).map_or("", |raw| raw.get());
            let to = at + text.len();
            let sum = if sum(text.as_bytes()) > i32::MAX as u32 { 6 } else { 4 };
            let bytes = file.get(to..to + sum).unwrap_or_default();
            if bytes.ends_with(&self::sum(text.as_bytes()).to_be_bytes()) {
                found.push(Body { from: at, to, sum });
                at = to;
            }
        }
        at += 1;
    }
    found
}

/// A database that is sound, and where its events are.
struct Base {
    place: Place,
    sound: Vec<u8>,
    bodies: Vec<Body>,
}

fn begin() -> Base {
    let place = Place::with_flow(FLOW);
    let workspace = opened(&place);
    for (wanted, request, session) in [("go", "bad", "one"), ("ask", "asked", "one"), ("go", "good", "two")] {
        let options = runner::RunOptions {
            session: Some(session.to_owned()),
            request: Some(request.to_owned()),
            input: Some(json!(request)),
            ..action("main", wanted)
        };
        finished(&workspace, workspace.run(options).expect("it runs")).expect("it ends");
    }
    let events = workspace.stats().expect("they are counted").events;
    drop(workspace);
    let sound = std::fs::read(place.database()).expect("it is there");
    // What was moved from one page to another stays in the file, and nobody reads it there any more.
    let is_read = |body: &Body| {
        let mut file = sound.clone();
        file[body.from + 1] ^= 1;
        std::fs::write(place.database(), file).expect("the place is writable");
        Workspace::check_data(&options(place.dir())).is_ok_and(|checked| !checked.ok)
    };
    let bodies: Vec<Body> = bodies(&sound).into_iter().filter(is_read).collect();
    assert_eq!(bodies.len() as u64, events, "every event is found in the file");
    Base { place, sound, bodies }
}

/// The file after the changes of an input, and whether all of them are events that no longer fit their checksums.
fn changed(base: &Base, input: &[u8]) -> (Vec<u8>, bool) {
    let mut file = base.sound.clone();
    let mut is_told = true;
    for line in input.split(|byte| *byte == b'\n') {
        let Ok(line) = serde_json::from_slice::<Value>(line) else { continue };
        let number = |at: usize| line[at].as_u64().unwrap_or(0) as usize;
        if line[0] == "file" {
            let at = number(1) % file.len();
            file[at] ^= number(2) as u8;
            is_told = false;
            continue;
        }
        let Body { from, to, sum: width } = base.bodies[number(1) * base.bodies.len() / 65_536 % base.bodies.len()];
        let text = line[3].as_str().unwrap_or_default().as_bytes();
        let at = number(2) * (to - from) / 65_536;
        let text = &text[..text.len().min(to - from - at)];
        file[from + at..from + at + text.len()].copy_from_slice(text);
        if line[4] == true {
            let fits = |sum: u32| (width == 6) == (sum > i32::MAX as u32);
            // Half of all texts have a checksum of another width; another kind of blank is another text.
            for blank in [None, Some(b'\t'), Some(b'\n'), Some(b' ')] {
                let spare = file[from..to].iter().position(|byte| *byte == b' ');
                if let (Some(blank), Some(spare)) = (blank, spare) {
                    file[from + spare] = blank;
                }
                let sum = sum(&file[from..to]);
                if fits(sum) {
                    file[to + width - 4..to + width].copy_from_slice(&sum.to_be_bytes());
                    break;
                }
            }
        }
        is_told &= line[4] != true;
    }
    let fits = |body: &Body| file[body.from..body.to] == base.sound[body.from..body.to];
    let is_changed = base.bodies.iter().any(|body| !fits(body));
    (file, is_told && is_changed)
}

/// What is whole of a request is shown without the rest. Its state is not known any more where a write is not.
fn whole_is_shown(workspace: &Workspace) -> Result<(), String> {
    let told = |what: &str, fault: runner::Fault| format!("{what}: {fault}");
    for request in ["bad", "asked", "good"] {
        workspace.show(request).map_err(|fault| told("show", fault))?;
        look_at_view(workspace, request, 0)?;
        workspace.events(request, EventQuery::default()).map_err(|fault| told("events", fault))?;
        workspace.items(None, Some(request), Audience::All, None).map_err(|fault| told("items", fault))?;
    }
    let query = SearchQuery { text: "said".to_owned(), ..SearchQuery::default() };
    workspace.search(&query).map_err(|fault| told("search", fault))?;
    workspace.sessions(SessionQuery::default()).map_err(|fault| told("sessions", fault))?;
    workspace.stats().map(drop).map_err(|fault| told("stats", fault))
}

/// Asks everything, and passes over what is refused. What runs takes longest.
fn ask_everything(workspace: &Arc<Workspace>, runs: bool) {
    for request in ["bad", "asked", "good"] {
        let _ = look_at(workspace, request);
        let _ = workspace.history(request, "session.n");
        let _ = workspace.code_of(request, None);
        let _ =
            workspace.events(request, EventQuery { kind: Some("state_changed".to_owned()), ..EventQuery::default() });
        for seq in [0, 1, 7, 20, u64::MAX] {
            let _ = workspace.state_at(request, Some(&runner::At::Seq(seq)));
            let _ = workspace.diff(request, Some(&runner::At::Seq(1)), Some(&runner::At::Seq(seq)), Some("good"));
        }
        if !runs {
            continue;
        }
        for mock in [Mock::Inherit, Mock::Off] {
            if let Ok(running) = workspace.resume(request, &mock, runner::Resolution::default()) {
                let _ = finished(workspace, running);
            }
        }
        let _ = workspace.replay(request);
        let at = runner::At::Path("root/step:say".to_owned());
        if let Ok(running) = workspace.fork(request, &at, runner::Edits::default(), &Mock::Inherit) {
            let _ = finished(workspace, running);
        }
        let out = std::env::temp_dir().join("out.flowglass");
        let _ = workspace.export((None, Some(request)), (&out, true), Audience::All);
    }
    let _ = workspace.sessions(SessionQuery::default());
    let _ = workspace.requests(RequestQuery::default());
    let _ = workspace.search(&SearchQuery { text: "said".to_owned(), ..SearchQuery::default() });
    let _ = workspace.suspensions(None, None, Samples::default());
    let _ = workspace.stats();
    for session in ["one", "two"] {
        let _ = workspace.session_state(session);
        let _ = workspace.journal(session, None);
        let _ = workspace.items(Some(session), None, Audience::All, None);
    }
}

fn attempt(base: &mut Base, input: &[u8]) -> Result<(), String> {
    let (file, is_told) = changed(base, input);
    let folder = base.place.database();
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", folder.display()));
    }
    std::fs::write(&folder, file).expect("the place is writable");
    let options = options(base.place.dir());
    let checked = Workspace::check_data(&options);
    if is_told && !checked.as_ref().is_ok_and(|checked| !checked.ok) {
        return Err(format!("an event is damaged and not named: {:?}", checked.map(|checked| json!(checked))));
    }
    // What is no database any more may be refused.
    let Ok(workspace) = Workspace::open(options.clone()) else {
        return if is_told { Err("it does not open".to_owned()) } else { Ok(()) };
    };
    if is_told {
        whole_is_shown(&workspace)?;
    }
    ask_everything(&workspace, input.len().is_multiple_of(4));
    for row in workspace.sessions(SessionQuery::default()).unwrap_or_default() {
        let deleted = workspace.delete_session(&row.id);
        if let (true, Err(fault)) = (is_told, deleted) {
            return Err(format!("session {} cannot be deleted: {fault}", row.id));
        }
    }
    let after = Workspace::check_data(&options);
    if is_told && !after.as_ref().is_ok_and(|checked| checked.ok) {
        return Err(format!("the damage was deleted and is still named: {:?}", after.map(|checked| json!(checked))));
    }
    Ok(())
}

#[test]
fn any_bytes_of_events_are_shown_or_named() {
    fuzz(&TARGET, inputs, begin, attempt);
}
