//! Answers of models in the logs of an experiment's samples. If a stopped experiment continues, an identical call of a
//! sample with the same number shares them, as if the experiment had not been stopped.
//!
//! Everything is read from the logs. Must not call a model.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use engine::effects::{EffectKind, ModelReply};
use engine::event::{Event, EventKind, Seq};
use engine::views::model_requests::Requests;
use store::EventQuery;

use super::report::Sample;
use super::{Begun, Experiment, Job};
use crate::core::fault::Fault;
use crate::models::call_meter::{Answered, CallMeter, hash_of};
use crate::workspace::{Mock, Workspace};

/// The kinds of events with requests and results of calls.
const KINDS: [&str; 2] = ["effect_started", "effect_finished"];

/// A model call that was answered.
struct EndedCall {
    /// The time of its start, and the event of it.
    started: (i64, Seq),
    hash: blake3::Hash,
    /// `None` if it failed: then each sample calls for itself.
    answered: Option<Answered>,
}

impl Workspace {
    /// Lets the samples that are about to run share the answers of samples with the same number.
    pub(super) fn share_earlier_answers<'s>(
        &self,
        experiment: &Experiment,
        meter: &CallMeter,
        jobs: &[Job<'_>],
        samples: impl Iterator<Item = &'s Sample>,
    ) -> Result<(), Fault> {
        // A mock script answers each sample separately.
        if experiment.mock != Mock::Off {
            return Ok(());
        }
        let runs = |job: &&Job<'_>| !matches!(job.begun, Some((_, Begun::Ended)));
        let wanted: HashSet<u32> = jobs.iter().filter(runs).map(|job| job.number).collect();
        let is_wanted = |(row, request): &&Sample| request.is_some() && wanted.contains(&row.number);
        let mut of_wanted: Vec<&Sample> = samples.filter(is_wanted).collect();
        // The first answer to a call counts, so the order must be the same each time.
        of_wanted.sort_by_key(|(row, _)| (row.number, row.arm));
        let mut common: Option<Requests> = None;
        for (row, request) in of_wanted {
            let Some(from) = request.as_ref().and_then(|request| request.forked_from.as_ref()) else { continue };
            let common = common.get_or_insert_with(|| Requests::of(&experiment.events));
            let calls = self.all_calls(&self.own_effects(&row.request, from.seq)?, common.clone())?;
            let mut asked: HashMap<blake3::Hash, u32> = HashMap::new();
            for EndedCall { hash, answered, .. } in calls {
                let nth = asked.entry(hash).or_insert(0);
                if let Some(answered) = answered {
                    meter.keep_answer((row.number, hash, *nth), answered);
                }
                *nth += 1;
            }
        }
        Ok(())
    }

    /// The answered calls of a sample, from which counting continues. `whole` is its log; its events up to `common` are
    /// those of the request.
    pub(super) fn answered_calls(&self, whole: &[Event], common: Seq) -> Result<Vec<blake3::Hash>, Fault> {
        let (shared, own) = whole.split_at(whole.partition_point(|event| event.seq <= common));
        let calls = self.all_calls(own, Requests::of(shared))?;
        Ok(calls.into_iter().map(|call| call.hash).collect())
    }

    /// The answered model calls of a sample and of the requests that it sent, which count as its calls, in the order
    /// in which they began. `own` are its own events, and `requests` are those of the events before.
    fn all_calls(&self, own: &[Event], requests: Requests) -> Result<Vec<EndedCall>, Fault> {
        let mut calls = ended_calls(own, requests);
        let (mut sent, mut known) = (sent_by(own), HashSet::new());
        while let Some(request) = sent.pop() {
            if known.insert(request.clone()) {
                let events = self.own_effects(&request, 0)?;
                calls.extend(ended_calls(&events, Requests::default()));
                sent.extend(sent_by(&events));
            }
        }
        calls.sort_by_key(|call| call.started);
        Ok(calls)
    }

    /// The effects of a fork's own events, in order.
    fn own_effects(&self, request: &str, common: Seq) -> Result<Vec<Event>, Fault> {
        let mut events = Vec::new();
        for kind in KINDS {
            let query = EventQuery { from: Some(common + 1), kind: Some(kind.to_owned()), ..EventQuery::default() };
            events.extend(self.store.events(request, &query).map_err(Fault::internal)?);
        }
        events.sort_by_key(|event| event.seq);
        Ok(events)
    }
}

/// The requests that some events of a log sent.
fn sent_by(events: &[Event]) -> Vec<String> {
    let sent = |event: &Event| match &event.kind {
        EventKind::EffectFinished { effect: EffectKind::Once, result, dispatch: Some(_), .. } => {
            result[0]["requestId"].as_str().map(str::to_owned)
        }
        _ => None,
    };
    events.iter().filter_map(sent).collect()
}

/// Whether a stopped sample was waiting for a model. Such a sample makes this call first when it continues.
pub(super) fn was_asking(whole: &[Event]) -> bool {
    let mut open: HashSet<Seq> = HashSet::new();
    for event in whole {
        match &event.kind {
            // Calls that were open before the resume run again.
            EventKind::RequestResumed { .. } => open.clear(),
            EventKind::EffectStarted { effect: EffectKind::Model, .. } => {
                open.insert(event.seq);
            }
            EventKind::EffectFinished { started: Some(started), .. } => {
                open.remove(started);
            }
            _ => {}
        }
    }
    !open.is_empty()
}

/// The model calls that ended in some events of a log; `requests` are those of the events before.
fn ended_calls(own: &[Event], mut requests: Requests) -> Vec<EndedCall> {
    let mut begun: HashMap<Seq, i64> = HashMap::new();
    let mut calls = Vec::new();
    for event in own {
        requests.read(event);
        match &event.kind {
            EventKind::EffectStarted { effect: EffectKind::Model, .. } => {
                begun.insert(event.seq, event.at);
            }
            EventKind::EffectFinished { effect: EffectKind::Model, memoized: false, result, error, .. } => {
                let Some((started, asked)) = requests.asked(event) else { continue };
                let reply: Option<ModelReply> = match error {
                    Some(_) => None,
                    None => engine::json::from_value(result.clone()).ok(),
                };
                let began = begun.get(&started).copied().unwrap_or(event.at);
                let waited = event.at - began;
                let answered = reply.map(|reply| {
                    // If the answer was already shared, the model took longer than this sample waited.
                    let took = u64::try_from(waited).unwrap_or(0).saturating_add(reply.shared_ms.unwrap_or(0));
                    let reply = ModelReply { shared_ms: None, ..reply };
                    Answered { reply, took: Duration::from_millis(took) }
                });
                calls.push(EndedCall { started: (began, started), hash: hash_of(&asked.whole()), answered });
            }
            _ => {}
        }
    }
    calls.sort_by_key(|call: &EndedCall| call.started);
    calls
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn event(seq: Seq, at: i64, kind: Value) -> Event {
        let mut event = json!({ "seq": seq, "at": at, "path": "root/step:a", "attempt": 0 });
        event.as_object_mut().unwrap().extend(kind.as_object().unwrap().clone());
        serde_json::from_value(event).unwrap()
    }

    fn begins(seq: Seq, at: i64, messages: Value) -> Event {
        let request = json!({ "generator": "a", "model": "m", "messages": messages, "step": 0 });
        event(seq, at, json!({ "kind": "effect_started", "effect": "model", "ordinal": seq, "request": request }))
    }

    fn ends(seq: Seq, at: i64, of: Seq, rest: Value) -> Event {
        let mut kind = json!({ "kind": "effect_finished", "effect": "model", "ordinal": of, "started": of });
        kind.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        event(seq, at, kind)
    }

    fn says(content: &str) -> Value {
        json!({ "role": "user", "content": content })
    }

    /// Ends may come in another order in another arm.
    #[test]
    fn calls_are_numbered_by_their_starts() {
        let log = [
            begins(1, 0, json!([says("slow")])),
            begins(2, 0, json!([says("fast")])),
            ends(3, 10, 2, json!({ "result": { "text": "two" } })),
            ends(4, 20, 1, json!({ "result": { "text": "one" } })),
        ];
        let calls = ended_calls(&log, Requests::default());
        let texts: Vec<_> = calls.iter().flat_map(|call| &call.answered).map(|one| one.reply.text.as_deref()).collect();
        assert_eq!(texts, [Some("one"), Some("two")]);
    }

    #[test]
    fn dispatched_requests_are_found_by_the_results_of_dispatches() {
        let once = |seq, rest: Value| {
            let mut kind = json!({ "kind": "effect_finished", "effect": "once", "ordinal": seq, "started": seq });
            kind.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            event(seq, 0, kind)
        };
        let sent = json!([{ "sessionId": "s", "requestId": "dispatch_1", "adopted": false }]);
        let log = [
            once(1, json!({ "result": sent, "dispatch": { "type": "internal", "target": "note" } })),
            once(2, json!({ "result": [{ "requestId": "its own" }] })),
            once(3, json!({ "result": [{ "refused": "no-entry", "detail": "" }], "dispatch": {} })),
        ];
        assert_eq!(sent_by(&log), ["dispatch_1"]);
    }

    #[test]
    fn each_answer_has_its_whole_request_and_its_duration() {
        let log = [
            begins(1, 0, json!([says("old")])),
            begins(5, 100, json!([{ "of": 1, "at": 0 }, says("new")])),
            ends(6, 350, 5, json!({ "result": { "text": "one" } })),
            begins(7, 400, json!([says("old"), says("new")])),
            ends(8, 410, 7, json!({ "result": { "text": "two", "sharedMs": 90 } })),
            begins(9, 420, json!([says("other")])),
            ends(10, 430, 9, json!({ "result": null, "error": { "name": "Error", "message": "no" } })),
            begins(11, 440, json!([says("other")])),
            ends(12, 450, 11, json!({ "result": { "text": "old" }, "memoized": true })),
            begins(13, 460, json!([says("cut off")])),
        ];
        let (common, own) = log.split_at(1);
        let calls = ended_calls(own, Requests::of(common));
        let told: Vec<(Option<&str>, u128)> = calls
            .iter()
            .map(|call| {
                let answered = call.answered.as_ref();
                let text = answered.and_then(|answered| answered.reply.text.as_deref());
                (text, answered.map_or(0, |answered| answered.took.as_millis()))
            })
            .collect();
        assert!(calls.is_sorted_by_key(|call| call.started));
        assert_eq!(told, [(Some("one"), 250), (Some("two"), 100), (None, 0)]);
        // References are resolved, so that equal requests have equal hashes.
        assert_eq!(calls[0].hash, calls[1].hash);
        assert!(calls.iter().flat_map(|call| &call.answered).all(|answered| answered.reply.shared_ms.is_none()));
        assert!(was_asking(&log) && !was_asking(&log[1..9]));
    }
}
