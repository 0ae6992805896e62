//! What an experiment found, read from its samples' logs: nothing of it is stored but the scores.

use std::collections::{HashMap, HashSet};

use engine::effects::EffectKind;
use engine::event::{Event, EventKind, Outcome, Recorded, RequestStatus};
use engine::views::Events;
use engine::views::items::Audience;
use serde_json::{Map, Value, json};
use store::{EventQuery, SampleRow};

use crate::core::fault::Fault;
use crate::core::prices::{CallTokens, added};
use crate::views::{Json, RequestRow, SampleUsage, SampleView, StateView};
use crate::workspace::Workspace;
use crate::workspace::known_samples::{End, OriginalRun, Used};

/// A sample whose request is there.
pub(super) struct Read {
    pub(super) row: RequestRow,
    /// Its own events: of a fork those that it does not have in common with another request.
    pub(super) events: Vec<Event>,
    pub(super) end: End,
}

/// The output of the request that ended, as it was recorded.
fn finished(events: &[Event]) -> Option<&Recorded> {
    events.iter().rev().find_map(|event| match &event.kind {
        EventKind::RequestFinished { output, .. } => output.as_ref(),
        _ => None,
    })
}

impl Workspace {
    /// Reads a run. `None` if somebody has deleted it.
    pub(super) fn read_run(&self, request: &str) -> Result<Option<Read>, Fault> {
        match self.request(request) {
            Ok(row) => self.read_run_of(row).map(Some),
            Err(Fault::NotFound { .. }) => Ok(None),
            Err(fault) => Err(fault),
        }
    }

    /// As [`read_run`](Self::read_run), of a known row.
    pub(super) fn read_run_of(&self, row: RequestRow) -> Result<Read, Fault> {
        self.known_samples.count_reading();
        let request = row.id.as_str();
        // What a fork has in common with another request may be long, and says nothing of the fork.
        let first = row.forked_from.as_ref().map_or(1, |from| from.seq + 1);
        let query = EventQuery { from: Some(first), ..EventQuery::default() };
        let events = self.store.events(request, &query).map_err(Fault::internal)?;
        let output = finished(&events).map_or(Ok(None), |output| self.value_of(request, &events, output))?;
        self.run_of(row, events, output)
    }

    /// As [`read_run`](Self::read_run), of a run whose whole log was read.
    pub(super) fn run_in(&self, row: RequestRow, all: &[Event]) -> Result<Read, Fault> {
        let shared = row.forked_from.as_ref().map_or(0, |from| from.seq);
        let own = all[all.partition_point(|event| event.seq <= shared)..].to_vec();
        let output = finished(&own).and_then(|output| Events::new(all).value(output)).cloned();
        self.run_of(row, own, output)
    }

    fn run_of(&self, row: RequestRow, events: Vec<Event>, output: Option<Value>) -> Result<Read, Fault> {
        let StateView { session, user, project, request: own, .. } = self.state_at(&row.id, None)?;
        let mut state = Map::new();
        for (name, value) in [("session", session), ("user", user), ("project", project), ("request", own)] {
            state.extend(value.map(|Json(value)| (name.to_owned(), value)));
        }
        let error = row.error.as_ref().map(|error| (error.name.clone(), error.message.clone()));
        let end = End { status: row.status, output, error, state: state.into() };
        Ok(Read { row, events, end })
    }

    /// A value that one of a request's own events records: often that of an earlier event.
    fn value_of(&self, request: &str, own: &[Event], recorded: &Recorded) -> Result<Option<Value>, Fault> {
        match (recorded, Events::new(own).value(recorded)) {
            (_, Some(value)) => Ok(Some(value.clone())),
            (Recorded::Of(_), None) => {
                let (_, events) = self.log_of(request)?;
                Ok(Events::new(&events).value(recorded).cloned())
            }
            (_, None) => Ok(None),
        }
    }

    /// What is told of a run: what a score looks at.
    pub(super) fn told(&self, read: &Read) -> Result<Value, Fault> {
        let Read { row, end, .. } = read;
        let items = self.items(None, Some(&row.id), Audience::All, None)?;
        let mut items = serde_json::to_value(items).map_err(Fault::internal)?;
        if let (Some(items), seams) = (items.as_array_mut(), seams(&read.events))
            && !seams.is_empty()
        {
            items.retain(|item| item["seq"].as_u64().is_none_or(|seq| !seams.contains(&seq)));
        }
        let mut told = json!({
            "status": row.status,
            "state": end.state,
            "items": items,
            "usage": self.usage(read).usage,
            "durationMs": self.duration(read),
        });
        // An absent output is `undefined` in an expression.
        for (name, value) in [("output", end.output.clone()), ("error", row.error.as_ref().map(|error| json!(error)))] {
            if let Some(value) = value {
                told[name] = value;
            }
        }
        Ok(told)
    }

    /// What a run asked of models itself, and what that cost.
    pub(super) fn usage(&self, read: &Read) -> Used {
        let view = Events::new(&read.events);
        let (mut usage, mut cost, mut shared_cost) = (SampleUsage::default(), Some(0.0), Some(0.0));
        let mut paid_usd = 0.0;
        for event in &read.events {
            let EventKind::EffectFinished { effect: EffectKind::Model, result, memoized: false, .. } = &event.kind
            else {
                continue;
            };
            usage.model_calls += 1;
            let tokens = CallTokens::read(result).unwrap_or_default();
            usage.prompt_tokens = usage.prompt_tokens.saturating_add(tokens.input);
            usage.completion_tokens = usage.completion_tokens.saturating_add(tokens.output);
            let model = view.effect_request(&event.kind).and_then(|request| request["model"].as_str());
            let price = self.config.value_of(model.unwrap_or_default(), result);
            let sum = if shared_ms(&event.kind).is_some() {
                usage.shared_calls += 1;
                usage.shared_tokens = usage.shared_tokens.saturating_add(tokens.input.saturating_add(tokens.output));
                &mut shared_cost
            } else {
                paid_usd += price.unwrap_or_default();
                &mut cost
            };
            *sum = sum.zip(price).map(|(sum, price)| added(sum, price));
        }
        usage.total_tokens = usage.prompt_tokens.saturating_add(usage.completion_tokens);
        let has_prices = !self.config.prices.is_empty();
        Used {
            cost: cost.filter(|_| has_prices),
            shared_cost: shared_cost.filter(|_| has_prices && usage.shared_calls > 0),
            paid_usd,
            usage,
        }
    }

    /// What the samples of an experiment have spent so far: calls, tokens and US dollars. An answer that several
    /// samples share was paid for by the one that asked.
    pub(super) fn spent(&self, samples: &[Sample], request: &str) -> Result<(u32, u64, f64), Fault> {
        let mut spent = (0, 0_u64, 0.0);
        if samples.is_empty() {
            return Ok(spent);
        }
        let original = self.original_of(request)?;
        for sample in samples.iter().filter_map(|(_, request)| request.as_ref()) {
            let facts = self.facts(self.request_row(sample.clone()), original.as_ref())?;
            let Used { usage, paid_usd, .. } = &facts.used;
            let tokens = usage.total_tokens.saturating_sub(usage.shared_tokens);
            spent.0 += usage.model_calls.saturating_sub(usage.shared_calls);
            spent.1 = spent.1.saturating_add(tokens);
            spent.2 += paid_usd;
        }
        Ok(spent)
    }

    /// How long a run took itself, in milliseconds, without the time in which nobody ran it. If it was stopped and went
    /// on, what was cut off counts once: a part ends with the last thing that stayed.
    pub(super) fn duration(&self, read: &Read) -> i64 {
        let (mut parts, mut kept): (Vec<(i64, i64)>, Option<i64>) = (Vec::new(), None);
        for event in &read.events {
            match (&event.kind, parts.last_mut()) {
                (EventKind::RequestResumed { .. }, last) => {
                    if let (Some(part), Some(kept)) = (last, kept.take()) {
                        part.1 = kept;
                    }
                    parts.push((event.at, event.at));
                }
                (_, None) => parts.push((event.at, event.at)),
                (kind, Some(part)) => {
                    part.1 = event.at;
                    if stays(kind) {
                        kept = Some(event.at);
                    } else {
                        kept = kept.or(Some(part.0));
                    }
                }
            }
        }
        let ran: i64 = parts.iter().map(|(from, to)| (to - from).max(0)).sum();
        ran.saturating_add(not_waited(&read.events))
    }

    /// One sample, compared with the request.
    pub(super) fn sample_view(
        &self,
        row: &SampleRow,
        request: RequestRow,
        original: Option<&OriginalRun>,
    ) -> Result<SampleView, Fault> {
        let status = request.status;
        let error = request.error.clone();
        let facts = self.facts(request, original)?;
        let of_score = |name: &str| row.score.as_ref().and_then(|score| score.get(name)).cloned();
        Ok(SampleView {
            number: row.number,
            request_id: row.request.clone(),
            status,
            output: facts.output.clone().map(Json),
            error,
            score: of_score("value").map(Json),
            score_error: of_score("error").and_then(|error| error.as_str().map(str::to_owned)),
            usage: facts.used.usage,
            cost_usd: facts.used.cost,
            shared_usd: facts.used.shared_cost,
            duration_ms: facts.duration_ms,
            differs: facts.differs,
        })
    }
}

/// A sample as it is stored, with its request if that is there.
pub(super) type Sample = (SampleRow, Option<store::RequestRow>);

/// How much longer the model took than the run waited, if another run had asked for the answer.
fn shared_ms(kind: &EventKind) -> Option<u64> {
    match kind {
        EventKind::EffectFinished { effect: EffectKind::Model, result, memoized: false, .. } => {
            result["sharedMs"].as_u64()
        }
        _ => None,
    }
}

/// How long a run would have waited more if it had asked for shared answers itself. Of calls beside each other the
/// longest counts.
fn not_waited(events: &[Event]) -> i64 {
    let calls = events.iter().filter_map(|event| match &event.kind {
        EventKind::EffectFinished { started, .. } => {
            Some((started.unwrap_or(event.seq), event.seq, shared_ms(&event.kind)?))
        }
        _ => None,
    });
    let (mut whole, mut longest, mut until) = (0_u64, 0_u64, 0);
    for (started, ended, ms) in calls {
        if started > until {
            (whole, longest) = (whole.saturating_add(longest), 0);
        }
        (longest, until) = (longest.max(ms), ended);
    }
    i64::try_from(whole.saturating_add(longest)).unwrap_or(i64::MAX)
}

/// The events of a run that would not be there if it had not been stopped: failures by the stop, and continuations.
fn seams(events: &[Event]) -> HashSet<u64> {
    let (mut seams, mut cut, mut is_stopped) = (HashSet::new(), Vec::new(), false);
    for event in events {
        match &event.kind {
            EventKind::BlockFinished { error: Some(error), .. } if error.is_abort() => cut.push(event.seq),
            EventKind::RequestFinished { status, .. } => is_stopped = *status == RequestStatus::Aborted,
            EventKind::RequestStatus { status } => is_stopped = *status == RequestStatus::Interrupted,
            EventKind::RequestResumed { .. } if is_stopped => {
                seams.extend(cut.drain(..));
                seams.insert(event.seq);
                is_stopped = false;
            }
            _ => {}
        }
    }
    seams
}

/// Whether an event stays if the run is stopped after it: a result, which nothing does again.
fn stays(kind: &EventKind) -> bool {
    match kind {
        EventKind::BlockFinished { outcome, .. } => *outcome == Outcome::Completed,
        EventKind::EffectFinished { .. } | EventKind::CallbackReturned { .. } => true,
        _ => false,
    }
}

/// The samples of each arm, by its number.
pub(super) fn by_arm(samples: Vec<Sample>) -> HashMap<u32, Vec<Sample>> {
    let mut by_arm: HashMap<u32, Vec<Sample>> = HashMap::new();
    for sample in samples {
        by_arm.entry(sample.0.arm).or_default().push(sample);
    }
    by_arm
}
