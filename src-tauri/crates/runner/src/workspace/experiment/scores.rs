//! What the samples of an arm tell together: the summary of its scores, and how they compare to those of the base arm.
//!
//! A sample that failed has no output to score. Leaving it out would make an arm look better the more it fails, so a
//! score that passes or fails counts it as failed, and a number says how many samples it leaves out. Must not read a
//! log.

use engine::event::RequestStatus;
use serde_json::Value;

use super::axes::Arm;
use super::sample::Begun;
use super::score::Score;
use super::statistics::{Interval, difference, difference_of_means, mean, median, of_mean, rate};
use crate::views::{ArmSummary, ArmView, BesideBase, Json, SampleView};

/// What the scores of an experiment are. All arms have the same kind, so that they can be compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScoreKind {
    /// Nothing is known of it, because no sample has a score.
    Unknown,
    /// A sample passes or fails.
    Passes,
    /// Each is a number; `true` counts as 1.
    Numbers,
}

impl ScoreKind {
    /// The kind of an experiment's scores.
    pub(super) fn of<'v>(score: Option<&Score>, samples: impl Iterator<Item = &'v SampleView>) -> ScoreKind {
        let mut kind = match score {
            Some(Score::Schema { .. }) => ScoreKind::Passes,
            _ => ScoreKind::Unknown,
        };
        for Json(value) in samples.filter_map(|sample| sample.score.as_ref()) {
            match value {
                Value::Bool(_) if kind == ScoreKind::Unknown => kind = ScoreKind::Passes,
                Value::Bool(_) => {}
                _ => return ScoreKind::Numbers,
            }
        }
        kind
    }
}

/// An arm with its samples. The summary waits for the kind of the scores, which the samples of all arms tell.
pub(super) fn arm_view(id: &str, arm: &Arm, samples: Vec<SampleView>) -> ArmView {
    let (axes, summary) = (Json(arm.axes().into()), ArmSummary::default());
    let (missing, not_started) = (Vec::new(), Vec::new());
    ArmView { id: id.to_owned(), axes, summary, samples, missing, not_started, error: None }
}

/// The samples that have ended.
fn ended(samples: &[SampleView]) -> Vec<&SampleView> {
    samples.iter().filter(|sample| Begun::is_over(sample.status)).collect()
}

/// What the samples of an arm tell. `interval_of` gives the interval of the median of some values.
pub(super) fn summary(
    samples: &[SampleView],
    kind: ScoreKind,
    interval_of: &dyn Fn(&[f64]) -> Option<Interval>,
) -> ArmSummary {
    let ended = ended(samples);
    let count = |is_it: &dyn Fn(&&&SampleView) -> bool| ended.iter().filter(is_it).count() as u32;
    let times: Vec<f64> = ended.iter().map(|sample| sample.duration_ms as f64).collect();
    let tokens: Vec<f64> = ended.iter().map(|sample| sample.usage.total_tokens as f64).collect();
    let interval = interval_of(&times);
    // The sum of no costs is no cost.
    let sum = |of: fn(&SampleView) -> Option<f64>| {
        ended.iter().map(|sample| of(sample)).sum::<Option<f64>>().filter(|_| !ended.is_empty())
    };
    let mut summary = ArmSummary {
        n: ended.len() as u32,
        waiting: samples.iter().filter(|sample| sample.status == RequestStatus::Suspended).count() as u32,
        failed: count(&|sample| sample.status != RequestStatus::Completed),
        median_ms: median(&times),
        low_ms: interval.map(|found| found.low),
        high_ms: interval.map(|found| found.high),
        median_tokens: median(&tokens),
        cost_usd: sum(|sample| sample.cost_usd),
        shared_usd: sum(|sample| Some(sample.shared_usd.unwrap_or_default())).filter(|usd| *usd > 0.0),
        differing: count(&|sample| sample.differs.output || sample.differs.state),
        ..ArmSummary::default()
    };
    let scores = Scores::of(&ended, kind);
    let found = match &scores {
        Scores::None => return summary,
        Scores::Passed { passed, of } => {
            summary.unscored = summary.n - of;
            summary.passed = Some(*passed);
            summary.rate = (*of > 0).then(|| f64::from(*passed) / f64::from(*of));
            (*of > 0).then(|| rate(*passed, *of))
        }
        Scores::Numbers(values) => {
            summary.unscored = summary.n - values.len() as u32;
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
    fn of(samples: &[&SampleView], kind: ScoreKind) -> Scores {
        let scores = || samples.iter().filter_map(|sample| sample.score.as_ref().map(|Json(score)| score));
        match kind {
            ScoreKind::Unknown => Scores::None,
            ScoreKind::Passes => {
                let passed = scores().filter(|score| score.as_bool() == Some(true)).count();
                let failed = samples.iter().filter(|sample| has_failed(sample)).count();
                match scores().count() + failed {
                    0 => Scores::None,
                    of => Scores::Passed { passed: passed as u32, of: of as u32 },
                }
            }
            ScoreKind::Numbers => {
                let number =
                    |score: &Value| score.as_f64().or(score.as_bool().map(|passes| f64::from(u8::from(passes))));
                Scores::Numbers(scores().filter_map(number).collect())
            }
        }
    }
}

/// Whether a sample cannot be scored because it did not complete: it does not pass. One that is not scored yet may be.
fn has_failed(sample: &SampleView) -> bool {
    sample.status != RequestStatus::Completed && sample.score.is_none() && sample.score_error.is_some()
}

/// How an arm's scores compare to those of the base arm; `None` without scores.
pub(super) fn beside_base(arm: &ArmView, base: &ArmView, kind: ScoreKind, is_mock: bool) -> Option<BesideBase> {
    let (interval, is_equal) = match (Scores::of(&ended(&arm.samples), kind), Scores::of(&ended(&base.samples), kind)) {
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

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    fn sample(status: RequestStatus, score: Option<Value>, error: Option<&str>) -> SampleView {
        SampleView {
            number: 1,
            request_id: "r".to_owned(),
            status,
            output: None,
            error: None,
            score: score.map(Json),
            score_error: error.map(str::to_owned),
            usage: crate::views::SampleUsage::default(),
            cost_usd: Some(0.0),
            shared_usd: None,
            duration_ms: 1,
            differs: crate::views::SampleDiffers::default(),
        }
    }

    fn samples(passed: usize, failed: usize, score: &Value) -> Vec<SampleView> {
        let passes = std::iter::repeat_with(|| sample(RequestStatus::Completed, Some(score.clone()), None));
        let fails = std::iter::repeat_with(|| sample(RequestStatus::Failed, None, Some("output is undefined")));
        passes.take(passed).chain(fails.take(failed)).collect()
    }

    fn summary(samples: &[SampleView], kind: ScoreKind) -> ArmSummary {
        super::summary(samples, kind, &|_| None)
    }

    fn kind(samples: &[SampleView]) -> ScoreKind {
        ScoreKind::of(None, samples.iter())
    }

    /// Six that passed and four that failed were "6/6 100 %".
    #[test]
    fn a_sample_that_failed_does_not_pass() {
        let samples = samples(6, 4, &json!(true));
        let found = summary(&samples, kind(&samples));
        assert_eq!((found.passed, found.rate, found.unscored), (Some(6), Some(0.6), 0));
        assert!(found.high.unwrap() < 0.9);
        // Of an arm whose samples all failed the other arms tell the kind.
        let none = self::samples(0, 10, &json!(true));
        let found = summary(&none, kind(&samples));
        assert_eq!((found.passed, found.rate), (Some(0), Some(0.0)));
        let (own, base) = (view(none), view(self::samples(10, 0, &json!(true))));
        assert_eq!(beside_base(&own, &base, ScoreKind::Passes, false), Some(BesideBase::Worse));
    }

    #[test]
    fn a_mean_says_how_many_samples_it_leaves_out() {
        let samples = samples(6, 4, &json!(5));
        let found = summary(&samples, kind(&samples));
        assert_eq!((found.mean, found.unscored, found.passed), (Some(5.0), 4, None));
    }

    #[test]
    fn what_is_not_scored_yet_neither_passes_nor_fails() {
        let mut all = samples(2, 0, &json!(true));
        all.push(sample(RequestStatus::Failed, None, None));
        all.push(sample(RequestStatus::Completed, None, Some("it throws")));
        let found = summary(&all, kind(&all));
        assert_eq!((found.passed, found.rate, found.unscored), (Some(2), Some(1.0), 2));
        assert_eq!(summary(&all[2..], ScoreKind::Unknown).unscored, 0);
    }

    fn view(samples: Vec<SampleView>) -> ArmView {
        arm_view("1", &Arm::default(), samples)
    }
}
