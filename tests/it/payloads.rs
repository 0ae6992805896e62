//! Large values as the window reads them: every answer is small, and every part can be reached.

use std::sync::Arc;

use runner::{
    Json, Mock, OpenOptions, Payload, PayloadQuery, PayloadReference, RunOptions, ScopesQuery, ValueKind, Workspace,
};
use serde_json::json;
use tests::bench::Place;

/// A list of 200,000 entries, a text of 10 MB on one line, and a nesting of 300 with a long text in its middle.
const FLOW: &str = r#"
const make = handler({
  name: "make",
  inputSchema: z.any(),
  sessionStateSchema: z.object({ kept: z.any() }),
  execute: async (input, ctx) => {
    const list = Array.from({ length: 200000 }, (_, n) => ({ n, text: "an entry of a long list" }));
    list[199999].text = "the needle at the end";
    let deep = "the needle in the middle " + "y".repeat(9000);
    for (let n = 0; n < 300; n++) deep = { deep };
    const value = { list, text: "x".repeat(10000000) + " the needle of the text", deep };
    await ctx.session.patchState({ kept: value });
    return value;
  },
});
export default defineFlow({
  kind: "main",
  session: { stateSchema: z.object({ kept: z.any() }) },
  actions: { go: { block: make } },
});
"#;

/// What a page gets of a request that is looked at in all places.
const MAX_BYTES: usize = 100_000;

/// The length of an answer as the page gets it.
macro_rules! bytes {
    ($answer:expr) => {
        serde_json::to_string(&$answer).expect("it is JSON").len()
    };
}

#[track_caller]
fn reference(payload: Option<&Payload>) -> PayloadReference {
    match payload {
        Some(Payload::Large(large)) => large.reference.clone().expect("it can be read"),
        other => panic!("a large value, not {:.200}", format!("{other:?}")),
    }
}

fn ask(path: &str, offset: u64, limit: u64) -> PayloadQuery {
    PayloadQuery { path: path.to_owned(), offset, limit }
}

fn ran(place: &Place) -> Arc<Workspace> {
    let options = OpenOptions { dir: place.dir().to_owned(), ..OpenOptions::default() };
    let workspace = Workspace::open(options).expect("the workspace opens");
    let options = RunOptions {
        flow: "main".to_owned(),
        action: "go".to_owned(),
        user: "ada".to_owned(),
        session: Some("s".to_owned()),
        request: Some("r".to_owned()),
        input: Some(json!(1)),
        mock: Mock::Off,
        ..RunOptions::default()
    };
    workspace.run(options).expect("it begins").wait().expect("it ends");
    workspace
}

/// A block that makes much takes its time on a busy machine.
fn place() -> Place {
    Place::with_flow(FLOW).file("flowglass.json", r#"{ "limits": { "yieldMs": 120000 } }"#)
}

#[test]
fn twenty_megabytes_are_looked_at_in_a_hundred_kilobytes() {
    let place = place();
    let workspace = ran(&place);
    let row = workspace.request("r").expect("it is there");
    assert_eq!(row.status.as_str(), "completed", "{:?}", row.error);

    let detail = workspace.block_parts("r", "r:root:0").expect("the block");
    let scopes = ScopesQuery { seq: row.last_seq, offset: 0, limit: 100, also: Vec::new() };
    let state = workspace.state_scopes("r", &scopes).expect("the state");
    let changes = workspace.diff_page("r", (0, row.last_seq), false, (0, 100)).expect("the differences");
    let events = workspace.event_parts("r", 1, 200).expect("the events");
    let sent = [bytes!(detail), bytes!(state), bytes!(changes), bytes!(events)];
    assert!(sent.iter().sum::<usize>() < MAX_BYTES, "{sent:?} bytes for block, state, differences and events");

    let session = state.scopes.iter().find(|scope| scope.id == "session").expect("the session's scope");
    let change = changes.changes.iter().find(|change| change.scope == "session").expect("a change of the session");
    let event = events.iter().filter(|event| event.kind == "block_finished").map(|event| &event.payload).next();
    let at_end = |path: &str| format!("{path}/list/199999/text");
    for (named, value, above) in [
        ("output", reference(detail.output.as_ref()), String::new()),
        ("state", reference(Some(&session.value)), "/kept".to_owned()),
    ] {
        // The last entry of the list, the last letters of the text, the bottom of the nesting.
        let list = format!("{above}/list");
        let page = workspace.payload(&value, &ask(&list, 199_900, 100)).expect(named);
        assert_eq!((page.kind, page.count, page.entries.len()), (ValueKind::List, 200_000, 100), "{named}");
        let last = json!({ "n": 199_999, "text": "the needle at the end" });
        assert!(matches!(&page.entries[99].value, Payload::Inline(Json(value)) if *value == last), "{named}");
        assert!(bytes!(page) < MAX_BYTES, "{named}: {} bytes", bytes!(page));
        let text = workspace.payload(&value, &ask(&format!("{above}/text"), 10_000_000, 100)).expect(named);
        assert_eq!(text.text.as_deref(), Some(" the needle of the text"), "{named}");
        let deep = format!("{above}/deep{}", "/deep".repeat(300));
        let text = workspace.payload(&value, &ask(&deep, 0, 24)).expect(named);
        assert_eq!(text.text.as_deref(), Some("the needle in the middle"), "{named}");
        // A search finds all three, in order.
        let found = workspace.payload_find(&value, "NEEDLE", 0).expect(named);
        let paths: Vec<&str> = found.hits.iter().map(|hit| hit.path.as_str()).collect();
        assert_eq!(paths, [at_end(&above), format!("{above}/text"), deep], "{named}");
        assert!(!found.more);
        let more = workspace.payload_find(&value, "entry of a long", 100).expect(named);
        assert!(more.more && more.hits.len() == 100 && more.hits[0].places.ends_with(&[100, 1]), "{named}");
        // Whole it is too long, and says so; a part of it is not.
        let fault = workspace.payload_whole(&value, "").expect_err("too long").to_string();
        assert!(fault.contains("save it to a file"), "{fault}");
        let Json(part) = workspace.payload_whole(&value, &format!("{above}/list/7")).expect(named);
        assert_eq!(part, json!({ "n": 7, "text": "an entry of a long list" }), "{named}");
    }
    // A file has all of it.
    let output = reference(detail.output.as_ref());
    workspace.payload_save(&output, "", "saved.json").expect("it is saved");
    let saved = std::fs::read_to_string(place.dir().join("saved.json")).expect("a file");
    let kept = workspace.state_at("r", None).expect("the state").session.expect("the session's");
    let expected = serde_json::to_string_pretty(&kept.0["kept"]).expect("it is JSON");
    assert!(saved == expected, "the file has something else");
    // Both sides of a difference and the fields of an event are read the same way.
    for (named, value) in [("difference", reference(change.new.as_ref())), ("event", reference(event))] {
        assert_eq!(workspace.payload_find(&value, "needle", 0).expect(named).hits.len(), 3, "{named}");
    }
}
