//! Replaying a request: what it found when it ran, and what it does today.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::alone::Alone;
use engine::effect_log::{SeenRecords, callback_key, edit_key};
use engine::event::{Event, EventKind, Seq};
use engine::path::is_inside;
use engine::request::StartRequest;
use engine::scope::{ScopeKey, ScopeKind};
use engine::views::fork_edits::{ForkEdit, edited_input};
use engine::views::replay_order::ReplayOrder;

use super::Workspace;
use crate::core::fault::Fault;
use crate::run::replay::comparison::Expectation;
use crate::run::replay::{ReplayInput, Replayed, ReplayedCode, Watch, replay};
use crate::views::{Replay, RequestRow};

impl Workspace {
    /// Runs a request again in memory, with its recorded effects and the code of today. Writes nothing.
    pub fn replay(&self, request: &str) -> Result<Replay, Fault> {
        let (mut replay, _) = self.replayed(request)?;
        if !replay.identical {
            replay.unset_variables = self.missing_secrets();
        }
        Ok(replay)
    }

    /// As [`replay`](Self::replay), with the events that the replay made.
    pub(super) fn replayed(&self, request: &str) -> Result<(Replay, Vec<Event>), Fault> {
        let (row, events) = self.whole_log_of(request)?;
        let loaded_flow = self.with_catalogue(|catalogue| catalogue.find(&row.flow))?;
        let Replayed { result, events, .. } =
            replay(&self.dir, self.replay_input(&row, events, ReplayedCode::Loaded(loaded_flow))?)?;
        Ok((result.into(), events))
    }

    /// What a replay of a request needs.
    pub(super) fn replay_input(
        &self,
        row: &RequestRow,
        events: Vec<Event>,
        code: ReplayedCode,
    ) -> Result<ReplayInput, Fault> {
        let request = row.id.as_str();
        let (asked, _) = self.asked_before(row, &events)?;
        // What a fork's old input led to is not done again: it begins with what was there then.
        let began = edited_input(&events).unwrap_or(0);
        let mut records = Vec::new();
        for kind in [ScopeKind::Session, ScopeKind::User, ScopeKind::Project] {
            let (Some(owner), Some(state)) = (asked.owner_key(kind), asked.durable_key(kind)) else { continue };
            let resources = self.store.resource_records_of(&owner).map_err(Fault::internal)?;
            for scope in resources.into_iter().chain([state]) {
                let record = self.record_at(&scope, request, began)?;
                records.push((scope, record));
            }
        }
        let seen =
            self.foreign(request, &events, records.iter().map(|(scope, record)| (scope.clone(), record.version)))?;
        let asked = StartRequest { claim: None, owner: "replay".to_owned(), ..asked };
        let (config, store) = (self.config.clone(), self.store.clone());
        let expectation = Expectation::default();
        let (alone, watch) = (None, Watch::default());
        Ok(ReplayInput { code, config, asked, events, expectation, records, seen, store, alone, watch })
    }

    /// What a run of one block of a request by itself needs: the records as the block found them.
    pub(super) fn input_alone(
        &self,
        row: &RequestRow,
        events: &[Event],
        code: ReplayedCode,
        alone: Alone,
    ) -> Result<ReplayInput, Fault> {
        let mut input = self.replay_input(row, events.to_vec(), code)?;
        // The newest version of each record that the request had read or written by then.
        let mut versions: HashMap<&ScopeKey, u64> = HashMap::new();
        for event in events.iter().take_while(|event| event.seq <= alone.began) {
            let news = match &event.kind {
                EventKind::BlockStarted { versions, .. } | EventKind::RecordsSeen { versions } => versions.as_slice(),
                _ => &[],
            };
            versions.extend(news.iter().map(|(scope, version)| (scope, *version)));
            versions.extend(event.kind.commits().iter().map(|commit| (&commit.scope, commit.version)));
        }
        for (scope, record) in &mut input.records {
            let found = match versions.get(scope) {
                Some(version) => self.store.state_seen(scope, &row.id, alone.began, *version),
                None => self.store.state_at(scope, &row.id, alone.began),
            };
            *record = found.map_err(Fault::internal)?;
        }
        // What blocks before it saw has come to these records.
        let is_own = |seen: &str| seen == &*alone.path || is_inside(seen, &alone.path);
        let path_of = |key: &str| key.split('\u{0}').next().is_some_and(is_own);
        input.seen.retain(|(key, _), _| path_of(key));
        input.alone = Some(alone);
        Ok(input)
    }

    /// What blocks saw of records that others had written since the request began.
    fn foreign(
        &self,
        request: &str,
        events: &[Event],
        began: impl Iterator<Item = (ScopeKey, u64)>,
    ) -> Result<SeenRecords, Fault> {
        let attempts = ReplayOrder::read(events);
        let mut versions: HashMap<ScopeKey, u64> = began.collect();
        let (mut seen, mut ran) = (SeenRecords::new(), HashSet::new());
        // Records that the next block which is new finds, by scope: as of which event, and in which version.
        let mut waiting: HashMap<ScopeKey, (Seq, u64)> = HashMap::new();
        // What a fork began with: the newest commit of no block.
        let mut begun: Vec<(ScopeKey, (Seq, u64))> = Vec::new();
        let mut callbacks: HashMap<u64, &str> = HashMap::new();
        // What functions did that were called again: the call that counts does not tell once more what they looked at.
        let mut repeated: HashSet<Seq> = HashSet::new();
        for event in events {
            if let EventKind::CallbackReturned { callback, events, superseded, memoized: false, .. } = &event.kind {
                callbacks.extend(events.iter().chain(superseded).map(|seq| (*seq, callback.as_str())));
                repeated.extend(superseded);
            }
        }
        let from = self.request(request)?.forked_from;
        let own = edited_input(events).unwrap_or(0);
        let at = |(scope, (seq, version)): (ScopeKey, (Seq, u64))| -> Result<_, Fault> {
            let (origin, its, seq) = self.original(request, scope.clone(), seq)?;
            let record = self.store.state_seen(&its, &origin, seq, version).map_err(Fault::internal)?;
            Ok((scope, record))
        };
        // What a fork has in common with another request names that one's records.
        let mut own_keys: HashMap<ScopeKey, ScopeKey> = HashMap::new();
        let mut own_key = |scope: &ScopeKey, seq: Seq| -> Result<ScopeKey, Fault> {
            if from.as_ref().is_none_or(|from| seq > from.seq) {
                return Ok(scope.clone());
            }
            if let Some(known) = own_keys.get(scope) {
                return Ok(known.clone());
            }
            let (origin, ..) = self.original(request, scope.clone(), seq)?;
            let own = self.counterpart(scope, &origin, request)?;
            own_keys.insert(scope.clone(), own.clone());
            Ok(own)
        };
        for event in events.iter().filter(|event| event.seq > own) {
            // What an attempt wrote that is not made again is there for the replay as if another had written it.
            let is_done_again = event.path.is_none() || attempts.place_to_end(event).is_some();
            if event.path.is_none() && !event.kind.commits().is_empty() {
                begun.clear();
            }
            for commit in event.kind.commits().iter().filter(|_| is_done_again) {
                let scope = own_key(&commit.scope, event.seq)?;
                // What a fork began with was there before it went on.
                if from.is_some() && event.path.is_none() {
                    versions.remove(&scope);
                    begun.push((scope, (event.seq, commit.version)));
                    continue;
                }
                let known = versions.insert(scope.clone(), commit.version);
                // Its write was refused and put on top of what another had written meanwhile: what the other wrote is
                // there from this write on, without any look of ours at it.
                let is_behind = known.or(from.is_none().then_some(0)).is_some_and(|known| known < commit.from);
                // A record that waits has this write on top of it by the time a block finds it.
                if is_behind || waiting.contains_key(&scope) {
                    waiting.insert(scope, (event.seq, commit.version));
                }
            }
            if let Some(path) = ForkEdit::of(event).and_then(|edit| edit.step()) {
                // The step is taken from the log, without its commits.
                versions.extend(begun.iter().map(|(scope, (_, version))| (scope.clone(), *version)));
                let found: Vec<_> = begun.drain(..).map(at).collect::<Result<_, _>>()?;
                seen.entry((edit_key(path), 0)).or_default().extend(found);
            }
            let (
                EventKind::BlockStarted { versions: news, .. }
                | EventKind::BlockResumed { versions: news, .. }
                | EventKind::RecordsSeen { versions: news },
                Some(path),
            ) = (&event.kind, &event.path)
            else {
                continue;
            };
            let is_look = matches!(event.kind, EventKind::RecordsSeen { .. });
            let is_repeated = is_look && repeated.contains(&event.seq);
            let nth = if is_repeated { attempts.place_of_repeated(event) } else { attempts.place(event) };
            for (scope, version) in news {
                let scope = own_key(scope, event.seq)?;
                let known = versions.get(&scope).copied();
                if known == Some(*version) || (known.is_none() && *version == 0 && from.is_none()) {
                    continue;
                }
                versions.insert(scope.clone(), *version);
                waiting.insert(scope, (event.seq, *version));
            }
            // A look of an attempt that is behind the request: the next one does not tell it again.
            if is_look && nth.is_none() {
                continue;
            }
            // A chain that is gone through again comes by what it did before the others wrote: the first block
            // that is new finds what they wrote.
            let is_new = ran.insert(path.clone()) || is_look || attempts.is_second_try(event);
            if let Some(nth) = nth.filter(|_| is_new) {
                // Resources are found when they are looked at, whoever looks; other records when a callback begins.
                let is_of_callback = is_look && news.iter().all(|(scope, _)| scope.kind != ScopeKind::Resource);
                let callback = callbacks.get(&event.seq).filter(|_| is_of_callback);
                let path = callback.map_or_else(|| path.clone(), |callback| callback_key(path, callback));
                let key: (Arc<str>, u32) = (path, nth as u32);
                let found: Vec<_> = waiting.drain().map(at).collect::<Result<_, _>>()?;
                seen.entry(key).or_default().extend(found);
            }
        }
        Ok(seen)
    }
}
