//! The statements of one execution of a block, in their order, and which call made which.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use engine::event::{Event, Seq};
use script::{Asked, Execution, Question, SiteTable, Traced};

use super::super::{Workspace, lock};
use super::ended_by::is_ended_by_limit;
use super::probed_code::ProbedCode;
use crate::core::fault::Fault;
use crate::views::{RequestRow, StackFrame};

/// How many statements of one execution can be stepped through.
const MAX_TICKS: usize = 4_000_000;
/// How many traces a process keeps.
const KEPT: usize = 4;
/// How many functions a stack has at the most.
const MAX_FRAMES: usize = 1000;

/// The statements of one execution, in their order.
pub(super) struct Trace {
    pub(super) statements: Vec<Traced>,
    /// From which call each call was made.
    pub(super) callers: HashMap<u32, u32>,
    /// Where the first statement of each call is.
    firsts: HashMap<u32, usize>,
    /// The recorded events before the statements, in the order of `statements`.
    pub(super) seqs: Vec<Seq>,
    pub(super) note: Option<String>,
}

/// The traces that were made last.
#[derive(Default)]
pub(crate) struct Traces(Mutex<VecDeque<(TraceKey, Arc<Trace>)>>);

/// A request, the hash of the bundle, how many events it had, and the execution.
type TraceKey = (String, String, Seq, Execution);

impl Workspace {
    /// Traces an execution with the code that it ran, or returns the trace that was made of it.
    pub(super) fn trace(
        &self,
        row: &RequestRow,
        events: &[Event],
        execution: &Execution,
    ) -> Result<(Arc<ProbedCode>, Arc<Trace>), Fault> {
        let parts = self.parts(events)?;
        let at = parts.of(execution);
        let missing = |why: &str| Fault::not_found(format!("request \"{}\": {why}", row.id));
        let part = parts.all.get(at).ok_or_else(|| missing(&parts.missing()))?;
        let code = part.code.as_ref().map_err(|why| missing(why))?;
        let bundle = self.probed_bundle(code, Some(Question::default()))?;
        let key = (row.id.clone(), bundle.hash.clone(), events.len() as Seq, execution.clone());
        if let Some((_, known)) = lock(&self.probed.traces.0).iter().find(|(known, _)| *known == key) {
            return Ok((code.clone(), known.clone()));
        }
        let asked = Asked::Trace { of: execution.clone(), most: MAX_TICKS };
        let answer = self.ask(row, events.to_vec(), code, Question::default(), asked)?;
        let probed = &answer.replayed.probed;
        if probed.ticks as usize > MAX_TICKS {
            return Err(Fault::refused(format!(
                "block {} ran more than {MAX_TICKS} statements, which is too many to step through; print its values \
                 with --limit or --if instead",
                execution.path
            )));
        }
        if let Some(limit) = answer.ended_by.as_ref().filter(|_| !is_ended_by_limit(events, execution)) {
            return Err(Fault::refused(format!(
                "block {} cannot be stepped through beyond {} statements: {limit}; print its values with --limit \
                 instead",
                execution.path, probed.ticks
            )));
        }
        let numbers = answer.numbers();
        let mut seqs: Vec<Seq> = Vec::with_capacity(probed.trace.len());
        let mut last = (0, 0);
        for traced in &probed.trace {
            if traced.seq != last.0 {
                last = (traced.seq, numbers.of(traced.seq).0);
            }
            seqs.push(last.1);
        }
        let mut note = part.note(&answer);
        let mut statements = probed.trace.clone();
        if !parts.is_one() {
            // From the next part on the block ran other code.
            let own = seqs.partition_point(|seq| *seq < part.seqs.end);
            if own < statements.len() {
                let end = part.seqs.end;
                note.get_or_insert_with(|| {
                    format!("from event {end} on the request ran changed code: what this block did then is left out")
                });
            }
            statements.truncate(own);
            seqs.truncate(own);
            let shift = self.order_shift(row, events, &parts, at)?;
            let reorder = |traced: &mut Traced| traced.order = traced.order.saturating_add_signed(shift);
            statements.iter_mut().for_each(reorder);
        }
        let mut firsts = HashMap::new();
        for (at, traced) in statements.iter().enumerate() {
            firsts.entry(traced.call).or_insert(at);
        }
        let trace = Arc::new(Trace { statements, callers: probed.callers.clone(), firsts, seqs, note });
        let mut kept = lock(&self.probed.traces.0);
        kept.push_back((key, trace.clone()));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok((code.clone(), trace))
    }
}

impl Trace {
    /// The calls that a call was made from, the nearest first.
    pub(super) fn outer(&self, call: u32) -> impl Iterator<Item = u32> {
        let mut inner = call;
        let next = move || {
            // A call is made after its caller.
            let caller = *self.callers.get(&inner).filter(|caller| **caller < inner)?;
            inner = caller;
            Some(caller)
        };
        std::iter::from_fn(next)
    }

    /// The functions that run at a statement, the newest first: also those that wait for one that they called. `text`
    /// is the stack of the runtime, which knows on which line of a longer statement a call is.
    pub(super) fn stack(&self, at: usize, table: &SiteTable, text: &str) -> Vec<StackFrame> {
        let site = |at: usize| &table.sites[self.statements[at].site as usize];
        let own = site(at);
        let mut stack = vec![StackFrame { function: own.function.to_string(), file: own.file.clone(), line: own.line }];
        let of_author = |(file, _): &(&str, u32)| table.has_file(file);
        let mut known = text.lines().filter_map(place).filter(of_author).skip(1);
        let mut inner = self.statements[at].call;
        for caller in self.outer(inner).take_while(|caller| *caller > 0).take(MAX_FRAMES) {
            let first = self.firsts.get(&inner).copied().unwrap_or(at);
            inner = caller;
            let Some(from) = self.statements[..first].iter().rposition(|traced| traced.call == caller) else {
                continue;
            };
            let calls = site(from);
            let mut ahead = known.clone();
            let is_on =
                |(file, line): &(&str, u32)| *file == calls.file && (calls.line..=calls.end_line).contains(line);
            let line = match ahead.find(is_on) {
                Some((_, line)) => {
                    known = ahead;
                    line
                }
                None => calls.line,
            };
            stack.push(StackFrame { function: calls.function.to_string(), file: calls.file.clone(), line });
        }
        stack
    }
}

/// The file and the line of a frame in a text of the runtime.
fn place(line: &str) -> Option<(&str, u32)> {
    let (_, place) = line.trim().strip_prefix("at ")?.split_once(" (")?;
    let (place, _column) = place.trim_end_matches(')').rsplit_once(':')?;
    let (file, line) = place.rsplit_once(':')?;
    Some((file, line.parse().ok()?))
}
