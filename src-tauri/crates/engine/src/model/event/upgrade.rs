//! Upgrades events of older formats to the current one.
//!
//! Used by migrations and by the import of older exports, so that no other code knows old names. Values of flows are
//! copied byte for byte. Must not be called with events of the current format.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;
use serde_json::value::{RawValue, to_raw_value};

use super::CaughtBy;

/// The fields of one event, without its kind.
type Fields = IndexMap<String, Box<RawValue>>;

/// Upgrades the events of one request. They must be passed in their order.
#[derive(Default)]
pub struct Upgrade {
    /// The id of the database, if the events stay in the database in which they were written.
    database: Option<String>,
    /// How many owners the request has had so far.
    epoch: u64,
    /// Paths at which a block started.
    paths: HashSet<String>,
    /// Paths at which a block ended, and whether its newest end was not a failure.
    completed: HashMap<String, bool>,
}

impl Upgrade {
    /// Creates the state for one request. `database` is the id of its database; `None` for an import from another one.
    pub fn new(database: Option<&str>) -> Upgrade {
        Upgrade { database: database.map(str::to_owned), ..Upgrade::default() }
    }

    /// Must be called with every event before the first [`event`](Self::event): which block caught a failure is
    /// inferred from the blocks that ran after it.
    pub fn survey(&mut self, kind: &str, path: Option<&str>, body: &str) {
        let Some(path) = path else { return };
        match kind {
            "block_started" => drop(self.paths.insert(path.to_owned())),
            "block_finished" => {
                let is_failure = body.contains("\"outcome\":\"failed\"");
                self.completed.insert(path.to_owned(), !is_failure);
            }
            _ => {}
        }
    }

    /// Returns the event's current kind and fields (a JSON object), or `None` if both are unchanged.
    pub fn event(&mut self, kind: &str, path: Option<&str>, body: &str) -> Option<(String, String)> {
        let mut fields: Fields = serde_json::from_str(body).ok()?;
        let kind = match kind {
            "request_started" => {
                self.epoch = 1;
                self.name_owner(&mut fields);
                kind
            }
            "request_resumed" => {
                self.epoch += 1;
                self.name_owner(&mut fields);
                put(&mut fields, "epoch", &self.epoch);
                kind
            }
            "function_returned" => {
                rename(&mut fields, "function", "callback");
                rename(&mut fields, "overtaken", "superseded");
                "callback_returned"
            }
            "suspended" if fields.contains_key("function") => {
                rename(&mut fields, "function", "callback");
                kind
            }
            "effect_recorded" => {
                let effect = match text(&fields, "effect")?.as_str() {
                    "now" => "clock".to_owned(),
                    "run_once" => "once".to_owned(),
                    other => other.to_owned(),
                };
                put(&mut fields, "effect", &effect);
                rename(&mut fields, "recalled", "memoized");
                "effect_finished"
            }
            "noted" => {
                let shown = text(&fields, "text")?;
                let rest = shown.strip_prefix("drift: ")?;
                let drift = match rest {
                    _ if rest.contains("has another list") => "list",
                    _ if rest.contains("asks its model") => "model_call",
                    _ => "input",
                };
                put(&mut fields, "drift", &drift);
                "drift"
            }
            "block_finished" if text(&fields, "outcome")? == "failed" => {
                let by = self.caught(path?)?;
                put(&mut fields, "caught", &by);
                kind
            }
            _ => return None,
        };
        Some((kind.to_owned(), serde_json::to_string(&fields).ok()?))
    }

    fn name_owner(&self, fields: &mut Fields) {
        if let (Some(database), Some(owner)) = (&self.database, text(fields, "owner")) {
            put(fields, "owner", &format!("{database}.{owner}"));
        }
    }

    /// Returns who caught the failure of a block, inferred from the paths of what ran after it.
    fn caught(&self, path: &str) -> Option<CaughtBy> {
        let (parent, segment) = path.rsplit_once('/')?;
        let has_run = |start: &str| self.paths.iter().any(|other| other.starts_with(start));
        if crate::model::path::is_of_step_hook(path) {
            return Some(CaughtBy::Hook);
        }
        let in_chain = !segment.starts_with("rescue:") && has_run(&format!("{parent}/rescue:"));
        if in_chain || has_run(&format!("{path}/rescue:")) {
            return Some(CaughtBy::Rescue);
        }
        if segment.starts_with("tool:") {
            return Some(CaughtBy::Tool);
        }
        if segment.starts_with("work:") || segment.starts_with("forEachBackground") {
            return Some(CaughtBy::Background);
        }
        let by = match segment {
            _ if segment.starts_with("stepAny") => CaughtBy::StepAny,
            _ if segment.starts_with("race") => CaughtBy::Race,
            _ => return None,
        };
        let operation = segment.split('[').next().unwrap_or_default();
        let siblings = format!("{parent}/{operation}[");
        let came_through = |other: &String| {
            other.strip_prefix(&siblings).is_some_and(|rest| !rest.contains('/'))
                && self.completed.get(other).copied().unwrap_or(true)
        };
        self.paths.iter().any(came_through).then_some(by)
    }
}

fn text(fields: &Fields, name: &str) -> Option<String> {
    serde_json::from_str(fields.get(name)?.get()).ok()
}

fn put(fields: &mut Fields, name: &str, value: &impl serde::Serialize) {
    // Serializing numbers and strings cannot fail.
    if let Ok(value) = to_raw_value(value) {
        fields.insert(name.to_owned(), value);
    }
}

/// Renames a field and keeps its position.
fn rename(fields: &mut Fields, from: &str, to: &str) {
    if let Some((at, _, value)) = fields.shift_remove_full(from) {
        fields.shift_insert(at, to.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_names_become_current_names() {
        let mut upgrade = Upgrade::new(Some("d1"));
        upgrade.survey("block_started", Some("root/rescue:r"), "{}");
        for (kind, path, body, now) in [
            (
                "request_started",
                None,
                r#"{"flow":"f","owner":"u1"}"#,
                r#"request_started {"flow":"f","owner":"d1.u1"}"#,
            ),
            ("request_resumed", None, r#"{"owner":"u2"}"#, r#"request_resumed {"owner":"d1.u2","epoch":2}"#),
            (
                "function_returned",
                Some("root"),
                r#"{"function":"map#0","events":[],"overtaken":[3]}"#,
                r#"callback_returned {"callback":"map#0","events":[],"superseded":[3]}"#,
            ),
            (
                "effect_recorded",
                Some("root"),
                r#"{"effect":"now","ordinal":0,"result":1e400}"#,
                r#"effect_finished {"effect":"clock","ordinal":0,"result":1e400}"#,
            ),
            (
                "noted",
                None,
                r#"{"text":"drift: x got another input"}"#,
                r#"drift {"text":"drift: x got another input","drift":"input"}"#,
            ),
            (
                "block_finished",
                Some("root/step:a"),
                r#"{"outcome":"failed"}"#,
                r#"block_finished {"outcome":"failed","caught":"rescue"}"#,
            ),
        ] {
            let (kind, body) = upgrade.event(kind, path, body).unwrap_or_default();
            assert_eq!(format!("{kind} {body}"), now);
        }
        assert_eq!(upgrade.event("logged", Some("root"), "{}"), None);
        assert_eq!(upgrade.event("noted", None, r#"{"text":"other"}"#), None);
    }
}
