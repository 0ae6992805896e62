//! Plans a resume, a retry or a fork: finds out what it will do, without running anything.
//!
//! The request runs as in a resume, with the same replay cache. A block whose body would run, or that would make a new
//! outside call, stops as if it waited for an answer; concurrent blocks go on. So the code that decides what is reused
//! from the log, and what drifted, also finds it here. The rest is assumed to go as it went before.
//!
//! Functions of chains (maps, conditions, prompts) are called, because they decide which blocks run; their writes stay
//! in memory. Must not run a block's body, and must not make outside calls except for the time and random numbers.

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

/// What would be taken from the log, and what would run again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// The blocks whose recorded end is taken, in the order in which they are reached; those inside them are not named.
    pub from_log: Vec<Arc<str>>,
    /// How many blocks ended inside those.
    pub inside_from_log: usize,
    /// The blocks that ran before and run again or go on, in the order in which they began.
    pub again: Vec<RunsAgain>,
    /// The blocks that begin and never ran before, in the order in which they are reached. Blocks after the place where
    /// the plan stops are missing.
    pub new: Vec<Arc<str>>,
    /// The blocks that ended and that the current code no longer has; those inside them are not named.
    pub orphaned: Vec<Arc<str>>,
    /// The texts of drift events: differences of the current code from the log that a resume accepts.
    pub drift: Vec<String>,
}

/// A block that runs again or continues.
#[derive(Clone, Debug, PartialEq)]
pub struct RunsAgain {
    /// Its path.
    pub path: Arc<str>,
    /// Whether it continues as the same attempt, because it only runs other blocks.
    pub goes_on: bool,
    /// How many model calls it makes that the log does not answer, if it runs as it did before.
    pub model_calls: usize,
    /// Whether this number may grow, depending on the model's answers or the loop around the block.
    pub may_call_more: bool,
}

/// How far a block came while the plan was made.
#[derive(Clone, Copy, PartialEq)]
enum Reached {
    Taken,
    Ended,
    Open,
}

/// The recorded runs of a block.
#[derive(Default)]
struct Ran {
    /// Which part of the request it ran in last, counted by resumes.
    part: usize,
    calls: usize,
    /// Model calls without an end.
    open: HashSet<Seq>,
    /// How many calls it had made before this part. A block that is only taken from the log makes none.
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

    /// Returns the plan. `recorded` are all events of the request, including those that a fork leaves out; `planned`
    /// are the events that this run has recorded.
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
        // Whether the flow went on after a block that had stopped: another branch of its race had won, and wins again.
        // A block that is before it in the current chain does not count.
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
                // Not reached, because it is after a step that is new or stops, or because the function that runs it
                // stopped at once. Otherwise it is gone from the flow.
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

    /// Returns whether a block continues as the same attempt when the request reaches it.
    fn would_go_on(&self, path: &str) -> bool {
        let unfinished = self.replay_cache.unfinished(path).filter(|_| self.reuse == Reuse::ByReference);
        unfinished.is_some_and(|known| known.kind != BlockKind::Handler)
    }

    /// Returns whether tools of a generator run again and none of them waits for an answer. The model is then called
    /// with their results.
    fn gets_results(&self, path: &str, reached: &IndexMap<Arc<str>, Reached>) -> bool {
        let is_tool =
            |inner: &str| path_below(inner, path).is_some_and(|rest| rest.starts_with("tool:") && !rest.contains('/'));
        let mut tools = reached.iter().filter(|(inner, how)| **how == Reached::Open && is_tool(inner)).peekable();
        tools.peek().is_some() && tools.all(|(tool, _)| !self.replay_cache.suspensions.is_waiting(tool))
    }
}

/// The places, in the current chains, of the blocks that a plan reaches before it stops.
struct Order<'r> {
    root: Option<&'r Rc<Block>>,
    /// By block: the number of its operation in the chain around it.
    numbers: HashMap<&'r str, usize>,
    /// The number of the first operation that stops, by chain and pass.
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

/// Returns whether the current code no longer has the block that the log has at a path, as far as the description of
/// the flow shows.
pub fn has_no_block(events: &[Event], flow: &Flow, action: &str, path: &str) -> bool {
    let Some(action) = flow.actions.get(action) else { return true };
    let began =
        |event: &Event| event.path.as_deref() == Some(path) && matches!(event.kind, EventKind::BlockStarted { .. });
    let Some(at) = events.iter().rposition(began) else { return is_gone(&action.block, path) };
    let translated = Alignment::read(events, flow, Some(action));
    let translated = translated.translate(events);
    is_gone(&action.block, translated[at].path.as_deref().unwrap_or(path))
}

/// Returns the outermost of the blocks that the current code no longer has, by their recorded names.
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

/// Returns whether a block is in a loop, whose condition (in an agent, the model's answer) decides how often it runs.
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
        // A block that was taken once may be reached in several rounds.
        if reached.get(path) != Some(&Reached::Taken) {
            reached.insert(path.clone(), how);
        }
    }
    reached
}

/// Returns the blocks whose first event continues their attempt.
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

/// Returns the distinct texts of the drift that was found.
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

/// Returns the blocks that ever began, and their model calls of the last time they ran.
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
