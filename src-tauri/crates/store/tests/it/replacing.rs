//! Temporary databases, which serve one bundle after another: nothing of an earlier bundle is left.

use serde_json::{Value, json};
use store::{BundleRecord, Durability, ImportError, Options, Store};
use tempfile::TempDir;

use crate::support::*;

fn temporary() -> (TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { create: true, durability: Durability::Scratch, ..Options::default() };
    let store = Store::open(folder.path().join("run.db"), options).unwrap();
    (folder, store)
}

/// A request with a state and an attempt that did not end, always under the same names.
fn recorded(color: &str, notes: usize) -> Vec<BundleRecord> {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    request.write(&session_scope(), 0, &[patch(json!({ "color": color }))]).unwrap();
    request.commit_at("root", 0, block_started("root"));
    for _ in 0..notes {
        request.commit(note(color)).unwrap();
    }
    bed.bundle(&["r".to_owned()]).unwrap()
}

fn color_at_rest(store: &Store) -> Value {
    let last = store.request("r").unwrap().unwrap().last_seq;
    let record = store.state_at_rest(&session_scope(), "r", last).unwrap();
    record.state.to_json()["color"].clone()
}

#[test]
fn a_temporary_database_holds_one_bundle_after_another() {
    let (_folder, there) = temporary();
    // The last two have as many events.
    for (color, notes) in [("red", 70), ("blue", 0), ("green", 2), ("white", 2)] {
        let brought = recorded(color, notes);
        there.replace_all(brought.clone()).unwrap();
        assert_eq!(there.bundle(&["r".to_owned()]).unwrap(), brought, "{color}");
        assert_eq!(color_at_rest(&there), color);
        assert_eq!(there.check().unwrap().problems, Vec::new());
    }
    there.replace_all(Vec::new()).unwrap();
    assert!(there.request("r").unwrap().is_none() && there.session("ses").unwrap().is_none());
    assert_eq!(there.stats().unwrap().events, 0);
}

#[test]
fn a_bundle_that_does_not_fit_leaves_the_one_before() {
    let (_folder, there) = temporary();
    let before = recorded("red", 3);
    there.replace_all(before.clone()).unwrap();
    let mut holed = recorded("blue", 3);
    let at = holed.iter().position(|record| matches!(record, BundleRecord::Event { event, .. } if event.seq == 3));
    holed.remove(at.unwrap());
    let refused = there.replace_all(holed);
    assert!(matches!(refused, Err(ImportError::Unfit(_))), "{refused:?}");
    assert_eq!(there.bundle(&["r".to_owned()]).unwrap(), before);
    assert_eq!(there.check().unwrap().problems, Vec::new());
}

#[test]
fn a_database_of_others_is_never_replaced() {
    let bed = bed();
    Request::begin(&bed, "mine").finish();
    let refused = bed.replace_all(recorded("red", 0));
    assert!(matches!(refused, Err(ImportError::Unfit(_))), "{refused:?}");
    assert!(bed.request("mine").unwrap().is_some());
}
