//! What a resume, a retry or a fork will do, found out before anything is run.
//!
//! The request is gone through as a resume does it, with the same replay cache, but where code of a block or the
//! outside would be asked something new, that block stops as if it waited for somebody, and what runs beside it goes
//! on. So what is taken from the log, and drift, are found by the same code that decides them. What comes after the
//! first new thing is taken to go as it went before.
//!
//! Functions of chains (maps, conditions, prompts) are called, because they decide where a request goes on; what they
//! write stays in memory. Must not run a block's body, and must not ask the outside anything but clock and chance.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};

use crate::execution::core::abort::Abort;
use crate::execution::record::alignment::Alignment;
use crate::execution::record::gone::{PassedOperation, is_gone, operations};
use crate::execution::record::reuse::Reuse;
use crate::execution::run::{PriorRun, Run, StartRequest};
use crate::model::effects::{EffectKind, Effects};
use crate::model::event::{BlockKind, Event, EventKind, Outcome, Seq};
use crate::model::flow::{Block, Flow};
use crate::model::log::Log;
use crate::model::path::{is_inside, parent, path_below, with_ancestors};

/// What is taken from the log, and what is done again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The blocks whose recorded end is taken, in the order in which they are reached; those inside them are not named.
    pub from_log: Vec<Arc<str>>,
    /// How many blocks ended inside of those.
    pub inside_from_log: usize,
    /// The blocks that ran before and run again or go on, in the order in which they began.
    pub again: Vec<RunsAgain>,
    /// The blocks that begin and never ran before, in the order in which they are reached; only those that are reached
    /// before something stops the plan.
    pub new: Vec<Arc<str>>,
    /// The blocks that ended and that the code of today has no more; those inside them are not named.
    pub orphaned: Vec<Arc<str>>,
    /// What the code of today does otherwise than recorded, without being refused, as its events say it.
    pub drift: Vec<String>,
}

/// A block that runs again, or goes on.
#[derive(Clone, Debug, PartialEq)]
pub struct RunsAgain {
    /// Its path.
    pub path: Arc<str>,
    /// Whether it goes on as the same attempt, because it runs others.
    pub goes_on: bool,
    /// How many model calls it makes that the log does not answer, if it goes as it went.
    pub model_calls: usize,
    /// Whether their number depends on what the model or the loop around it answers.
    pub may_call_more: bool,
}

/// How far a block came while the plan was made.
#[derive(Clone, Copy, PartialEq)]
enum Reached {
    Taken,
    Ended,
    Open,
}

/// What the log has of a block.
#[derive(Default)]
struct Ran {
    /// Which part of the request it ran in last, counted by resumes.
    part: usize,
    calls: usize,
    /// Model calls without an end.
    open: HashSet<Seq>,
    /// What the calls were before it began in this part: what is only taken from the log made none.
    before: usize,
    /// Where it last began, and where it last stopped.
    began: Seq,
    stopped: Option<Seq>,
}

impl Run {
    /// Creates a run that stops at everything that is not in the log: see [`plan`](Self::plan).
    pub fn only_planned(
        earlier: PriorRun<'_>,
        flow: Rc<Flow>,
        start: StartRequest,
        log: Arc<dyn Log>,
        effects: Rc<dyn Effects>,
        abort: Abort,
    ) -> Rc<Self> {
        let run = Run::after(earlier, flow, start, log, effects, abort);
        let Ok(mut run) = Rc::try_unwrap(run) else { unreachable!("nobody else has it yet") };
        run.only_plans = true;
        Rc::new(run)
    }

    /// Reads off what will happen. `recorded` is everything that the request did, also what a fork leaves out, and
    /// `planned` what this run has recorded.
    pub fn plan(&self, recorded: &[Event], planned: &[Event]) -> Plan {
        let mut reached = reached(&self.kept.borrow(), planned);
        let stays = self.stays.borrow();
        reached.extend(stays.iter().map(|path| (path.clone(), Reached::Open)));
        let new_calls = new_calls(planned);
        let went_on_as_it_was = first_to_go_on(planned);
        let translated = self.alignment.translate(recorded);
        let known = ran(&translated);
        let is_new = |path: &&Arc<str>| !known.contains_key(*path) && reached[*path] == Reached::Open;
        let new: Vec<Arc<str>> = reached.keys().filter(is_new).cloned().collect();
        let root = self.flow.actions.get(&self.start.action).map(|action| action.block.clone());
        let first: IndexMap<Arc<str>, Reached> = reached.clone();
        let order = Order::read(root.as_ref(), &first);
        let went_on: HashSet<String> =
            reached.keys().flat_map(|path| with_ancestors(path).skip(1)).map(str::to_owned).collect();
        // Whether the flow went on behind a block that had stopped: another one of its race had won, and wins again.
        // A block that today's chain has before it says nothing of that.
        let went_past = |around: &str, block: &str, stopped: Seq| {
            let own = order.number_in(block, around);
            let is_before = |inner: &str| order.numbers.get(inner).zip(own).is_some_and(|(inner, own)| *inner < own);
            let mut inner = known.iter().filter(|(path, ran)| ran.began > stopped && parent(path) == Some(around));
            inner.any(|(path, _)| first.contains_key(path) && !is_before(path))
        };
        let mut plan = Plan { new: new.clone(), drift: drift(planned), ..Plan::default() };
        plan.from_log.extend(reached.iter().filter(|(_, how)| **how == Reached::Taken).map(|(path, _)| path.clone()));
        let has_tools: HashSet<&str> = known.keys().filter(|path| is_of_tool(path)).filter_map(|p| parent(p)).collect();
        let asked = known.iter().filter(|(_, ran)| ran.calls + ran.before > 0);
        let asking: HashSet<&str> = asked.flat_map(|(path, _)| with_ancestors(path)).collect();
        let mut gone: HashSet<Arc<str>> = HashSet::new();
        for (path, ran) in &known {
            if with_ancestors(path).any(|around| stays.contains(around)) {
                continue;
            }
            if !reached.contains_key(path) && root.as_ref().is_some_and(|root| is_gone(root, path)) {
                if ran.stopped.is_some() {
                    gone.insert(path.clone());
                }
                continue;
            }
            let Some((around, how)) = with_ancestors(path).find_map(|at| Some((at, *reached.get(at)?))) else {
                continue;
            };
            let was_reached = around == &**path;
            if how == Reached::Taken && !was_reached && ran.stopped.is_some() {
                plan.inside_from_log += 1;
            }
            if how == Reached::Taken || (how == Reached::Ended && !was_reached) {
                continue;
            }
            if !was_reached && ran.stopped.is_some_and(|stopped| went_past(around, path, stopped)) {
                continue;
            }
            if !was_reached && self.replay_cache.has_ended(path) {
                // Behind a step that is new or stops, or run by a function that stopped at once; or else gone from the
                // flow.
                let is_behind = new.iter().any(|new| is_inside(new, around)) || order.is_behind_open(path, around);
                if !went_on.contains(around) || is_behind {
                    plan.from_log.push(path.clone());
                    reached.insert(path.clone(), Reached::Taken);
                }
                continue;
            }
            let certain = new_calls.get(path).copied().unwrap_or(0);
            let expected = match how {
                Reached::Open => (ran.calls + ran.open.len()).saturating_sub(self.replay_cache.count_calls(path)),
                _ => 0,
            };
            let asks_models = ran.calls + ran.before > 0;
            let expected = expected.max(usize::from(asks_models && self.gets_results(path, &reached)));
            let may_call_more = ran.calls + ran.before > 1
                || has_tools.contains(&**path)
                || is_in_loop(path) && asking.contains(&**path);
            let goes_on = went_on_as_it_was.contains(path) || (!was_reached && self.would_go_on(path));
            plan.again.push(RunsAgain {
                path: path.clone(),
                goes_on,
                model_calls: certain.max(expected),
                may_call_more,
            });
        }
        plan.orphaned = outermost(&gone, recorded, &translated);
        plan
    }

    /// Returns whether a block goes on as the same attempt, once the request comes to it.
    fn would_go_on(&self, path: &str) -> bool {
        let unfinished = self.replay_cache.unfinished(path).filter(|_| self.reuse == Reuse::ByReference);
        unfinished.is_some_and(|known| known.kind != BlockKind::Handler)
    }

    /// Returns whether tools of a generator run again and none of them waits for an answer: the model is then asked
    /// with their results.
    fn gets_results(&self, path: &str, reached: &IndexMap<Arc<str>, Reached>) -> bool {
        let is_tool =
            |inner: &str| path_below(inner, path).is_some_and(|rest| rest.starts_with("tool:") && !rest.contains('/'));
        let mut tools = reached.iter().filter(|(inner, how)| **how == Reached::Open && is_tool(inner)).peekable();
        tools.peek().is_some() && tools.all(|(tool, _)| !self.replay_cache.suspensions.is_waiting(tool))
    }
}

/// The places in today's chains of the blocks that a plan comes to before it stops.
struct Order<'r> {
    root: Option<&'r Rc<Block>>,
    /// The number of the operation that begins a block, in the chain around it.
    numbers: HashMap<&'r str, usize>,
    /// The number of the first operation that stops, by the chain and the passes before it.
    open: HashMap<(&'r str, &'r str), usize>,
}

impl<'r> Order<'r> {
    fn read(root: Option<&'r Rc<Block>>, reached: &'r IndexMap<Arc<str>, Reached>) -> Order<'r> {
        let mut order = Order { root, numbers: HashMap::new(), open: HashMap::new() };
        for (path, how) in reached {
            for PassedOperation { chain, passes, number } in order.passed(path) {
                if parent(path) == Some(chain) {
                    order.numbers.insert(path, number);
                }
                if *how == Reached::Open {
                    let first = order.open.entry((chain, passes)).or_insert(number);
                    *first = number.min(*first);
                }
            }
        }
        order
    }

    fn passed<'p>(&self, path: &'p str) -> Vec<PassedOperation<'p>> {
        self.root.map_or_else(Vec::new, |root| operations(root, path))
    }

    /// The number of the operation of a chain that leads to a path.
    fn number_in(&self, path: &str, chain: &str) -> Option<usize> {
        self.passed(path).into_iter().find(|passed| passed.chain == chain).map(|passed| passed.number)
    }

    /// Whether a chain stops at an operation before the one that leads to a path, in the same pass.
    fn is_behind_open(&self, path: &str, chain: &str) -> bool {
        let passed = self.passed(path).into_iter().find(|passed| passed.chain == chain);
        let Some(PassedOperation { passes, number, .. }) = passed else { return false };
        self.open.get(&(chain, passes)).is_some_and(|open| *open < number)
    }
}

/// Returns whether the code of today has no block any more that the log has at a path, as far as the description of the
/// flow tells.
pub fn has_no_block(events: &[Event], flow: &Flow, action: &str, path: &str) -> bool {
    let Some(action) = flow.actions.get(action) else { return true };
    let began =
        |event: &Event| event.path.as_deref() == Some(path) && matches!(event.kind, EventKind::BlockStarted { .. });
    let Some(at) = events.iter().rposition(began) else { return is_gone(&action.block, path) };
    let translated = Alignment::read(events, flow, Some(action));
    let translated = translated.translate(events);
    is_gone(&action.block, translated[at].path.as_deref().unwrap_or(path))
}

/// Returns the outermost of the blocks that the code of today has no more, named as they were recorded.
fn outermost(gone: &HashSet<Arc<str>>, recorded: &[Event], translated: &[Event]) -> Vec<Arc<str>> {
    if gone.is_empty() {
        return Vec::new();
    }
    let is_inner = |path: &str| with_ancestors(path).skip(1).any(|around| gone.contains(around));
    let mut named = HashSet::new();
    let pairs = recorded.iter().zip(translated).filter_map(|(was, now)| Some((was.path.as_ref()?, now.path.as_ref()?)));
    let outer = pairs.filter(|(_, now)| gone.contains(*now) && !is_inner(now));
    outer.filter(|(_, now)| named.insert((*now).clone())).map(|(was, _)| was.clone()).collect()
}

fn is_of_tool(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|last| last.starts_with("tool:"))
}

/// Returns whether a block is in a loop: its condition decides how often it runs, and of an agent what the model says.
fn is_in_loop(path: &str) -> bool {
    const LOOPS: [&str; 5] = ["doUntil:", "doWhile:", "loop", "tick[", "turn["];
    path.split('/').any(|segment| LOOPS.iter().any(|word| segment.starts_with(word)))
}

/// Returns how far each block came. `kept` are those that were taken from the log without an event.
fn reached(kept: &IndexSet<Arc<str>>, planned: &[Event]) -> IndexMap<Arc<str>, Reached> {
    let mut reached: IndexMap<Arc<str>, Reached> = kept.iter().map(|path| (path.clone(), Reached::Taken)).collect();
    for event in planned {
        let Some(path) = &event.path else { continue };
        let how = match &event.kind {
            EventKind::BlockStarted { .. } | EventKind::BlockResumed { .. } => Reached::Open,
            EventKind::BlockFinished { memoized: true, .. } => Reached::Taken,
            EventKind::BlockFinished { outcome: Outcome::Completed | Outcome::Failed, error, .. }
                if !error.as_ref().is_some_and(|error| error.is_abort()) =>
            {
                Reached::Ended
            }
            _ => continue,
        };
        // Several rounds may come by a block that was taken once.
        if reached.get(path) != Some(&Reached::Taken) {
            reached.insert(path.clone(), how);
        }
    }
    reached
}

/// Returns the blocks that went on as the attempt that they were, before anything else that they did.
fn first_to_go_on(planned: &[Event]) -> HashSet<&Arc<str>> {
    let (mut began, mut went_on) = (HashSet::new(), HashSet::new());
    for event in planned {
        let goes_on = match event.kind {
            EventKind::BlockStarted { .. } => false,
            EventKind::BlockResumed { .. } => true,
            _ => continue,
        };
        let Some(path) = &event.path else { continue };
        if began.insert(path) && goes_on {
            went_on.insert(path);
        }
    }
    went_on
}

/// Returns the texts of the drift that was found, each once.
fn drift(planned: &[Event]) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for event in planned {
        if let EventKind::Drift { text, .. } = &event.kind
            && !texts.contains(text)
        {
            texts.push(text.clone());
        }
    }
    texts
}

/// Counts the model calls of each block that the log does not answer.
fn new_calls(planned: &[Event]) -> HashMap<Arc<str>, usize> {
    let mut calls = HashMap::new();
    for event in planned {
        if let (EventKind::EffectStarted { effect: EffectKind::Model, .. }, Some(path)) = (&event.kind, &event.path) {
            *calls.entry(path.clone()).or_insert(0) += 1;
        }
    }
    calls
}

/// Reads which blocks ever began, and what they asked of models when they last ran.
fn ran(recorded: &[Event]) -> IndexMap<Arc<str>, Ran> {
    let mut known: IndexMap<Arc<str>, Ran> = IndexMap::new();
    let mut part = 0;
    for event in recorded {
        if matches!(event.kind, EventKind::RequestResumed { .. }) {
            part += 1;
        }
        let Some(path) = &event.path else { continue };
        match &event.kind {
            EventKind::BlockStarted { .. } | EventKind::BlockResumed { .. } => {
                let ran = known.entry(path.clone()).or_insert_with(|| Ran { part, ..Ran::default() });
                if ran.part != part {
                    let before = ran.calls + ran.open.len();
                    *ran = Ran { part, before, ..Ran::default() };
                }
                (ran.began, ran.stopped) = (event.seq, None);
            }
            EventKind::EffectStarted { effect: EffectKind::Model, .. } => {
                known.get_mut(path).into_iter().for_each(|ran| ran.open.extend([event.seq]));
            }
            EventKind::EffectFinished { effect: EffectKind::Model, started, .. } => {
                if let Some(ran) = known.get_mut(path) {
                    started.map(|started| ran.open.remove(&started));
                    ran.calls += 1;
                }
            }
            EventKind::BlockFinished { memoized, .. } => {
                if let Some(ran) = known.get_mut(path) {
                    ran.stopped = Some(event.seq);
                    if *memoized {
                        ran.calls = ran.calls.max(ran.before);
                    }
                }
            }
            _ => {}
        }
    }
    known
}
