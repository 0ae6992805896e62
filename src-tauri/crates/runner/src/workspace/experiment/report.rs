//! What an experiment found, read from its samples' logs: nothing of it is stored but the scores.

use std::collections::HashMap;

use engine::effects::EffectKind;
use engine::event::{Event, EventKind, RequestStatus};
use engine::views::Events;
use engine::views::items::Audience;
use serde_json::{Map, Value, json};
use store::SampleRow;

use super::axes::Arm;
use super::sample::Begun;
use super::statistics::{Interval, difference, mean, median, rate, resampled};
use crate::core::fault::Fault;
use crate::core::prices::CallTokens;
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
    pub(super) events: Vec<Event>,
    pub(super) end: End,
}

impl Workspace {
    /// Reads a run. `None` if somebody has deleted it.
    pub(super) fn read_run(&self, request: &str) -> Result<Option<Read>, Fault> {
        let (row, events) = match self.whole_log_of(request) {
            Ok(found) => found,
            Err(Fault::NotFound { .. }) => return Ok(None),
            Err(fault) => return Err(fault),
        };
        let view = Events::new(&events);
        let output = events.iter().rev().find_map(|event| match &event.kind {
            EventKind::RequestFinished { output: Some(output), .. } => view.value(output),
            _ => None,
        });
        let StateView { session, user, project, request: own, .. } = self.state_at(request, None)?;
        let mut state = Map::new();
        for (name, value) in [("session", session), ("user", user), ("project", project), ("request", own)] {
            state.extend(value.map(|Json(value)| (name.to_owned(), value)));
        }
        let error = row.error.as_ref().map(|error| (error.name.clone(), error.message.clone()));
        let end = End { status: row.status, output: output.cloned(), error, state: state.into() };
        Ok(Some(Read { row, events, end }))
    }

    /// What is told of a run: what a score looks at.
    pub(super) fn told(&self, read: &Read) -> Result<Value, Fault> {
        let Read { row, end, .. } = read;
        let items = self.items(None, Some(&row.id), Audience::All, None)?;
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
        let own = read.row.forked_from.as_ref().map_or(0, |from| from.seq);
        let view = Events::new(&read.events);
        let (mut usage, mut cost) = (SampleUsage::default(), Some(0.0));
        for event in read.events.iter().filter(|event| event.seq > own) {
            let EventKind::EffectFinished { effect: EffectKind::Model, result, memoized: false, .. } = &event.kind
            else {
                continue;
            };
            usage.model_calls += 1;
            let tokens = CallTokens::read(result).unwrap_or_default();
            usage.prompt_tokens += tokens.input;
            usage.completion_tokens += tokens.output;
            let model = view.effect_request(&event.kind).and_then(|request| request["model"].as_str());
            let price = self.config.cost(model.unwrap_or_default(), result);
            cost = cost.zip(price).map(|(cost, price)| cost + price);
        }
        usage.total_tokens = usage.prompt_tokens + usage.completion_tokens;
        (usage, cost.filter(|_| !self.config.prices.is_empty()))
    }

    /// How long a run took itself, in milliseconds.
    fn duration(&self, read: &Read) -> i64 {
        let own = read.row.forked_from.as_ref().map_or(0, |from| from.seq);
        let first = read.events.iter().find(|event| event.seq > own).map_or(0, |event| event.at);
        let last = read.events.last().map_or(first, |event| event.at);
        read.row.duration_ms.unwrap_or(last - first).max(0)
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

/// An arm with its samples.
pub(super) fn arm_view(id: &str, arm: &Arm, samples: Vec<SampleView>) -> ArmView {
    ArmView { id: id.to_owned(), axes: Json(arm.axes().into()), summary: summary(&samples), samples, error: None }
}

fn summary(samples: &[SampleView]) -> ArmSummary {
    let ended: Vec<&SampleView> = samples.iter().filter(|sample| Begun::of(sample.status) == Begun::Ended).collect();
    let count = |is_it: &dyn Fn(&&&SampleView) -> bool| ended.iter().filter(is_it).count() as u32;
    let times: Vec<f64> = ended.iter().map(|sample| sample.duration_ms as f64).collect();
    let tokens: Vec<f64> = ended.iter().map(|sample| sample.usage.total_tokens as f64).collect();
    let interval = resampled(&times, median);
    let mut summary = ArmSummary {
        n: ended.len() as u32,
        failed: count(&|sample| sample.status != RequestStatus::Completed),
        median_ms: median(&times),
        low_ms: interval.map(|found| found.low),
        high_ms: interval.map(|found| found.high),
        median_tokens: median(&tokens),
        cost_usd: ended.iter().map(|sample| sample.cost_usd).sum(),
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
            resampled(values, mean)
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
        arm.samples.iter().filter(|sample| Begun::of(sample.status) == Begun::Ended).cloned().collect()
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

/// An interval that holds the difference of two means: the distance of their intervals, which is the careful choice.
fn difference_of_means(one: &[f64], other: &[f64]) -> Option<Interval> {
    let (one_mean, other_mean) = (mean(one)?, mean(other)?);
    let (own, their) = (resampled(one, mean)?, resampled(other, mean)?);
    let below = ((one_mean - own.low).powi(2) + (their.high - other_mean).powi(2)).sqrt();
    let above = ((own.high - one_mean).powi(2) + (other_mean - their.low).powi(2)).sqrt();
    let middle = one_mean - other_mean;
    Some(Interval { low: middle - below, high: middle + above })
}

/// The samples of each arm, by its number.
pub(super) fn by_arm(rows: Vec<SampleRow>) -> HashMap<u32, Vec<SampleRow>> {
    let mut by_arm: HashMap<u32, Vec<SampleRow>> = HashMap::new();
    for row in rows {
        by_arm.entry(row.arm).or_default().push(row);
    }
    by_arm
}
