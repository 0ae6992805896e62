//! What an experiment found, read from its samples' logs: nothing of it is stored but the scores.

use std::collections::{HashMap, HashSet};

use engine::effects::EffectKind;
use engine::event::{Event, EventKind, Outcome, Recorded, RequestStatus};
use engine::views::Events;
use engine::views::items::Audience;
use serde_json::{Map, Value, json};
use store::{EventQuery, SampleRow};

use super::axes::Arm;
use super::sample::Begun;
use super::statistics::{difference, difference_of_means, mean, median, of_mean, rate, resampled};
use crate::core::fault::Fault;
use crate::core::prices::{CallTokens, added};
use crate::models::call_meter::hash_of;
use crate::views::{
    ArmSummary, ArmView, BesideBase, Json, RequestRow, SampleDiffers, SampleUsage, SampleView, StateView,
};
use crate::workspace::Workspace;

/// The end of a run, as samples are compared by it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct End {
    status: RequestStatus,
    output: Option<Value>,
    error: Option<(String, String)>,
    state: Value,
}

/// A sample whose request is there.
pub(super) struct Read {
    pub(super) row: RequestRow,
    /// Its own events: of a fork those that it does not have in common with another request.
    pub(super) events: Vec<Event>,
    pub(super) end: End,
}

impl Workspace {
    /// Reads a run. `None` if somebody has deleted it.
    pub(super) fn read_run(&self, request: &str) -> Result<Option<Read>, Fault> {
        let row = match self.request(request) {
            Ok(row) => row,
            Err(Fault::NotFound { .. }) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        // What a fork has in common with another request may be long, and says nothing of the fork.
        let first = row.forked_from.as_ref().map_or(1, |from| from.seq + 1);
        let query = EventQuery { from: Some(first), ..EventQuery::default() };
        let events = self.store.events(request, &query).map_err(Fault::internal)?;
        let finished = events.iter().rev().find_map(|event| match &event.kind {
            EventKind::RequestFinished { output, .. } => output.as_ref(),
            _ => None,
        });
        let output = finished.map_or(Ok(None), |output| self.value_of(request, &events, output))?;
        let StateView { session, user, project, request: own, .. } = self.state_at(request, None)?;
        let mut state = Map::new();
        for (name, value) in [("session", session), ("user", user), ("project", project), ("request", own)] {
            state.extend(value.map(|Json(value)| (name.to_owned(), value)));
        }
        let error = row.error.as_ref().map(|error| (error.name.clone(), error.message.clone()));
        let end = End { status: row.status, output, error, state: state.into() };
        Ok(Some(Read { row, events, end }))
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
            "usage": self.usage(read).0,
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
    pub(super) fn usage(&self, read: &Read) -> (SampleUsage, Option<f64>) {
        let view = Events::new(&read.events);
        let (mut usage, mut cost) = (SampleUsage::default(), Some(0.0));
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
            let price = self.config.cost(model.unwrap_or_default(), result);
            cost = cost.zip(price).map(|(cost, price)| added(cost, price));
        }
        usage.total_tokens = usage.prompt_tokens.saturating_add(usage.completion_tokens);
        (usage, cost.filter(|_| !self.config.prices.is_empty()))
    }

    /// What the samples of an experiment have spent so far: calls, tokens and US dollars. A call that several samples
    /// with one number share (`shares`) counts once.
    pub(super) fn spent(&self, rows: &[SampleRow], shares: bool) -> Result<(u32, u64, f64), Fault> {
        let mut counted: HashSet<(u32, blake3::Hash, u32)> = HashSet::new();
        let mut spent = (0, 0_u64, 0.0);
        for row in rows {
            let Some(read) = self.read_run(&row.request)? else { continue };
            let view = Events::new(&read.events);
            let mut asked: HashMap<blake3::Hash, u32> = HashMap::new();
            for event in &read.events {
                let EventKind::EffectFinished { effect: EffectKind::Model, result, memoized: false, error, .. } =
                    &event.kind
                else {
                    continue;
                };
                let Some(request) = view.effect_request(&event.kind) else { continue };
                let hash = hash_of(request);
                // A call that failed was sent for its sample alone.
                if error.is_none() {
                    let nth = asked.entry(hash).or_insert(0);
                    *nth += 1;
                    if shares && !counted.insert((row.number, hash, *nth)) {
                        continue;
                    }
                }
                let tokens = CallTokens::read(result).unwrap_or_default();
                let usd = self.config.cost(request["model"].as_str().unwrap_or_default(), result).unwrap_or_default();
                spent = (spent.0 + 1, spent.1.saturating_add(tokens.sum()), spent.2 + usd);
            }
        }
        Ok(spent)
    }

    /// How long a run took itself, in milliseconds, without the time in which nobody ran it. If it was stopped and went
    /// on, what was cut off counts once: a part ends with the last thing that stayed.
    fn duration(&self, read: &Read) -> i64 {
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
        parts.iter().map(|(from, to)| (to - from).max(0)).sum()
    }

    /// One sample, beside the request. `None` if somebody has deleted it.
    pub(super) fn sample_view(&self, row: &SampleRow, original: &End) -> Result<Option<SampleView>, Fault> {
        let Some(read) = self.read_run(&row.request)? else { return Ok(None) };
        let (usage, cost_usd) = self.usage(&read);
        let duration_ms = self.duration(&read);
        let of_score = |name: &str| row.score.as_ref().and_then(|score| score.get(name)).cloned();
        let (ended, other) = (&read.end, original);
        let outcome = |end: &End| (end.status, end.output.clone(), end.error.clone());
        let differs = SampleDiffers { output: outcome(ended) != outcome(other), state: ended.state != other.state };
        Ok(Some(SampleView {
            number: row.number,
            request_id: row.request.clone(),
            status: read.row.status,
            output: read.end.output.map(Json),
            error: read.row.error,
            score: of_score("value").map(Json),
            score_error: of_score("error").and_then(|error| error.as_str().map(str::to_owned)),
            usage,
            cost_usd,
            duration_ms,
            differs,
        }))
    }
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

/// An arm with its samples.
pub(super) fn arm_view(id: &str, arm: &Arm, samples: Vec<SampleView>) -> ArmView {
    ArmView { id: id.to_owned(), axes: Json(arm.axes().into()), summary: summary(&samples), samples, error: None }
}

fn summary(samples: &[SampleView]) -> ArmSummary {
    let ended: Vec<&SampleView> = samples.iter().filter(|sample| Begun::is_over(sample.status)).collect();
    let count = |is_it: &dyn Fn(&&&SampleView) -> bool| ended.iter().filter(is_it).count() as u32;
    let times: Vec<f64> = ended.iter().map(|sample| sample.duration_ms as f64).collect();
    let tokens: Vec<f64> = ended.iter().map(|sample| sample.usage.total_tokens as f64).collect();
    let interval = resampled(&times, median);
    let mut summary = ArmSummary {
        n: ended.len() as u32,
        waiting: samples.iter().filter(|sample| sample.status == RequestStatus::Suspended).count() as u32,
        failed: count(&|sample| sample.status != RequestStatus::Completed),
        median_ms: median(&times),
        low_ms: interval.map(|found| found.low),
        high_ms: interval.map(|found| found.high),
        median_tokens: median(&tokens),
        // The sum of no costs is no cost.
        cost_usd: ended.iter().map(|sample| sample.cost_usd).sum::<Option<f64>>().filter(|_| !ended.is_empty()),
        differing: count(&|sample| sample.differs.output || sample.differs.state),
        ..ArmSummary::default()
    };
    let scores = Scores::of(&ended);
    let found = match &scores {
        Scores::None => return summary,
        Scores::Passed { passed, of } => {
            summary.passed = Some(*passed);
            summary.rate = (*of > 0).then(|| f64::from(*passed) / f64::from(*of));
            Some(rate(*passed, *of))
        }
        Scores::Numbers(values) => {
            summary.mean = mean(values);
            of_mean(values)
        }
    };
    summary.low = found.map(|found| found.low);
    summary.high = found.map(|found| found.high);
    summary
}

/// The scores of an arm.
enum Scores {
    None,
    Passed { passed: u32, of: u32 },
    Numbers(Vec<f64>),
}

impl Scores {
    fn of(samples: &[&SampleView]) -> Scores {
        let scores: Vec<&Value> =
            samples.iter().filter_map(|sample| sample.score.as_ref().map(|Json(score)| score)).collect();
        if scores.is_empty() {
            return Scores::None;
        }
        if scores.iter().all(|score| score.is_boolean()) {
            let passed = scores.iter().filter(|score| score.as_bool() == Some(true)).count() as u32;
            return Scores::Passed { passed, of: scores.len() as u32 };
        }
        // A mixture counts `true` as 1.
        let number = |score: &&Value| score.as_f64().or(score.as_bool().map(|passes| f64::from(u8::from(passes))));
        Scores::Numbers(scores.iter().filter_map(number).collect())
    }
}

/// How an arm's scores stand beside those of the base arm; `None` without scores.
pub(super) fn beside_base(arm: &ArmView, base: &ArmView, is_mock: bool) -> Option<BesideBase> {
    let ended = |arm: &'_ ArmView| -> Vec<SampleView> {
        arm.samples.iter().filter(|sample| Begun::is_over(sample.status)).cloned().collect()
    };
    let (own, other) = (ended(arm), ended(base));
    let (own, other) = (own.iter().collect::<Vec<_>>(), other.iter().collect::<Vec<_>>());
    let (interval, is_equal) = match (Scores::of(&own), Scores::of(&other)) {
        (Scores::None, _) | (_, Scores::None) => return None,
        (Scores::Passed { passed, of }, Scores::Passed { passed: other_passed, of: other_of }) => {
            let is_equal = u64::from(passed) * u64::from(other_of) == u64::from(other_passed) * u64::from(of);
            (Some(difference((passed, of), (other_passed, other_of))), is_equal)
        }
        (Scores::Numbers(own), Scores::Numbers(other)) => {
            let is_equal = mean(&own) == mean(&other);
            (difference_of_means(&own, &other), is_equal)
        }
        _ => (None, false),
    };
    Some(match interval {
        _ if is_mock && is_equal => BesideBase::Same,
        Some(found) if found.low > 0.0 => BesideBase::Better,
        Some(found) if found.high < 0.0 => BesideBase::Worse,
        _ => BesideBase::NotEnoughSamples,
    })
}

/// The samples of each arm, by its number.
pub(super) fn by_arm(rows: Vec<SampleRow>) -> HashMap<u32, Vec<SampleRow>> {
    let mut by_arm: HashMap<u32, Vec<SampleRow>> = HashMap::new();
    for row in rows {
        by_arm.entry(row.arm).or_default().push(row);
    }
    by_arm
}
