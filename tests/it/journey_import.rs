//! A session that another machine exported: dropped on the window, checked, asked for, and then here.

use std::path::Path;

use serde_json::{Value, json};
use tests::bench::Place;
use tests::sitting::open;
use tests::webdriver::{Window, hook};

const FLOW: &str = r#"
const say = handler({ name: "say", execute: (topic, ctx) => (ctx.emitMessage(`about ${topic}`), topic) });
export default defineFlow({ kind: "talk", actions: { say: { block: sequencer({ name: "talking" }).step(say) } } });
"#;

/// Drops a file on the window, as another program does.
#[track_caller]
fn drop_file(window: &Window, here: &Place, file: &Path) {
    let name = here.dir().file_name().and_then(|name| name.to_str()).expect("a folder has a name");
    let title = format!("{name} · Flowglass");
    window.until_title(&title);
    tests::dragging::drop_file(window.display(), &title, file).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn an_export_is_dropped_and_imported() {
    let there = Place::with_flow(FLOW);
    there.get("run talk say --user ada --session far --request r1 --input \"bees\"");
    let here = Place::with_flow(FLOW);
    let file = here.dir().join("far session.jsonl").display().to_string();
    there.run(&["export", "--session", "far", "--out", &file, "--json"]).json();

    let window = open(&here, &[]);
    window.wait_for(&hook("action-talk-say"));
    // What is no export is refused, and says so.
    here.write("notes.txt", "nothing");
    drop_file(&window, &here, &here.dir().join("notes.txt"));
    window.wait_for_text(&hook("import-check"), "notes.txt");
    window.type_keys(tests::webdriver::key::ESCAPE);
    window.wait_for_none(&hook("import-sheet"));
    drop_file(&window, &here, Path::new(&file));
    window.wait_for_text(&hook("import-check"), "1 request");
    assert_eq!(here.get("sessions"), json!([]), "nothing is written before it is asked for");
    window.click(&hook("do-import"));
    window.until_status("completed");
    assert_eq!(here.get("show r1")["output"], Value::from("bees"));
}
