//! Replaying a request: what it found when it ran, and what it does today.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{Event, EventKind};
use engine::request::Asked;
use engine::scope::{ScopeKey, ScopeKind};
use engine::views::attempts::Attempts;

use super::Workspace;
use crate::fault::Fault;
use crate::replay::{Rehearsal, Seen, replay};
use crate::views::Replay;

impl Workspace {
    /// Runs a request again in memory, with its recorded effects and the code of today. Writes nothing.
    pub fn replay(&self, request: &str) -> Result<Replay, Fault> {
        let (row, events) = self.log_of(request)?;
        let (asked, _) = self.asked_before(&row, &events)?;
        let good = self.with_catalogue(|catalogue| catalogue.find(&row.flow))?;
        let mut records = Vec::new();
        for scope in self.store.scopes_of(request).map_err(Fault::internal)? {
            if scope.kind.is_durable() {
                records.push((scope.clone(), self.store.state_at(&scope, request, 0).map_err(Fault::internal)?));
            }
        }
        let seen =
            self.seen(request, &events, records.iter().map(|(scope, record)| (scope.clone(), record.version)))?;
        let asked = Asked { claim: None, owner: "replay".to_owned(), ..asked };
        replay(
            &self.dir,
            Rehearsal { good, config: self.config.clone(), asked, events, records, seen, store: self.store.clone() },
        )
    }

    /// What blocks saw of records that others had written since the request began.
    fn seen(
        &self,
        request: &str,
        events: &[Event],
        began: impl Iterator<Item = (ScopeKey, u64)>,
    ) -> Result<Seen, Fault> {
        let attempts = Attempts::read(events);
        let mut versions: HashMap<ScopeKey, u64> = began.collect();
        let mut seen = Seen::new();
        for event in events {
            for commit in event.kind.commits() {
                versions.insert(commit.scope.clone(), commit.version);
            }
            let (EventKind::BlockStarted { versions: news, .. }, Some(path)) = (&event.kind, &event.path) else {
                continue;
            };
            let Some(nth) = attempts.place(event) else { continue };
            for (scope, version) in news.iter().filter(|(scope, _)| scope.kind != ScopeKind::Resource) {
                if versions.get(scope).copied().unwrap_or(0) == *version {
                    continue;
                }
                let record = self.store.state_at(scope, request, event.seq).map_err(Fault::internal)?;
                versions.insert(scope.clone(), *version);
                let key: (Arc<str>, u32) = (path.clone(), nth as u32);
                seen.entry(key).or_default().push((scope.clone(), record));
            }
        }
        Ok(seen)
    }
}
