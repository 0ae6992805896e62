//! What the structure of a run tells about a value: whose code made it, and which value came just before.

use engine::event::{BlockKind, EventKind};
use serde_json::Value;

use super::index::is_short;
use super::log::RequestLog;
use super::messages::holding;
use super::near::last_inside;
use super::record::{NO_EXECUTION, Record};
use super::spot::Spot;
use crate::views::WhyPlace;

/// The execution whose code made a value. An input was made by the parent, whose functions may have changed it.
pub(super) fn maker(log: &RequestLog, record: &Record) -> u32 {
    let Some(own) = log.executions.get(record.execution as usize) else { return NO_EXECUTION };
    let is_given = matches!(log.event(record).kind, EventKind::BlockStarted { .. });
    if is_given && own.parent != NO_EXECUTION { own.parent } else { record.execution }
}

/// The equal neighbour of a short value, which the log stores in full: the output of the previous step, the input of
/// the parent, the output of the last step, or the last answer of the model.
pub(super) fn beside(spot: &Spot) -> Option<(Spot, &'static str)> {
    let (log, record) = (&spot.log, spot.record());
    let whole = log.value(&record)?;
    if !is_short(&whole) {
        return None;
    }
    let found = match (record.place, &log.event(&record).kind) {
        (WhyPlace::Input, EventKind::BlockStarted { .. }) => match step_before(log, &record) {
            Some(at) => (at, "step_before"),
            None => {
                let around = log.executions.get(record.execution as usize)?.parent;
                let given = match around {
                    NO_EXECUTION => log.record_of(log.events.first()?.seq),
                    around => log.records_at(around, WhyPlace::Input).pop(),
                };
                (given.filter(|at| log.records[*at].seq < record.seq)?, "block_around")
            }
        },
        (WhyPlace::Output, _) => {
            let own = log.executions.get(record.execution as usize);
            if own.is_some_and(|own| own.kind == BlockKind::Generator) {
                let answer = log.records_at(record.execution, WhyPlace::ModelAnswer).pop()?;
                let of = Spot { record: answer, pointer: "/text".to_owned(), ..spot.clone() };
                return (of.value().as_deref() == Some(&*whole)).then_some((of, "answer"));
            }
            if own.is_some_and(|own| !matches!(own.kind, BlockKind::Sequencer | BlockKind::Router)) {
                return None;
            }
            (
                log.records_at(last_inside(log, record.execution, record.seq, None)?, WhyPlace::Output).pop()?,
                "last_step",
            )
        }
        _ => return None,
    };
    let of = Spot { record: found.0, ..spot.clone() };
    (log.value(&log.records[found.0]).as_deref() == Some(&*whole)).then_some((of, found.1))
}

/// The answer of a model from which an item was emitted during streaming. The log has the answer after the item.
pub(super) fn streamed(spot: &Spot, value: &Value) -> Option<Spot> {
    let (log, record) = (&spot.log, spot.record());
    if record.place != WhyPlace::Item || is_short(value) {
        return None;
    }
    let answers = log.records_at(record.execution, WhyPlace::ModelAnswer).into_iter();
    let mut in_flight = answers.filter(|at| match &log.event(&log.records[*at]).kind {
        EventKind::EffectFinished { started: Some(started), .. } => {
            *started < record.seq && record.seq < log.records[*at].seq
        }
        _ => false,
    });
    in_flight.find_map(|at| holding(log, at, value))
}

/// The number of the output of the step before a block. Blocks of its own group do not count as before it.
pub(super) fn step_before(log: &RequestLog, record: &Record) -> Option<usize> {
    let own = log.executions.get(record.execution as usize)?;
    let last = last_inside(log, own.parent, own.start, Some(record.execution))?;
    log.records_at(last, WhyPlace::Output).pop()
}
