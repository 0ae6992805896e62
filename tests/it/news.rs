//! What a workspace that is watched hears of other processes: sessions, requests, their end, and their death.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use runner::{Fault, Notice, OpenOptions, Subject, TagChanges, Workspace};
use tests::bench::Place;

const FLOW: &str = r#"
const slow = handler({ name: "slow", execute: async () => { await new Promise((done) => setTimeout(done, 2500)); return "slow"; } });
const quick = handler({ name: "quick", execute: () => "quick" });
export default defineFlow({ kind: "main", actions: { slow: { block: sequencer({ name: "chain" }).step(quick).step(slow) }, quick: { block: quick } } });
"#;

fn watched(place: &Place) -> (Arc<Workspace>, Receiver<Notice>) {
    let options = OpenOptions { dir: place.dir().to_owned(), ..OpenOptions::default() };
    let workspace = Workspace::open(options).expect("the workspace opens");
    workspace.watch_data().expect("it can be watched");
    let (sender, notices) = channel();
    workspace.listen(move |notice| drop(sender.send(notice.clone())));
    (workspace, notices)
}

/// Waits until a request is told to have a status.
#[track_caller]
fn until(notices: &Receiver<Notice>, request: &str, wanted: &str) {
    loop {
        let notice = notices.recv_timeout(Duration::from_secs(20)).expect("somebody tells");
        if let Notice::Request { request_id, session_id, status, workspace, .. } = notice
            && request_id == request
            && status.as_str() == wanted
        {
            assert_eq!(session_id, "s");
            assert!(workspace.ends_with("flowglass.db"), "{workspace}");
            return;
        }
    }
}

#[test]
fn what_another_process_does_is_told() {
    let place = Place::with_flow(FLOW);
    let (_workspace, notices) = watched(&place);
    let going = place.start("run main slow --user ada --session s --request r");
    until(&notices, "r", "in_progress");
    assert_eq!(going.ended().code, Some(0));
    until(&notices, "r", "completed");
    place.get("delete --session s");
    let told = std::iter::from_fn(|| notices.recv_timeout(Duration::from_secs(10)).ok());
    assert!(told.into_iter().any(|notice| matches!(notice, Notice::Sessions { .. })));
}

#[test]
fn the_death_of_another_process_is_told() {
    let place = Place::with_flow(FLOW);
    let (_workspace, notices) = watched(&place);
    let going = place.start("run main slow --user ada --session s --request r");
    until(&notices, "r", "in_progress");
    going.kill();
    until(&notices, "r", "interrupted");
    // So is what somebody makes of it.
    place.get("abort r");
    until(&notices, "r", "aborted");
}

#[test]
fn what_goes_on_here_is_told_with_its_session() {
    let place = Place::with_flow(FLOW);
    let going = place.start("run main slow --user ada --session s --request r");
    place.until_status("r", "in_progress");
    going.kill();
    let (workspace, notices) = watched(&place);
    let running = workspace.resume("r", &runner::Mock::Inherit, runner::Resolution::default()).expect("it goes on");
    running.wait().expect("it ends");
    until(&notices, "r", "completed");
}

#[test]
fn a_request_of_another_process_is_followed_to_its_end() {
    let place = Place::with_flow(FLOW);
    let going = place.start("run main slow --user ada --session s --request r");
    place.until_status("r", "in_progress");
    let (workspace, _notices) = watched(&place);
    let mut seen = Vec::new();
    workspace.follow("r", |event| seen.push(event)).expect("it can be followed");
    assert_eq!(going.ended().code, Some(0));
    let all = place.get("events r").as_array().map_or(0, Vec::len);
    assert_eq!(seen.len(), all);
}

/// On Unix a file that was removed can still be written by whoever has it open; what is written is lost with it.
#[test]
fn nothing_is_written_to_a_database_that_was_removed() {
    let place = Place::with_flow(FLOW);
    place.get("run main quick --user ada --session s --request r");
    let (workspace, notices) = watched(&place);
    let until_removed = || {
        while !matches!(notices.recv_timeout(Duration::from_secs(20)).expect("somebody tells"), Notice::Removed { .. })
        {
        }
    };
    let row = || workspace.row().expect("it is read").unwritable;
    let tag = |tag: &str| {
        let changes = TagChanges { tags: vec![(true, tag.to_owned())], ..TagChanges::default() };
        workspace.tag(Subject::Request, "r", &changes)
    };
    let title = TagChanges { title: Some("Title".to_owned()), ..TagChanges::default() };
    assert_eq!(tag("before").expect("it is written").tags, ["before"]);
    assert_eq!(row(), None);
    let away = place.dir().join("away.db");
    std::fs::rename(place.database(), &away).expect("the place is writable");
    until_removed();
    let why = row().expect("it says why");
    assert!(why.contains("flowglass.db was removed or replaced") && why.contains("put the file back"), "{why}");
    for refused in [
        tag("lost").map(drop),
        workspace.tag(Subject::Session, "s", &title).map(drop),
        workspace.delete_session("s").map(drop),
    ] {
        let Err(Fault::Storage { message }) = refused else { panic!("{refused:?}") };
        assert_eq!(message, why);
    }
    std::fs::rename(&away, place.database()).expect("the place is writable");
    until_removed();
    assert_eq!(row(), None);
    assert_eq!(tag("after").expect("it is written").tags, ["after", "before"]);
}
