//! Takes in what is new.

use engine::event::{Outcome, Seq};
use engine::views::attempts::Stands;
use engine::views::items::follow::{Candidate, ItemFact, continuation};
use store::ItemEvent;

use super::*;

impl ItemList {
    /// Says up to which event all is taken in, and whether the request's process still runs it.
    pub(crate) fn set_last(&mut self, last: Seq, is_live: bool) {
        self.last = self.last.max(last);
        self.set_live(is_live);
    }

    fn set_live(&mut self, is_live: bool) {
        if self.is_live == is_live {
            return;
        }
        self.is_live = is_live;
        // As of an event it is shown as if its process had gone on.
        let after = short(self.last).saturating_add(1);
        for attempt in self.running.clone() {
            self.look_at_all(attempt, after);
        }
    }

    /// Takes in one event.
    pub(crate) fn push(&mut self, event: ItemEvent) {
        let seq = short(event.seq);
        // What comes was done by a process that ran.
        self.set_live(true);
        self.last = event.seq;
        let key = event.path.map(|path| (path, event.attempt));
        match event.fact {
            ItemFact::Added(mut candidate) => {
                self.answers.extend(candidate.answers.take().map(|id| (id, seq)));
                self.add(seq, key, candidate);
            }
            ItemFact::TakenBack { id } => drop(self.answers.remove(&id).map(|of| self.changes_done(seq, of))),
            ItemFact::Grew { of, bytes } => {
                if !self.changes_done(seq, short(of)) {
                    self.grow(seq, short(of), |growth, length| growth.pieces.push((seq, length + bytes as u64)));
                }
            }
            ItemFact::Patched { of, text } => {
                self.carry(seq, of, key);
                self.patch(seq, short(of), text, false);
            }
            ItemFact::Done { of, text } => self.patch(seq, short(of), text, true),
            ItemFact::Began { replaces_failed } => {
                let before =
                    key.filter(|_| replaces_failed).and_then(|(path, attempt)| Some((path, attempt.checked_sub(1)?)));
                before.into_iter().for_each(|before| self.run_again(seq, before));
                key.into_iter().for_each(|key| self.begin(seq, key));
            }
            ItemFact::WentOn => key.into_iter().for_each(|key| self.go_on(seq, key)),
            ItemFact::Input => {
                if let Some(attempt) = self.attempt_of(key) {
                    self.attempts[attempt as usize].input = seq;
                }
            }
            ItemFact::ModelAnswered => {
                if let Some(attempt) = self.attempt_of(key) {
                    self.models.entry(attempt).or_default().push(seq);
                }
            }
            ItemFact::Ended { outcome, stopped, memoized, item, commits } => {
                self.commit(seq, &commits);
                key.into_iter().for_each(|key| self.end(seq, key, outcome, stopped, memoized));
                if let Some(item) = item {
                    let at = self.add(seq, key, item);
                    self.entries[at as usize].flags |= IS_OUTPUT;
                }
            }
            ItemFact::Returned { events, superseded, memoized, commits } => {
                self.commit(seq, &commits);
                if memoized {
                    self.flag(seq, &events, IS_REPEATED);
                } else {
                    self.flag(seq, &events, IS_KEPT);
                    self.flag(seq, &superseded, IS_SUPERSEDED);
                }
            }
            ItemFact::Committed(commits) => self.commit(seq, &commits),
            ItemFact::RequestBegan | ItemFact::Paused => self.place.goes_on = false,
            ItemFact::Resumed => self.resume(seq),
            ItemFact::Finished { item, failed_at } => {
                if let Some(item) = item {
                    self.add(seq, None, item);
                }
                self.place.failed_at = failed_at;
                self.stand_waiting(seq);
                for attempt in self.running.clone() {
                    self.attempts[attempt as usize].was_cut = true;
                    self.look_at_all(attempt, seq);
                }
            }
        }
    }

    fn attempt_of(&self, key: Option<AttemptKey>) -> Option<u32> {
        self.by_key.get(&key?).copied()
    }

    fn add(&mut self, seq: u32, key: Option<AttemptKey>, new: Candidate) -> u32 {
        let at = self.entries.len() as u32;
        let mut flags = 0;
        let mut attempt = NONE;
        if let Some(key) = key {
            // One that has not begun is known by its place all the same.
            attempt = self.attempt_of(Some(key)).unwrap_or_else(|| self.unknown(key));
            if self.attempts[attempt as usize].started == NEVER {
                flags |= IS_BEFORE_BEGIN;
            }
        }
        for (is_set, flag) in [
            (new.is_question, IS_QUESTION),
            (new.is_told_failure, IS_TOLD_FAILURE),
            (new.is_shared_write, IS_SHARED_WRITE),
            (new.identity.is_some(), IS_KEYED),
            (new.is_of_run, IS_OF_RUN),
        ] {
            flags |= if is_set { flag } else { 0 };
        }
        let from = if new.waits_for_commit { NEVER } else { seq };
        let before = self.attempts.get_mut(attempt as usize).map_or(NONE, |one| std::mem::replace(&mut one.newest, at));
        if self.entries.len().is_multiple_of(CHUNK) {
            self.chunks.push([0; 4]);
        }
        self.entries.push(Entry {
            seq,
            from,
            until: NEVER,
            attempt,
            before,
            flags,
            audiences: new.audiences,
            shown_to: 0,
        });
        if new.is_in_progress {
            let pieces = vec![(seq, new.text as u64)];
            self.growing.insert(at, Growth { pieces, ..Growth::default() });
        }
        if let Some(identity) = new.identity {
            self.join_group(at, identity);
        }
        self.look(at, seq);
        at
    }

    fn join_group(&mut self, at: u32, identity: String) {
        let next = self.groups.len() as u32;
        let group = *self.by_identity.entry(identity).or_insert(next);
        if group == next {
            self.groups.push(Group { members: Vec::new(), shown: NONE });
        }
        // The one that is shown gets other fields.
        let Group { members, shown } = &mut self.groups[group as usize];
        members.push(at);
        let shown = *shown;
        if shown != NONE {
            self.touch(shown);
        }
        self.group_of.insert(at, group);
    }

    fn is_shown(&self, at: u32) -> bool {
        self.entries[at as usize].shown_to != 0
    }

    /// The entry of an event.
    pub(super) fn entry_at(&self, seq: u32) -> Option<u32> {
        self.entries.binary_search_by_key(&seq, |entry| entry.seq).ok().map(|at| at as u32)
    }

    fn grow(&mut self, _seq: u32, of: u32, act: impl FnOnce(&mut Growth, u64)) {
        let Some(at) = self.entry_at(of) else { return };
        let Some(growth) = self.growing.get_mut(&at) else { return };
        let length = growth.pieces.last().map_or(0, |(_, length)| *length);
        act(growth, length);
        if self.is_shown(at) {
            self.touch(at);
        }
    }

    /// Notes a change of an item that was done when it was added. Returns whether it is one.
    fn changes_done(&mut self, seq: u32, of: u32) -> bool {
        let Some(at) = self.entry_at(of).filter(|at| !self.growing.contains_key(at)) else { return false };
        self.replaced.entry(at).or_default().push(seq);
        if self.is_shown(at) {
            self.touch(at);
        }
        true
    }

    fn patch(&mut self, seq: u32, of: u32, text: Option<usize>, is_done: bool) {
        if !is_done && self.changes_done(seq, of) {
            return;
        }
        self.grow(seq, of, |growth, _| {
            growth.patches.push(seq);
            if let Some(text) = text {
                growth.pieces.clear();
                growth.pieces.push((seq, text as u64));
            }
            // A block that resumes may continue an item that is done, which keeps its status.
            growth.done = growth.done.or(is_done.then_some(seq));
        });
    }

    fn unknown(&mut self, key: AttemptKey) -> u32 {
        let at = self.attempts.len() as u32;
        self.attempts.push(Attempt {
            started: NEVER,
            input: NEVER,
            finished: 0,
            over: NEVER,
            newest: NONE,
            // Until it begins this is not asked for.
            stands: Stands::Waiting,
            is_memoized: false,
            was_cut: false,
            runs_again: false,
            went_on: false,
        });
        self.keys.push(key);
        self.by_key.insert(key, at);
        at
    }

    fn begin(&mut self, seq: u32, key: AttemptKey) {
        (self.place.goes_on, self.place.failed_at) = (true, None);
        self.place.open.push(key);
        let at = self.attempt_of(Some(key)).unwrap_or_else(|| self.unknown(key));
        let newest = self.attempts[at as usize].newest;
        self.attempts[at as usize] = Attempt {
            started: seq,
            input: NEVER,
            finished: 0,
            over: NEVER,
            newest,
            stands: Stands::Running,
            is_memoized: false,
            was_cut: false,
            runs_again: false,
            went_on: false,
        };
        if let Some(before) = self.waiting.remove(&key.0).filter(|before| *before != at) {
            self.stand(before, seq, Stands::Waited);
        }
        self.running.insert(at);
        let mut earlier = newest;
        while let Some(entry) = self.entries.get_mut(earlier as usize) {
            entry.flags |= IS_BEFORE_BEGIN;
            earlier = entry.before;
        }
        self.look_at_all(at, seq);
    }

    /// An attempt that had failed runs again: its writes to shared memory count no more.
    fn run_again(&mut self, seq: u32, key: AttemptKey) {
        if let Some(at) = self.attempt_of(Some(key)) {
            self.attempts[at as usize].runs_again = true;
            self.look_at_all(at, seq);
        }
    }

    /// An attempt goes on after an interruption: what it did before stands as it was, and what it does now is known by
    /// an entry of its own.
    fn go_on(&mut self, seq: u32, key: AttemptKey) {
        let Some(before) = self.attempt_of(Some(key)) else { return };
        let (started, stands) = (self.attempts[before as usize].started, self.attempts[before as usize].stands);
        if started == NEVER {
            return;
        }
        (self.place.goes_on, self.place.failed_at) = (true, None);
        self.place.open.push(key);
        if let Some(waiting) = self.waiting.remove(&key.0) {
            self.stand(waiting, seq, Stands::Waited);
        }
        let earlier = &mut self.attempts[before as usize];
        earlier.went_on = true;
        earlier.runs_again |= matches!(stands, Stands::Ended { .. });
        self.look_at_all(before, seq);
        let at = self.unknown(key);
        self.attempts[at as usize].started = started;
        self.attempts[at as usize].stands = Stands::Running;
        self.running.insert(at);
    }

    fn end(&mut self, seq: u32, key: AttemptKey, outcome: Outcome, stopped: bool, is_memoized: bool) {
        if let Some(at) = self.place.open.iter().rposition(|one| *one == key) {
            self.place.open.remove(at);
        }
        let Some(at) = self.attempt_of(Some(key)) else { return };
        let attempt = &mut self.attempts[at as usize];
        if attempt.started == NEVER {
            return;
        }
        self.running.remove(&at);
        (attempt.finished, attempt.is_memoized) = (seq, is_memoized);
        if outcome == Outcome::Suspended {
            attempt.stands = Stands::Waiting;
            if let Some(before) = self.waiting.insert(key.0, at) {
                self.stand(before, seq, Stands::Waited);
            }
        } else {
            attempt.stands = Stands::Ended { outcome, stopped };
            attempt.over = seq;
        }
        // What completed keeps what it did; only what is rolled back, or taken from the log, drops it.
        self.look_at_all(at, seq);
    }

    fn resume(&mut self, seq: u32) {
        if self.place.goes_on {
            let place = match (self.place.open.last(), &self.place.failed_at) {
                (Some((path, _)), _) => Place::Number(*path),
                (None, Some(path)) => Place::Text(path.clone()),
                (None, None) => Place::Nowhere,
            };
            let at = self.add(seq, None, continuation());
            self.continued.insert(at, place);
        }
        self.place.open.clear();
        for attempt in std::mem::take(&mut self.running) {
            self.stand(attempt, seq, Stands::CutOff);
        }
    }

    fn stand_waiting(&mut self, seq: u32) {
        for attempt in std::mem::take(&mut self.waiting).into_values() {
            self.stand(attempt, seq, Stands::Waited);
        }
    }

    fn stand(&mut self, attempt: u32, seq: u32, stands: Stands) {
        let one = &mut self.attempts[attempt as usize];
        (one.stands, one.over) = (stands, seq);
        self.look_at_all(attempt, seq);
    }

    /// Looks again at what an attempt did. An item that still grew may be cut short, so it is told as changed.
    fn look_at_all(&mut self, attempt: u32, seq: u32) {
        for at in self.carried.get(&attempt).cloned().unwrap_or_default() {
            self.look_again(at, seq);
        }
        let mut at = self.attempts[attempt as usize].newest;
        while at != NONE {
            self.look_again(at, seq);
            at = self.entries[at as usize].before;
        }
    }

    /// A run that goes on with an item of an earlier run of its attempt makes it its own.
    fn carry(&mut self, seq: u32, of: Seq, key: Option<AttemptKey>) {
        let (Some(at), Some(newest)) = (self.entry_at(short(of)), self.attempt_of(key)) else { return };
        let Entry { attempt: known, until, .. } = self.entries[at as usize];
        let is_earlier = known != newest && self.attempts.get(known as usize).is_some_and(|attempt| attempt.went_on);
        if is_earlier && self.keys[known as usize] == self.keys[newest as usize] {
            self.entries[at as usize].attempt = newest;
            self.carried.entry(newest).or_default().push(at);
            if until != NEVER {
                self.gaps.entry(at).or_default().push((until, seq));
            }
            self.look(at, seq);
        }
    }

    fn look_again(&mut self, at: u32, seq: u32) {
        self.look(at, seq);
        if self.is_shown(at) && self.growing.get(&at).is_some_and(|growth| growth.done.is_none()) {
            self.touch(at);
        }
    }

    fn flag(&mut self, seq: u32, events: &[Seq], flag: u16) {
        for at in events.iter().filter_map(|event| self.entry_at(short(*event))).collect::<Vec<_>>() {
            self.entries[at as usize].flags |= flag;
            self.look(at, seq);
        }
    }

    fn commit(&mut self, seq: u32, operations: &[Seq]) {
        for at in operations.iter().filter_map(|event| self.entry_at(short(*event))).collect::<Vec<_>>() {
            let entry = &mut self.entries[at as usize];
            if entry.from == NEVER {
                entry.from = seq;
                self.look(at, seq);
            }
        }
    }
}
