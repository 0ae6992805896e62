//! What a run of a request holds, and how it is made: for a new request, for a resume from its log, and for a replay.
//!
//! What it does is in `request` and `step`. Must not run a block.

pub(crate) mod callback_call;
pub(crate) mod context;
mod cooperative;
mod declared;
mod earlier_items;
pub mod frame;
mod frames;
pub(crate) mod next;
mod prior_run;
mod record_view;
pub(crate) mod recorded_ends;
pub(crate) mod role;
mod settling;
mod shared_writes;
pub(crate) mod siblings;
mod start;
mod suspended;
mod written_states;

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::LocalBoxFuture;
use indexmap::IndexSet;
use rustc_hash::FxHashMap;
use serde_json::Value;

use crate::execution::core::abort::Abort;
use crate::execution::core::fifo::FifoMutex;
use crate::execution::core::live_answers::LiveQuestions;
use crate::execution::core::recorder::{Recorder, RecorderOptions};
use crate::execution::core::shared::SharedState;
use crate::execution::core::tool_cache::ToolCache;
use crate::execution::record::alignment::Alignment;
use crate::execution::record::cache::ReplayCache;
use crate::execution::record::effect_log::EffectLog;
use crate::execution::record::fork_edits::ForkEdits;
use crate::execution::record::note::Note;
use crate::execution::record::reuse::Reuse;
use crate::execution::record::stored_messages::StoredMessages;
use crate::execution::record::turns::Turns;
use crate::execution::run::context::Context;
use crate::execution::run::frame::{Frame, Roots};
use crate::model::callable::{RaceSignals, SchemaRef};
use crate::model::data::Data;
use crate::model::effects::Effects;
use crate::model::error::FlowError;
use crate::model::event::{Event, EventKind, RequestStatus, Seq};
use crate::model::flow::{Block, Flow};
use crate::model::log::{Lease, Log, NoteKind};
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::model::state::State;
use crate::model::step_value::StepValue;
use crate::views::usage::Usage;

use declared::declared;
use prior_run::{has_initial_states, has_state, initial_state, own_states};
pub(crate) use prior_run::{is_fork, run_once};

pub(crate) use declared::defaults;
pub(crate) use prior_run::OnceAnswer;
pub use prior_run::{PriorRun, parses_once};
pub use start::{Isolated, StartRequest};

/// Runs the body of a block, by its kind. A run gets it from above, so that what runs a block knows no driver.
pub(crate) type Drive =
    for<'a> fn(&'a Context, &'a Rc<Block>, StepValue) -> LocalBoxFuture<'a, Result<StepValue, FlowError>>;

/// A request while it runs.
pub struct Run {
    pub(crate) drive: Drive,
    /// Its id.
    pub request: Arc<str>,
    /// The flow.
    pub flow: Rc<Flow>,
    /// Who asked for what.
    pub start: StartRequest,
    /// Writes its events.
    pub recorder: Recorder,
    /// Storage of events and durable records.
    pub log: Arc<dyn Log>,
    /// The clock, random values, models and the network.
    pub effects: Rc<dyn Effects>,
    /// The state of the request scope.
    pub state: Rc<SharedState>,
    /// Its cancellation token.
    pub abort: Abort,
    /// The current status line (SEMANTICS §7.6).
    pub status_line: RefCell<Option<String>>,
    /// The journal entries and metadata that this request has written to its session.
    pub(crate) notes: RefCell<Vec<Note>>,
    /// The tokens that its models have used so far.
    pub usage: RefCell<Usage>,
    /// Which messages its model calls have stored in the log.
    pub(crate) stored_messages: RefCell<StoredMessages>,
    /// Answers of `ctx.runOnce`, by key.
    pub(crate) once: RefCell<HashMap<String, OnceAnswer>>,
    pub(crate) tool_cache: RefCell<ToolCache>,
    /// When it began, milliseconds since the epoch.
    pub(crate) began_at: i64,
    pub(crate) has_initial_states: bool,
    pub(crate) has_initial_request_state: bool,
    pub(crate) pool: crate::execution::core::pool::BackgroundPool,
    /// Serializes its commits of durable records.
    pub(crate) commits: FifoMutex,
    pub(crate) replay_cache: ReplayCache,
    /// Translates recorded paths to those of today's code.
    pub(crate) alignment: Alignment,
    /// The suspensions that this resume brought answers for, and those of them whose answer was used.
    pub(crate) answers: Vec<String>,
    pub(crate) used_answers: RefCell<HashSet<String>>,
    /// Why background work could not end: a suspension, or drift.
    pub(crate) unfinished_background: RefCell<Option<FlowError>>,
    pub(crate) prior_status: RequestStatus,
    /// Whether the log has writes to the state of the request scope from before this run.
    pub(crate) had_state: bool,
    /// The states that a fork has by events of its own; `None` if it is no fork.
    pub(crate) own_states: Option<HashSet<ScopeKey>>,
    pub(crate) live_questions: LiveQuestions,
    /// The signals of the branches of races, if the flow's language has signals.
    pub(crate) race_signals: OnceCell<Box<dyn RaceSignals>>,
    pub(crate) edits: ForkEdits,
    /// Recorded results that wait for their turn.
    pub(crate) turns: Turns,
    /// In a replay: the recorded effects.
    pub(crate) effect_log: Option<Rc<EffectLog>>,
    pub(crate) reactions_run: Cell<u32>,
    /// The block with whose end the run ends, if only that block is to run.
    pub(crate) ends_with: Option<Arc<str>>,
    /// Whether it only makes a plan.
    pub(crate) only_plans: bool,
    /// Whether a schema parses a value once on its way into a block.
    pub(crate) parses_once: bool,
    /// Whether its input was parsed for an earlier run.
    pub(crate) has_recorded_input: bool,
    /// How it takes from the log what has ended.
    pub(crate) reuse: Reuse,
    /// The blocks that were taken from the log without an event, in the order in which they were reached.
    pub(crate) kept: RefCell<IndexSet<Arc<str>>>,
    /// The blocks that wait for answers and are not run.
    pub(crate) stays: RefCell<HashSet<Arc<str>>>,
    /// The blocks that went on as the instance that was interrupted.
    went_on: RefCell<HashSet<Arc<str>>>,
    stamps: Cell<u64>,
    noted: RefCell<HashSet<String>>,
    /// Whether blocks have run concurrently: then shared state may change between any two reads.
    pub(crate) has_concurrent_blocks: Cell<bool>,
    /// When a step boundary last yielded, in milliseconds since the epoch.
    pub(crate) paused: Cell<i64>,
    pub(crate) versions: RefCell<HashMap<ScopeKey, u64>>,
    /// The newest version of each record that this request has committed.
    pub(crate) own_versions: RefCell<HashMap<ScopeKey, u64>>,
    /// Whether a commit has ever conflicted with another request.
    pub(crate) has_write_conflicts: Cell<bool>,
    pub(super) attempts: RefCell<FxHashMap<Arc<str>, u32>>,
    roots: Roots,
}

impl Run {
    /// Creates the resumed run of a request, or a new request if `earlier` has no events. Its blocks do what `drive`
    /// does.
    pub(crate) fn driven(
        drive: Drive,
        earlier: PriorRun<'_>,
        flow: Rc<Flow>,
        start: StartRequest,
        log: Arc<dyn Log>,
        effects: Rc<dyn Effects>,
        abort: Abort,
    ) -> Rc<Self> {
        let PriorRun { events, prior_status, answers } = earlier;
        let request = start.request.clone();
        let has_recorded_input = !events.is_empty() || start.retry_of.is_some();
        let schemas: Vec<SchemaRef> = declared(&flow, ScopeKind::Request);
        let key = ScopeKey::new(ScopeKind::Request, request.clone());
        let alignment = Alignment::read(events, &flow, flow.actions.get(&start.action));
        let translated = alignment.translate(events);
        let replay_cache = ReplayCache::read(&translated, answers);
        let edits = ForkEdits::of(&translated);
        let begins = |event: &Event| matches!(&event.kind, EventKind::StateInitialized { scope, .. } if *scope == key);
        let has_initial_request_state = events.iter().any(begins);
        let reuse = Reuse::of(events, &alignment);
        let initial = initial_state(events).filter(|_| reuse == Reuse::ByReference);
        let mut state = initial.map(State::recorded).unwrap_or_default();
        state.fill_in(&defaults(&schemas));
        let container = SharedState::new(key, Vec::new(), state, 0);
        let mut attempts = replay_cache.attempts.clone();
        alignment.keep_attempts_apart(events, &mut attempts);
        let notes = Note::all(events);
        // Each run of a request has a lease of its own.
        let lease = match Lease::of(events) {
            Some(before) => before.next(start.owner.as_str()),
            None => Lease::first(start.owner.as_str()),
        };
        let options = RecorderOptions { request: request.clone(), lease, abort: abort.clone() };
        Rc::new(Run {
            drive,
            began_at: events.first().map_or_else(|| effects.now_ms(), |event| event.at),
            has_initial_states: has_initial_states(events),
            has_initial_request_state,
            recorder: Recorder::after(events, log.clone(), effects.clone(), options),
            request,
            flow,
            start,
            log,
            effects,
            state: Rc::new(container),
            abort,
            status_line: RefCell::new(replay_cache.status_line.clone()),
            notes: RefCell::new(notes),
            commits: FifoMutex::default(),
            replay_cache,
            alignment,
            answers: answers.iter().map(|answer| answer.id.clone()).collect(),
            used_answers: RefCell::default(),
            unfinished_background: RefCell::default(),
            prior_status,
            had_state: has_state(events),
            own_states: own_states(events),
            live_questions: LiveQuestions::default(),
            race_signals: OnceCell::new(),
            edits,
            turns: Turns::default(),
            effect_log: None,
            ends_with: None,
            only_plans: false,
            parses_once: parses_once(events),
            has_recorded_input,
            reuse,
            kept: RefCell::default(),
            stays: RefCell::default(),
            went_on: RefCell::default(),
            usage: RefCell::new(Usage::of(events)),
            stored_messages: RefCell::new(StoredMessages::of(events)),
            once: RefCell::new(run_once(events)),
            tool_cache: RefCell::default(),
            pool: crate::execution::core::pool::BackgroundPool::default(),
            reactions_run: Cell::default(),
            stamps: Cell::new(1),
            noted: RefCell::default(),
            has_concurrent_blocks: Cell::default(),
            paused: Cell::default(),
            versions: RefCell::default(),
            own_versions: RefCell::default(),
            has_write_conflicts: Cell::default(),
            attempts: RefCell::new(attempts),
            roots: Roots::default(),
        })
    }

    /// Returns the input that a fork gives a block in place of its own.
    pub fn edited_input(&self, path: &str) -> Option<&Data> {
        self.edits.block_inputs.get(path).map(|(_, data)| data)
    }

    /// Returns what a block gets as its input: what a fork has instead, or what it is given.
    pub(crate) fn input_of(&self, path: &str, given: StepValue) -> StepValue {
        match self.edits.block_inputs.get(path) {
            // A replay has a log of its own, without that event.
            Some((seq, data)) => StepValue::held(data.clone(), self.effect_log.is_none().then_some(*seq)),
            None => given,
        }
    }

    /// Returns whether the root block gets the request's input as this schema of its action made it. The recorded input
    /// of an earlier run came from the schema of that time: today's checks it, unless it would convert it again.
    pub(crate) fn is_input_parsed_by(&self, schema: &SchemaRef) -> bool {
        self.parses_once && (!self.has_recorded_input || schema.converts())
    }

    /// Ends the run after a block that is the only one to run: nothing starts after an abort.
    pub(crate) fn end_alone(&self, path: &Arc<str>) {
        if self.ends_with.as_ref() == Some(path) {
            self.abort.set();
        }
    }

    /// Appends buffered events to the log.
    pub fn flush(&self) {
        self.recorder.flush();
    }

    /// Returns the number of the newest attempt of a path that has begun.
    pub(crate) fn newest_attempt(&self, path: &Arc<str>) -> u32 {
        self.attempts.borrow().get(path).map_or(0, |next| next.saturating_sub(1))
    }

    /// Returns the key of a durable scope of this request; `None` if the scope is the project and the request has no
    /// project.
    pub fn durable_key(&self, kind: ScopeKind) -> Option<ScopeKey> {
        self.start.durable_key(kind)
    }

    /// Records an event of a block. One that ended before the request was interrupted, and is gone through only to
    /// reach its background work, does not record again that it runs.
    pub fn record(&self, frame: &Frame, mut kind: EventKind) -> Seq {
        if frame.is_over.get() && is_of_a_run(&kind) {
            return self.recorder.last();
        }
        if let EventKind::ItemAdded { item } = &mut kind {
            item.owned_by = frame.container_around(&self.request);
        }
        self.recorder.record(Some(&frame.path), frame.attempt, kind)
    }

    /// Sets the object that fires the signals of race branches. Must be called before any block runs, at most once.
    pub fn set_race_signals(&self, signals: Box<dyn RaceSignals>) {
        let _ = self.race_signals.set(signals);
    }

    /// Notes that blocks run concurrently from now on.
    pub fn expect_concurrent_blocks(&self) {
        self.has_concurrent_blocks.set(true);
    }

    /// Returns a number never used before in this request.
    pub fn next_stamp(&self) -> u64 {
        self.stamps.set(self.stamps.get() + 1);
        self.stamps.get()
    }

    /// Returns true the first time it is called with a subject.
    pub fn note_once(&self, subject: String) -> bool {
        self.noted.borrow_mut().insert(subject)
    }

    /// Keeps a note of a block's attempt.
    pub(crate) fn note(&self, frame: &Frame, kind: NoteKind, value: Value) {
        self.notes.borrow_mut().push(Note { kind, value, instance: frame.instance.clone() });
    }

    /// Removes the notes of a discarded attempt.
    pub(crate) fn forget_notes(&self, frame: &Frame) {
        self.notes.borrow_mut().retain(|note| note.instance != frame.instance);
    }
}

/// Returns whether an event tells of a block that runs: the log of one that has ended has it already, if it is gone
/// through for its background work.
fn is_of_a_run(kind: &EventKind) -> bool {
    match kind {
        EventKind::BlockStarted { .. }
        | EventKind::BlockResumed { .. }
        | EventKind::BlockInput { .. }
        | EventKind::RouteDecided { .. }
        | EventKind::ItemDone { .. } => true,
        EventKind::ItemAdded { item } => item.item_type == "container",
        _ => false,
    }
}
