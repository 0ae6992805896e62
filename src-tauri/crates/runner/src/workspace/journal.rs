//! A session's journal, and what the engine noted of a request.

use serde_json::Value;
use store::{EventQuery, NoteQuery};

use engine::context::UNHANDLED;
use engine::event::EventKind;
use engine::log::NoteKind;

use super::Workspace;
use crate::core::fault::Fault;
use crate::views::Json;

impl Workspace {
    /// The entries of a session's journal, oldest first; those with a tag where one is named.
    pub fn journal(&self, session: &str, tag: Option<&str>) -> Result<Vec<Json>, Fault> {
        self.session(session)?;
        let notes = self.store.notes_of(session, NoteKind::Journal, NoteQuery::default()).map_err(Fault::internal)?;
        let is_wanted = |entry: &Value| match (tag, entry["tags"].as_array()) {
            (None, _) => true,
            (Some(tag), Some(tags)) => tags.iter().any(|one| one == tag),
            (Some(_), None) => false,
        };
        Ok(notes.into_iter().map(|note| note.entry).filter(is_wanted).map(Json).collect())
    }

    /// What the engine had to say of a request after an event of it, each once: undeclared keys,
    /// drift, values that today's schemas refuse, failures that nobody waited for.
    pub fn warnings(&self, request: &str, after: u64) -> Result<Vec<String>, Fault> {
        let mut texts: Vec<String> = Vec::new();
        for kind in ["noted", "drift", "logged"] {
            let query = EventQuery {
                from: Some(after.saturating_add(1)),
                kind: Some(kind.to_owned()),
                ..EventQuery::default()
            };
            for event in self.store.events(request, &query).map_err(Fault::internal)? {
                match event.kind {
                    EventKind::Noted { text } | EventKind::Drift { text, .. } if !texts.contains(&text) => {
                        texts.push(text)
                    }
                    EventKind::Logged { text, .. } if text.starts_with(UNHANDLED) && !texts.contains(&text) => {
                        texts.push(text);
                    }
                    _ => {}
                }
            }
        }
        Ok(texts)
    }
}
