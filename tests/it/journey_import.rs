//! A session that another machine exported: checked, asked for, and then here.

use std::path::Path;

use serde_json::{Value, json};
use tests::bench::Place;
use tests::sitting::open;
use tests::webdriver::{Window, hook};

const FLOW: &str = r#"
const say = handler({ name: "say", execute: (topic, ctx) => (ctx.emitMessage(`about ${topic}`), topic) });
export default defineFlow({ kind: "talk", actions: { say: { block: sequencer({ name: "talking" }).step(say) } } });
"#;

/// Names a file in the sheet that a file dropped on the window opens as well.
#[track_caller]
fn name_file(window: &Window, file: &Path) {
    window.palette("Import a file");
    window.press(&hook("import-file"), file.display());
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
    name_file(&window, &here.dir().join("notes.txt"));
    window.click(&hook("do-import"));
    window.wait_for(&hook("sheet-error"));
    window.clear(&hook("import-file"));
    window.press(&hook("import-file"), &file);
    assert_eq!(here.get("sessions"), json!([]), "nothing is written before it is asked for");
    window.click(&hook("do-import"));
    window.until_status("completed");
    assert_eq!(here.get("show r1")["output"], Value::from("bees"));
}
