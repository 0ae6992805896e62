//! The list of items, advanced by chance, against `views::items` and `history::select` over all events.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{Event, EventKind, Seq};
use engine::views::Events;
use engine::views::history::{self, Query};
use engine::views::items::follow::{AUDIENCES, item_fact};
use engine::views::items::{Audience, items};
use engine::views::spans::PathNumber;
use fastrand::Rng;
use serde_json::{Value, json};
use store::ItemEvent;

use super::made_up::MadeUp;
use crate::request_view::item_list::ItemList;

const REQUEST: &str = "r";

/// A log with items of all kinds put between events made up by chance.
struct Emitting {
    rng: Rng,
    made: MadeUp,
    taken: usize,
    events: Vec<Event>,
    open: Vec<(Arc<str>, u32)>,
    /// Items in progress, writes that wait for a commit, and events that a callback may have made.
    growing: Vec<Seq>,
    writes: Vec<Seq>,
    done: Vec<Seq>,
}

impl Emitting {
    fn tell(&mut self, kind: EventKind, of: Option<(Arc<str>, u32)>) -> Seq {
        let seq = self.events.len() as Seq + 1;
        let (path, attempt) = of.map_or((None, 0), |(path, attempt)| (Some(path), attempt));
        self.events.push(Event { seq, at: 1_000 + seq as i64, path, attempt, kind });
        seq
    }

    fn go_on(&mut self) {
        self.made.go_on();
        let fresh = self.made.events[self.taken..].to_vec();
        for event in fresh {
            let of = event.path.clone().map(|path| (path, event.attempt));
            match (&event.kind, &of) {
                (EventKind::BlockStarted { .. }, Some(of)) => {
                    // The user's message stands before its block begins.
                    if self.rng.u32(0..10) == 0 {
                        let said = json!({ "kind": "item_added", "item": { "type": "message", "status": "completed",
                            "payload": { "role": "user" } } });
                        self.tell(serde_json::from_value(said).expect("an event"), Some(of.clone()));
                    }
                    self.open.push(of.clone());
                }
                (EventKind::BlockFinished { .. }, Some(of)) => self.open.retain(|open| open != of),
                (EventKind::RequestResumed { .. }, _) => self.open.clear(),
                _ => {}
            }
            self.tell(event.kind, of);
        }
        self.taken = self.made.events.len();
        if self.made.is_live && self.rng.bool() && !self.open.is_empty() {
            let of = self.open[self.rng.usize(0..self.open.len())].clone();
            self.emit(of);
        }
    }

    fn emit(&mut self, of: (Arc<str>, u32)) {
        let any = |rng: &mut Rng, seqs: &[Seq]| (!seqs.is_empty()).then(|| seqs[rng.usize(0..seqs.len())]);
        let parse = |value: Value| serde_json::from_value::<EventKind>(value).expect("an event");
        let item = |item: Value| json!({ "kind": "item_added", "item": item });
        let text = json!([{ "type": "text", "text": "a" }]);
        let (growing, written) = (any(&mut self.rng, &self.growing), any(&mut self.rng, &self.writes));
        // A callback returns while its block runs, and tells of that alone; a resume tells of any.
        let own = |seq: &&Seq| {
            let event = &self.events[**seq as usize - 1];
            event.path.as_ref() == Some(&of.0) && event.attempt == of.1
        };
        let own: Vec<Seq> = self.done.iter().filter(own).copied().collect();
        let (n, earlier) = (self.rng.u32(0..4), any(&mut self.rng, &own));
        let repeated = any(&mut self.rng, &self.done);
        let value = match (self.rng.u32(0..16), growing, written, earlier) {
            (0, ..) => item(json!({ "type": "message", "status": "in_progress", "agentType": "sub",
                "payload": { "role": "assistant", "content": text } })),
            (1, ..) => item(json!({ "type": "reasoning", "status": "completed", "transient": true, "payload": {} })),
            (2, ..) => item(json!({ "type": "message", "status": "completed", "agentType": "trace", "payload": {} })),
            (3 | 4, ..) => item(json!({ "type": "component", "status": "completed", "key": format!("k{n}"),
                "payload": { "component": "c", "n": self.events.len() } })),
            (5, ..) => item(json!({ "type": "step_error", "status": "failed", "payload": {} })),
            (6, Some(of), ..) => json!({ "kind": "item_delta", "of": of, "text": "more" }),
            (7, Some(of), ..) => json!({ "kind": "item_updated", "of": of, "patch": { "n": n } }),
            (8, Some(of), ..) => json!({ "kind": "item_done", "of": of, "status": "completed", "patch": {} }),
            (9 | 10, ..) => json!({ "kind": "state_changed", "version": 1,
                "scope": { "kind": "session", "id": "s" }, "operation": { "op": "push", "field": "a", "value": 1 } }),
            (11, _, Some(written), _) => json!({ "kind": "committed", "commits": [{
                "scope": { "kind": "session", "id": "s" }, "from": 0, "version": 1, "operations": [written] }] }),
            (12, .., Some(earlier)) => json!({ "kind": "callback_returned", "callback": "f", "events": [earlier] }),
            (13, .., Some(earlier)) => json!({ "kind": "callback_returned", "callback": "f", "events": [],
                "superseded": [earlier] }),
            (14, ..) => json!({ "kind": "callback_returned", "callback": "f", "events": Vec::from_iter(repeated),
                "memoized": true }),
            _ => json!({ "kind": "route_decided", "route": "left" }),
        };
        let kind = parse(value);
        let seq = self.tell(kind.clone(), Some(of));
        match kind {
            EventKind::ItemAdded { item } if item.status == engine::item::ItemStatus::InProgress => {
                self.growing.push(seq);
            }
            EventKind::StateChanged { .. } => self.writes.push(seq),
            _ => {}
        }
        if self.rng.u32(0..4) == 0 {
            self.done.push(seq);
        }
    }
}

fn plain(events: &[Event], audience: Audience, live: bool) -> Vec<Seq> {
    let all = items(&REQUEST.into(), Events::new(events), live);
    let lasting = matches!(audience, Audience::Client | Audience::History);
    let query = Query { include_transient: !lasting, ..Query::default() };
    history::select(vec![all], Vec::new(), audience, &query).into_iter().map(|item| item.seq).collect()
}

#[test]
fn the_list_is_that_of_the_whole_log_for_each_audience_at_any_instant() {
    let mut seen = [0; 4];
    for seed in 0..50 {
        let rng = Rng::with_seed(seed ^ 0x5eed);
        let (events, open) = (Vec::new(), Vec::new());
        let mut log = Emitting {
            rng,
            made: MadeUp::new(seed),
            taken: 0,
            events,
            open,
            growing: Vec::new(),
            writes: Vec::new(),
            done: Vec::new(),
        };
        let mut list = ItemList::new();
        let mut numbers: HashMap<Arc<str>, PathNumber> = HashMap::new();
        let mut before: [Vec<Seq>; 4] = Default::default();
        for _ in 0..25 {
            for _ in 0..log.rng.usize(1..30) {
                log.go_on();
            }
            for event in &log.events[list.last() as usize..] {
                let path = event.path.as_ref().map(|path| {
                    let next = numbers.len() as PathNumber + 1;
                    *numbers.entry(path.clone()).or_insert(next)
                });
                if let Some(fact) = item_fact(&event.kind, path.is_some()) {
                    list.push(ItemEvent { seq: event.seq, path, attempt: event.attempt, fact });
                }
            }
            list.set_last(log.events.len() as Seq, log.made.is_live);
            let (counts, changed) = (list.counts(), list.take_changed());
            let instant = log.rng.usize(1..=log.events.len());
            for (n, audience) in AUDIENCES.into_iter().enumerate() {
                let what = format!("seed {seed}, {audience:?}, {} events", log.events.len());
                let now = plain(&log.events, audience, log.made.is_live);
                let shown = list.window(audience, 0, usize::MAX, None);
                let other = shown.iter().find(|seq| !now.contains(seq)).or(now.iter().find(|seq| !shown.contains(seq)));
                let about = other.map(|seq| &log.events[*seq as usize - 1]);
                assert_eq!(shown, now, "{what}: {about:?}");
                assert_eq!(counts[n], now.len() as u64, "{what}");
                // What comes before the first that changed is what it was.
                let same = changed.map_or(now.len(), |changed| changed[n] as usize);
                assert_eq!(now.get(..same), before[n].get(..same), "{what}: the first {same} have not changed");
                let (offset, limit) = (log.rng.usize(0..=now.len()), log.rng.usize(0..20));
                let part: Vec<Seq> = now.iter().skip(offset).take(limit).copied().collect();
                assert_eq!(list.window(audience, offset as u64, limit, None), part, "{what}");
                let past = plain(&log.events[..instant], audience, true);
                let at = Some(instant as Seq);
                assert_eq!(list.window(audience, 0, usize::MAX, at), past, "{what} at {instant}");
                assert_eq!(list.counts_at(at)[n], past.len() as u64, "{what} at {instant}");
                seen[n] += past.len();
                before[n] = now;
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 1_000), "each audience saw items: {seen:?}");
}
