//! Reads the most frequent kinds of events without the copy that serde makes for a tag among the fields.
//!
//! Each has the fields of its kind in [`EventKind`], with the same defaults. Must give the same result as `EventKind`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Error, Value};

use super::{BlockKind, CaughtBy, EventKind, Outcome, Recorded, ScopeCommit};
use crate::model::error::FlowError;
use crate::model::json::from_json;
use crate::model::operation::Operation;
use crate::model::scope::ScopeKey;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockStarted {
    name: Arc<str>,
    block: BlockKind,
    #[serde(default)]
    parent: Option<Arc<str>>,
    input: Recorded,
    #[serde(default)]
    versions: Vec<(ScopeKey, u64)>,
    #[serde(default)]
    fingerprint: Option<Arc<str>>,
    #[serde(default)]
    replaces_failed: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct BlockFinished {
    outcome: Outcome,
    #[serde(default)]
    output: Option<Recorded>,
    #[serde(default)]
    error: Option<FlowError>,
    #[serde(default)]
    caught: Option<CaughtBy>,
    #[serde(default)]
    transient: bool,
    #[serde(default)]
    memoized: bool,
    #[serde(default)]
    returned_error: bool,
    #[serde(default)]
    timed_out_ms: Option<u64>,
    #[serde(default)]
    commits: Vec<ScopeCommit>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct StateChanged {
    scope: ScopeKey,
    operation: Operation,
    #[serde(default, deserialize_with = "crate::model::json::exact")]
    value: Option<Value>,
    version: u64,
}

impl EventKind {
    /// Reads an event of a kind from its fields, a JSON object. `None` if the kind is not a frequent one.
    pub fn read_frequent(kind: &str, fields: &str) -> Option<Result<EventKind, Error>> {
        Some(match kind {
            "block_started" => from_json(fields).map(|fields| {
                let BlockStarted { name, block, parent, input, versions, fingerprint, replaces_failed } = fields;
                EventKind::BlockStarted { name, block, parent, input, versions, fingerprint, replaces_failed }
            }),
            "block_finished" => from_json(fields).map(|fields| {
                let BlockFinished {
                    outcome,
                    output,
                    error,
                    caught,
                    transient,
                    memoized,
                    returned_error,
                    timed_out_ms,
                    commits,
                } = fields;
                EventKind::BlockFinished {
                    outcome,
                    output,
                    error,
                    caught,
                    transient,
                    memoized,
                    returned_error,
                    timed_out_ms,
                    commits,
                }
            }),
            "state_changed" => from_json(fields).map(|fields| {
                let StateChanged { scope, operation, value, version } = fields;
                EventKind::StateChanged { scope, operation, value, version }
            }),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads any kind.
    fn tagged(kind: &str, fields: &str) -> Result<EventKind, Error> {
        from_json(&fields.replacen('{', &format!("{{\"kind\":\"{kind}\","), 1))
    }

    #[test]
    fn frequent_kinds_are_read_like_other_kinds() {
        let error = r#"{"name":"Error","message":"m","classes":["Error"]}"#;
        let cases = [
            ("block_started", r#"{"name":"a","block":"handler","input":"undefined"}"#.to_owned()),
            (
                "block_started",
                r#"{"name":"a","block":"router","parent":"root:0","input":
                {"value":{"$serde_json::private::Number":"1"}},"versions":[[{"kind":"session","id":"s"},3]],
                "fingerprint":"f","later":[1]}"#
                    .to_owned(),
            ),
            ("block_started", r#"{"name":"a","block":"handler","input":{"of":7}}"#.to_owned()),
            ("block_started", r#"{"name":"a","block":"handler","input":{"value":1e400}}"#.to_owned()),
            ("block_started", r#"{"name":"a","name":"b","block":"handler","input":{"of":7}}"#.to_owned()),
            ("block_started", r#"{"block":"handler","input":{"of":7}}"#.to_owned()),
            ("block_finished", r#"{"outcome":"completed","output":{"value":[-0.0,18446744073709551615]}}"#.to_owned()),
            ("block_finished", format!(r#"{{"outcome":"failed","error":{error},"caught":"rescue","transient":true}}"#)),
            ("block_finished", r#"{"outcome":"completed","output":{"of":3},"memoized":true}"#.to_owned()),
            (
                "block_finished",
                r#"{"outcome":"completed","output":null,"commits":[
                {"scope":{"kind":"user","id":"u"},"from":0,"version":1,"operations":[4]}]}"#
                    .to_owned(),
            ),
            ("block_finished", r#"{"outcome":"no such one"}"#.to_owned()),
            (
                "state_changed",
                r#"{"scope":{"kind":"session","id":"s"},"operation":{"op":"increment","by":{"n":1}},"value":{"n":1e21},
                "version":2}"#
                    .to_owned(),
            ),
            (
                "state_changed",
                r#"{"scope":{"kind":"session","id":"s"},"operation":{"op":"set","state":{"n":null}},"version":2}"#
                    .to_owned(),
            ),
        ];
        let mut readable = 0;
        for (kind, fields) in cases {
            let read = EventKind::read_frequent(kind, &fields).expect("it is a frequent kind");
            assert_eq!(read.as_ref().ok(), tagged(kind, &fields).as_ref().ok(), "{fields}");
            readable += usize::from(read.is_ok());
        }
        // The others: a number that does not fit a double, a field twice, a missing field, and an unknown outcome.
        assert_eq!(readable, 9);
        assert!(EventKind::read_frequent("drift", "{}").is_none());
    }
}
