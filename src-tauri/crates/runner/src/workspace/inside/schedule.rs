//! Which block's statements of a request ran when. A debugger uses it to go from the end of one block to the next one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use engine::event::Event;
use script::{Asked, Question, Stretch};

use super::super::{Workspace, lock};
use super::at::InsideAt;
use super::parts::Parts;
use super::stops::Stopped;
use crate::core::fault::Fault;
use crate::views::RequestRow;

/// The statements of all blocks of a request in the order that they ran.
#[derive(Clone, Debug, Default)]
pub struct Schedule {
    stretches: Vec<Stretch>,
    /// By part: what is added to the order that a replay with the part's code counts.
    shifts: Vec<i64>,
}

/// The schedules of requests whose code was changed, as they were made last.
#[derive(Default)]
pub(crate) struct Schedules(Mutex<VecDeque<(ScheduleKey, Arc<Schedule>)>>);

/// A request, and how many events it had.
type ScheduleKey = (String, usize);

/// How many schedules a process keeps.
const KEPT: usize = 4;

impl Workspace {
    /// Runs a request again, and returns the order of its statements. Writes nothing to the database.
    pub fn schedule(&self, request: &str) -> Result<Schedule, Fault> {
        let (row, events) = self.whole_log_of(request)?;
        let parts = self.parts(&events)?;
        Ok(Arc::unwrap_or_clone(self.schedule_of(&row, &events, &parts)?))
    }

    /// What is added to the number of a statement, which a replay with the code of a part counts, so that statements
    /// of all parts are in one order.
    pub(super) fn order_shift(
        &self,
        row: &RequestRow,
        events: &[Event],
        parts: &Parts,
        part: usize,
    ) -> Result<i64, Fault> {
        if parts.is_one() || part == 0 {
            return Ok(0);
        }
        Ok(self.schedule_of(row, events, parts)?.shifts.get(part).copied().unwrap_or(0))
    }

    fn schedule_of(&self, row: &RequestRow, events: &[Event], parts: &Parts) -> Result<Arc<Schedule>, Fault> {
        let key = (row.id.clone(), events.len());
        if let Some((_, known)) = lock(&self.probed.schedules.0).iter().find(|(known, _)| *known == key) {
            return Ok(known.clone());
        }
        let mut schedule = Schedule { stretches: Vec::new(), shifts: vec![0; parts.all.len()] };
        let mut is_asked = false;
        for (at, code) in parts.codes() {
            is_asked = true;
            if parts.is_one()
                && let Some(known) = self.covered(row, events, code)?
            {
                schedule.stretches = known.stretches();
                continue;
            }
            let answer = self.ask(row, events.to_vec(), code, Question::default(), Asked::Order)?;
            let all = answer.replayed.probed.stretches.into_iter();
            let mut own: Vec<Stretch> = all.filter(|stretch| parts.has(at, &stretch.execution)).collect();
            if let Some(first) = own.first().filter(|_| at > 0) {
                schedule.shifts[at] = schedule.end() as i64 + 1 - first.order as i64;
            }
            let shift = schedule.shifts[at];
            own.iter_mut().for_each(|stretch| stretch.order = stretch.order.saturating_add_signed(shift));
            schedule.stretches.extend(own);
        }
        if !is_asked {
            return Err(Fault::not_found(parts.missing()));
        }
        let schedule = Arc::new(schedule);
        if !parts.is_one() {
            let mut kept = lock(&self.probed.schedules.0);
            kept.push_back((key, schedule.clone()));
            if kept.len() > KEPT {
                kept.pop_front();
            }
        }
        Ok(schedule)
    }
}

impl Schedule {
    /// The order of the last statement; 0 if none ran.
    pub fn end(&self) -> u64 {
        self.stretches.last().map_or(0, |last| last.order + last.count - 1)
    }

    /// The first statement after one, of whatever block.
    pub fn after(&self, order: u64) -> Option<Stopped> {
        let at = self.stretches.partition_point(|stretch| last(stretch) <= order);
        let stretch = self.stretches.get(at)?;
        Some(statement(stretch, stretch.order.max(order + 1)))
    }

    /// The last statement before one, of whatever block.
    pub fn before(&self, order: u64) -> Option<Stopped> {
        let at = self.stretches.partition_point(|stretch| stretch.order < order);
        let stretch = &self.stretches[at.checked_sub(1)?];
        Some(statement(stretch, last(stretch).min(order.saturating_sub(1))))
    }

    /// The first statement between two that is of a block inside an execution of another.
    pub fn first_inside(&self, path: &str, attempt: u32, from: u64, to: u64) -> Option<Stopped> {
        let between = self.between(from, to);
        let mut of_attempt = between.take_while(|stretch| !is_other_attempt(stretch, path, attempt));
        let found = of_attempt.find(|stretch| is_inside(stretch, path));
        found.map(|stretch| statement(stretch, stretch.order.max(from + 1)))
    }

    /// The last statement between two that is of a block inside an execution of another.
    pub fn last_inside(&self, path: &str, attempt: u32, from: u64, to: u64) -> Option<Stopped> {
        let between = self.between(from, to).rev();
        let mut of_attempt = between.take_while(|stretch| !is_other_attempt(stretch, path, attempt));
        let found = of_attempt.find(|stretch| is_inside(stretch, path));
        found.map(|stretch| statement(stretch, last(stretch).min(to.saturating_sub(1))))
    }

    /// The newest statement of an execution of a block, at or before another statement.
    pub fn reached(&self, path: &str, attempt: u32, order: u64) -> Option<Stopped> {
        let end = self.stretches.partition_point(|stretch| stretch.order <= order);
        let is_own = |stretch: &&Stretch| *stretch.execution.path == *path && stretch.execution.attempt == attempt;
        let found = self.stretches[..end].iter().rev().find(is_own);
        found.map(|stretch| statement(stretch, last(stretch).min(order)))
    }

    fn between(&self, from: u64, to: u64) -> impl DoubleEndedIterator<Item = &Stretch> {
        let begin = self.stretches.partition_point(|stretch| last(stretch) <= from);
        let end = self.stretches.partition_point(|stretch| stretch.order < to);
        self.stretches[begin.min(end)..end].iter()
    }
}

fn last(stretch: &Stretch) -> u64 {
    stretch.order + stretch.count - 1
}

fn is_inside(stretch: &Stretch, path: &str) -> bool {
    stretch.execution.path.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
}

fn is_other_attempt(stretch: &Stretch, path: &str, attempt: u32) -> bool {
    *stretch.execution.path == *path && stretch.execution.attempt != attempt
}

fn statement(stretch: &Stretch, order: u64) -> Stopped {
    let tick = stretch.tick + (order - stretch.order);
    let at = InsideAt {
        path: stretch.execution.path.to_string(),
        attempt: Some(stretch.execution.attempt),
        tick: Some(tick),
    };
    Stopped { at, order, said: Vec::new() }
}
