//! Values of every size and shape are read exactly as they were written.

use engine::effects::EffectKind;
use engine::error::FlowError;
use engine::event::{EventKind, Outcome, Recorded, RequestStatus};
use engine::item::{ItemStatus, NewItem};
use engine::log::{AppendMode, NoteKind};
use serde_json::{Value, json};
use store::{EventQuery, NoteQuery};

use crate::support::*;

/// One event of every kind, with the fields that are usually absent, and values of every size.
fn every_kind() -> Vec<EventKind> {
    let session = session_scope();
    let large = Chance(1).noise(50_000);
    let error = FlowError { details: Some(json!({"large": large})), ..FlowError::plain("no \"luck\"") };
    let item = |transient| NewItem {
        item_type: "message".to_owned(),
        status: ItemStatus::Completed,
        key: Some("k".to_owned()),
        transient,
        agent_type: None,
        agent_name: Some("writer".to_owned()),
        item_visibility: None,
        owned_by: None,
        payload: object(json!({"role": "user", "content": [{"type": "text", "text": large}]})),
    };
    vec![
        started("ses"),
        EventKind::RequestStatus { status: RequestStatus::Queued },
        EventKind::RequestResumed {
            owner: "p2".to_owned(),
            epoch: 2,
            code_hash: "c".to_owned(),
            mock: Some("m".to_owned()),
            keeps_ended: true,
        },
        block_started("greet \"all\""),
        EventKind::BlockInput { input: Recorded::Of(1) },
        block_finished(Outcome::Failed, Some(json!({"deep": [[[large]]]}))),
        EventKind::Committed { commits: Vec::new() },
        EventKind::CommitRefused { scopes: vec![session.clone()] },
        initialized(&session, json!({"n": 0, "large": large})),
        EventKind::RecordsSeen { versions: vec![(session.clone(), 7)] },
        EventKind::StateChanged {
            scope: session.clone(),
            operation: push("list", json!({"big": large})),
            value: Some(json!({"sum": 7})),
            version: 7,
        },
        EventKind::ItemAdded { item: item(false) },
        EventKind::ItemAdded { item: item(true) },
        EventKind::ItemDelta { of: 3, text: "more".to_owned() },
        EventKind::ItemUpdated { of: 3, patch: item(true).payload },
        EventKind::ItemDone { of: 3, status: ItemStatus::Incomplete, patch: item(false).payload },
        EventKind::RouteDecided { route: "left".to_owned() },
        EventKind::EffectFinished {
            effect: EffectKind::Model,
            ordinal: 3,
            started: Some(2),
            request: Some(json!((0..3_000).map(|n| json!({"n": n, "text": "same"})).collect::<Vec<_>>())),
            result: json!((0..3_000).map(|n| (format!("key {n}"), json!(n))).collect::<serde_json::Map<_, _>>()),
            error: Some(error.clone()),
            memoized: false,
            dispatch: Some(json!({"target": "note", "payload": {"text": "same"}})),
        },
        EventKind::Logged { level: "warn".to_owned(), text: "\"$payload\" \\ \u{0}".to_owned() },
        EventKind::JournalAppended { entry: json!({"$payload": "mine", "$parts": [], "$value": {"$value": 1}}) },
        EventKind::MetadataSet { metadata: json!({"title": "A talk", "x": {"$payload": large}}) },
        note(""),
        EventKind::RequestFinished {
            status: RequestStatus::Failed,
            output: Some(Recorded::Undefined),
            error: Some(error),
        },
    ]
}

#[test]
fn every_kind_of_event_is_read_as_it_was_written() {
    let bed = later_bed();
    let kinds = every_kind();
    let names: std::collections::HashSet<&str> = kinds.iter().map(EventKind::name).collect();
    assert_eq!(names.len(), 22, "a kind is missing");
    let mut request = Request { store: &bed, id: "r".to_owned(), last: 0, lease: first() };
    for kind in &kinds {
        request.append_at(vec![(Some("root/step:a"), 2, kind.clone())], AppendMode::Committed).unwrap();
    }
    let events = bed.events("r", &EventQuery::default()).unwrap();
    for (at, (kind, found)) in kinds.into_iter().zip(&events).enumerate() {
        let name = kind.name().to_owned();
        assert!(*found == event(at as u64 + 1, Some("root/step:a"), 2, kind), "{name} changed");
    }
}

#[test]
fn special_keys_of_the_store_in_a_flows_values_are_plain_values() {
    let bed = bed();
    let mut request = Request::begin(&bed, "r");
    let hash = "00".repeat(32);
    let filler = Chance(9).noise(3_000);
    let mut many = serde_json::Map::new();
    for n in 0..2_000 {
        many.insert(format!("field {n}"), json!("some text to make it long"));
    }
    many.insert("$payload".to_owned(), json!(hash));
    let values = [
        json!({"$payload": hash}),
        json!([{"$payload": hash, "bytes": 5}, {"$parts": [hash]}, {"$value": {"$payload": hash}}]),
        json!({"$value": {"$value": {"$parts": filler}}}),
        json!({"$payload": {"$payload": filler}}),
        Value::Object(many),
    ];
    for value in &values {
        request.commit(EventKind::JournalAppended { entry: value.clone() }).unwrap();
    }
    let read: Vec<Value> = bed
        .notes_of("ses", NoteKind::Journal, NoteQuery::default())
        .unwrap()
        .into_iter()
        .map(|note| note.entry)
        .collect();
    assert_eq!(read, values);
}

#[test]
fn values_nested_deeper_than_parsers_allow_are_stored() {
    let nest = || {
        let bed = bed();
        let mut request = Request::begin(&bed, "r");
        let scope = request_scope("r");
        let mut deep = json!("bottom");
        for _ in 0..5_000 {
            deep = json!([deep]);
        }
        request.commit(changed(&scope, patch(json!({"deep": deep})), 1)).unwrap();
        let event = bed.event_at("r", 2).unwrap().unwrap();
        assert!(matches!(event.kind, EventKind::StateChanged { .. }));
        let state = bed.state_at(&scope, "r", 2).unwrap().state;
        assert!(state.get("deep").unwrap().is_array());
        // Dropping such a value also needs more stack than a test has.
    };
    std::thread::Builder::new().stack_size(64 << 20).spawn(nest).unwrap().join().unwrap();
}
