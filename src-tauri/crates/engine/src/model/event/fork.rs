//! What the events of a fork say of it besides what every request has.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Event, EventKind, Seq};

/// Where a fork branches off from another request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct ForkedFrom {
    /// The other request.
    pub request_id: String,
    /// The last event they have in common.
    #[specta(type = f64)]
    pub seq: Seq,
}

impl ForkedFrom {
    /// Returns the first event that the fork has of its own after those in common: from here on it holds the states
    /// where it left, with its edits.
    pub fn first_own(&self) -> Seq {
        self.seq + 1
    }
}

/// A request whose beginning a fork keeps: what the blocks saw of it that ran in it. A replay of the fork runs them
/// again, and they must see the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptPart {
    /// The last event of the part.
    pub until: Seq,
    /// The request.
    pub request_id: Arc<str>,
    /// Its session.
    pub session: Arc<str>,
    /// Whether its session was made for it alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ephemeral: bool,
    /// When it began, in milliseconds since 1970.
    pub began_at: i64,
}

impl KeptPart {
    /// Returns the parts that a fork keeps up to `until`. `request` is the one that it is forked from, which may be a
    /// fork itself, and `first` its first event.
    pub fn of_fork(first: &Event, request: &str, until: Seq) -> Vec<KeptPart> {
        let EventKind::RequestStarted { kept, session, ephemeral, .. } = &first.kind else { return Vec::new() };
        let mut parts = kept.clone();
        parts.truncate(parts.iter().position(|part| part.until >= until).map_or(parts.len(), |last| last + 1));
        match parts.last_mut().filter(|last| last.until >= until) {
            Some(last) => last.until = until,
            None => parts.push(KeptPart {
                until,
                request_id: request.into(),
                session: session.clone(),
                ephemeral: *ephemeral,
                began_at: first.at,
            }),
        }
        parts
    }
}

/// A generator of this name asks another model, or with other options, in the executions that begin after this event.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelEdit {
    /// The generator's block name.
    pub generator: String,
    /// The block at or in which the generator is meant, by path. It counts if several generators of the flow have the
    /// name; its indices do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The model that is asked in place of the flow's; the flow's if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Options in place of the flow's: `maxTokens`, and any for the provider.
    #[serde(default, skip_serializing_if = "Map::is_empty", deserialize_with = "crate::model::json::exact")]
    pub options: Map<String, Value>,
}
