//! How a run of a request is made: for a new request, for a resume from its log, and for a replay.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use crate::execution::core::abort::Abort;
use crate::execution::drivers;
use crate::execution::record::alone::Alone;
use crate::execution::record::cache::ReplayCache;
use crate::execution::record::effect_log::EffectLog;
use crate::execution::record::fork_edits::ForkEdits;
use crate::execution::record::reuse::Reuse;
use crate::execution::run::{PriorRun, Run, StartRequest, is_fork, parses_once, run_once};
use crate::model::effects::Effects;
use crate::model::event::Event;
use crate::model::flow::Flow;
use crate::model::log::Log;
use crate::views::fork_edits::edited_input;
use crate::views::replay_order::ReplayOrder;

impl Run {
    /// Creates a request that has not started. Call `flush` every few milliseconds while it executes.
    pub fn new(
        flow: Rc<Flow>,
        start: StartRequest,
        log: Arc<dyn Log>,
        effects: Rc<dyn Effects>,
        abort: Abort,
    ) -> Rc<Self> {
        Run::after(PriorRun::default(), flow, start, log, effects, abort)
    }

    /// Creates a replay of a recorded request: its effects come from the effect log, its answers from the events.
    pub fn replay(
        events: &[Event],
        effect_log: Rc<EffectLog>,
        flow: Rc<Flow>,
        start: StartRequest,
        log: Arc<dyn Log>,
        effects: Rc<dyn Effects>,
        abort: Abort,
    ) -> Rc<Self> {
        let earlier = PriorRun::default();
        let run = Run::after(earlier, flow, start, log, effects, abort);
        let Ok(mut run) = Rc::try_unwrap(run) else { unreachable!("nobody else has it yet") };
        // Attempts that count run again; the `runOnce` results of interrupted ones are known.
        let (attempts, own) = (ReplayOrder::read(events), edited_input(events).unwrap_or(0));
        run.replay_cache = ReplayCache::for_replay(events, &attempts);
        let is_known = |event: &&Event| event.seq <= own || attempts.place(event).is_none();
        run.once = RefCell::new(run_once(events.iter().filter(is_known)));
        run.began_at = events.first().map_or(0, |event| event.at);
        run.edits = ForkEdits::of(events);
        run.parses_once = parses_once(events);
        // As in the run that was recorded.
        run.has_recorded_input = run.start.retry_of.is_some() || is_fork(events);
        run.effect_log = Some(effect_log);
        run.reuse = Reuse::Repeated;
        Rc::new(run)
    }

    /// Creates a run of one block of a recorded request: what ended before it comes from the log, its effects come from
    /// the effect log, and nothing runs after it. It begins with [`begin_resumed`](Run::begin_resumed).
    pub fn replay_alone(
        alone: &Alone,
        effect_log: Rc<EffectLog>,
        flow: Rc<Flow>,
        start: StartRequest,
        log: Arc<dyn Log>,
        effects: Rc<dyn Effects>,
        abort: Abort,
    ) -> Rc<Self> {
        let earlier = PriorRun { events: &alone.before, ..PriorRun::default() };
        let run = Run::after(earlier, flow, start, log, effects, abort);
        let Ok(mut run) = Rc::try_unwrap(run) else { unreachable!("nobody else has it yet") };
        run.effect_log = Some(effect_log);
        run.ends_with = Some(alone.path.clone());
        Rc::new(run)
    }

    /// Creates the resumed run of a request, or a new request if `earlier` has no events.
    pub fn after(
        earlier: PriorRun<'_>,
        flow: Rc<Flow>,
        start: StartRequest,
        log: Arc<dyn Log>,
        effects: Rc<dyn Effects>,
        abort: Abort,
    ) -> Rc<Self> {
        Run::driven(drivers::drive, earlier, flow, start, log, effects, abort)
    }
}
