//! One request from its first event to its last.
//!
//! The order of things is SEMANTICS §1.3: identity, scope records, the user's message, the
//! root block, the terminal event. The caller has checked who may run what; the engine runs it.

mod prior_run;
mod start;

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::{Map, Value};

use crate::execution::abort::Abort;
use crate::execution::beginning::is_begun;
use crate::execution::block::run_block;
use crate::execution::chain::alignment::Alignment;
use crate::execution::context::{Context, EmitOptions};
use crate::execution::fifo::Fifo;
use crate::execution::frame::{Frame, Roots};
use crate::execution::generator::answers::ToolAnswers;
use crate::execution::generator::stored_messages::StoredMessages;
use crate::execution::note::Note;
use crate::execution::recorder::{Recorder, Whose};
use crate::execution::replay::cache::ReplayCache;
use crate::execution::replay::effect_log::EffectLog;
use crate::execution::state::shared::Container;
use crate::execution::step_value::StepValue;
use crate::execution::{container, hooks};
use crate::model::callable::{Arg, SchemaRef};
use crate::model::data::Data;
use crate::model::effects::Effects;
use crate::model::error::FlowError;
use crate::model::event::{Event, EventKind, RequestStatus, Seq};
use crate::model::flow::Flow;
use crate::model::identity::{InstanceId, StateOwner};
use crate::model::item::{ItemStatus, NewItem};
use crate::model::log::{Lease, Log};
use crate::model::path::ROOT;
use crate::model::scope::{ScopeKey, ScopeKind};
use crate::model::state::State;
use crate::views::attempts::counting;
use crate::views::edited_input;
use crate::views::replay_order::ReplayOrder;
use crate::views::usage::Usage;

use prior_run::{has_state, run_once};

pub use prior_run::PriorRun;
pub use start::StartRequest;

/// How a request ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// `completed`, `failed` or `aborted`.
    pub status: RequestStatus,
    /// The root block's output.
    pub output: Data,
    /// What failed it.
    pub error: Option<FlowError>,
}

/// A request while it runs.
pub struct Run {
    /// Its id.
    pub request: Arc<str>,
    /// Whose blocks run.
    pub flow: Rc<Flow>,
    /// Who asked for what.
    pub asked: StartRequest,
    /// Where its events go.
    pub recorder: Recorder,
    /// Where durable records are.
    pub log: Arc<dyn Log>,
    /// The outside.
    pub effects: Rc<dyn Effects>,
    /// The request scope.
    pub state: Rc<Container>,
    /// Whether to stop.
    pub abort: Abort,
    /// The status slot (SEMANTICS §7.6).
    pub status_line: RefCell<Option<String>>,
    /// What this request said of its session so far.
    pub(crate) notes: RefCell<Vec<Note>>,
    /// What its models used so far.
    pub usage: RefCell<Usage>,
    /// What its model calls hold of their conversations.
    pub(crate) held: RefCell<StoredMessages>,
    /// Answers of `ctx.runOnce`, by key.
    pub(crate) once: RefCell<HashMap<String, Value>>,
    /// Answers of tools that equal calls may use again.
    pub(crate) tool_answers: RefCell<ToolAnswers>,
    /// When it began, milliseconds since the epoch.
    pub(crate) began_at: i64,
    /// Whether its scopes have their first state.
    pub(crate) is_begun: bool,
    /// Whether the log has the first state of its own.
    pub(crate) has_first_state: bool,
    /// Work beside the root block.
    pub(crate) pool: crate::execution::chain::background::Pool,
    /// Commits of durable records, one at a time.
    pub(crate) commits: Fifo,
    /// What an earlier part of this request finished.
    pub(crate) replay_cache: ReplayCache,
    /// Where that stands in the code of today.
    pub(crate) places: Alignment,
    /// Questions that were answered with this taking up, and those of them whose answer was used.
    pub(crate) answers: Vec<String>,
    pub(crate) used_answers: RefCell<HashSet<String>>,
    /// Why work beside the root block has not ended, where it has not.
    pub(crate) left_beside: RefCell<Option<FlowError>>,
    /// How the request stood when it was taken up.
    pub(crate) prior_status: RequestStatus,
    /// Whether anything was written to its own state before that.
    pub(crate) had_state: bool,
    /// Where a replay takes its effects from.
    pub(crate) effect_log: Option<Rc<EffectLog>>,
    stamps: Cell<u64>,
    noted: RefCell<HashSet<String>>,
    /// Whether blocks have run beside each other: then state that they share changes between any two looks.
    pub(crate) has_concurrent_blocks: Cell<bool>,
    /// When a step boundary last let the rest of the thread go on, in milliseconds since the epoch.
    pub(crate) paused: Cell<i64>,
    pub(crate) versions: RefCell<HashMap<ScopeKey, u64>>,
    /// The version of each record that this request made last.
    pub(crate) own_versions: RefCell<HashMap<ScopeKey, u64>>,
    /// Whether another request has written a record under it.
    pub(crate) has_rivals: Cell<bool>,
    attempts: RefCell<HashMap<Arc<str>, u32>>,
    roots: Roots,
}

impl Run {
    /// A request that has not begun. `flush` it every few milliseconds while it executes.
    pub fn new(
        flow: Rc<Flow>,
        asked: StartRequest,
        log: Arc<dyn Log>,
        effects: Rc<dyn Effects>,
        abort: Abort,
    ) -> Rc<Self> {
        Run::after(PriorRun::default(), flow, asked, log, effects, abort)
    }

    /// A recorded request once more: its effects come from the effect log, its answers from its events.
    pub fn replay(
        events: &[Event],
        effect_log: Rc<EffectLog>,
        flow: Rc<Flow>,
        asked: StartRequest,
        log: Arc<dyn Log>,
        effects: Rc<dyn Effects>,
        abort: Abort,
    ) -> Rc<Self> {
        let earlier = PriorRun::default();
        let run = Run::after(earlier, flow, asked, log, effects, abort);
        let Ok(mut run) = Rc::try_unwrap(run) else { unreachable!("nobody else has it yet") };
        run.replay_cache = ReplayCache::of_answers(events);
        // What an attempt did that counts is done again; what one did that was cut off is known.
        let (attempts, own) = (ReplayOrder::read(events), edited_input(events).unwrap_or(0));
        let is_known = |event: &&Event| event.seq <= own || attempts.place(event).is_none();
        run.once = RefCell::new(run_once(events.iter().filter(is_known)));
        run.began_at = events.first().map_or(0, |event| event.at);
        run.effect_log = Some(effect_log);
        Rc::new(run)
    }

    /// A request that goes on after its earlier part.
    pub fn after(
        earlier: PriorRun<'_>,
        flow: Rc<Flow>,
        asked: StartRequest,
        log: Arc<dyn Log>,
        effects: Rc<dyn Effects>,
        abort: Abort,
    ) -> Rc<Self> {
        let PriorRun { events, prior_status, answers } = earlier;
        let request = asked.request.clone();
        let schemas: Vec<SchemaRef> = declared(&flow, ScopeKind::Request);
        let mut state = State::default();
        state.fill_in(&defaults(&schemas));
        let key = ScopeKey::new(ScopeKind::Request, request.clone());
        let places = Alignment::read(events, &flow, flow.actions.get(&asked.action));
        let replay_cache = ReplayCache::read(&places.of_today(events), answers);
        let has_first_state = events
            .iter()
            .any(|event| matches!(&event.kind, EventKind::StateInitialized { scope, .. } if *scope == key));
        let container = Container::new(key, Vec::new(), state, 0);
        let mut attempts = replay_cache.attempts.clone();
        places.keep_attempts_apart(events, &mut attempts);
        let notes = counting(events).flat_map(Note::of).collect();
        // Each part of a request has an owner of its own.
        let lease = match Lease::of(events) {
            Some(before) => before.next(asked.owner.as_str()),
            None => Lease::first(asked.owner.as_str()),
        };
        let whose = Whose { request: request.clone(), lease, abort: abort.clone() };
        Rc::new(Run {
            began_at: events.first().map_or_else(|| effects.now_ms(), |event| event.at),
            is_begun: is_begun(events),
            has_first_state,
            recorder: Recorder::after(events, log.clone(), effects.clone(), whose),
            request,
            flow,
            asked,
            log,
            effects,
            state: Rc::new(container),
            abort,
            status_line: RefCell::default(),
            notes: RefCell::new(notes),
            commits: Fifo::default(),
            replay_cache,
            places,
            answers: answers.iter().map(|answer| answer.id.clone()).collect(),
            used_answers: RefCell::default(),
            left_beside: RefCell::default(),
            prior_status,
            had_state: has_state(events),
            effect_log: None,
            usage: RefCell::new(Usage::of(events)),
            held: RefCell::new(StoredMessages::of(events)),
            once: RefCell::new(run_once(events)),
            tool_answers: RefCell::default(),
            pool: crate::execution::chain::background::Pool::default(),
            stamps: Cell::new(1),
            noted: RefCell::default(),
            has_concurrent_blocks: Cell::default(),
            paused: Cell::default(),
            versions: RefCell::default(),
            own_versions: RefCell::default(),
            has_rivals: Cell::default(),
            attempts: RefCell::new(attempts),
            roots: Roots::default(),
        })
    }

    /// Runs the action of a request that has [begun](Run::begin) to its end. A failure of the log
    /// ends it as `interrupted`: what was committed stays, nothing runs on.
    pub async fn execute(self: &Rc<Self>, input_seq: Seq) -> Ended {
        let flow = self.flow.clone();
        let Some(action) = flow.actions.get(&self.asked.action) else {
            let error = FlowError::plain(format!("unknown action \"{}\"", self.asked.action));
            return self.close(RequestStatus::Completed, Err(error)).await;
        };
        if let Err(error) = self.take_turn().await {
            if self.recorder.is_lost() {
                return self.cut_short(error);
            }
            return self.close(RequestStatus::Completed, Err(error)).await;
        }
        if let Some(make) = action
            .user_message
            .as_ref()
            .filter(|_| !self.replay_cache.has_greeting && self.replay_cache.attempts.is_empty())
        {
            let frame = self.frame(action.block.clone(), ROOT.into(), None, Data::UNDEFINED, 0);
            frame.can_wait.set(false);
            let cx = Context::new(self.clone(), frame);
            match make
                .call(vec![Arg::Data(self.asked.input.clone())], cx.invocation())
                .await
                .and_then(|r| r.into_data())
            {
                Ok(said) => {
                    said.to_option().into_iter().for_each(|said| cx.emit_message("user", said, EmitOptions::default()))
                }
                Err(error) => return self.end(action, Err(error)).await,
            }
            self.attempts.borrow_mut().clear();
        }
        let input = StepValue { data: self.asked.input.clone(), origin: Some(input_seq), thrown: None };
        let root = async {
            hooks::started(self, input.clone()).await;
            run_block(self.clone(), action.block.clone(), None, ROOT.to_owned(), input).await
        };
        let result = self.pool.run_with(root, |result, tasks| self.tell_background(result, tasks)).await;
        if self.recorder.is_lost() {
            return self.cut_short(FlowError::taken_over(&self.request));
        }
        // What work beside the chain wrote, when all of that is in the log already.
        self.replay_all_shared_state(None);
        // Work beside the chain may wait for somebody when the chain itself has ended.
        let left = self.left_beside.take().filter(|_| result.is_ok() && !self.abort.is_set());
        match left.map_or(result, Err) {
            Err(error) if error.parks_request() => self.leave(self.stands_after(&error), Some(error)).await,
            Err(error) if error.is_suspension() => self.leave(RequestStatus::Suspended, None).await,
            result => self.end(action, result).await,
        }
    }

    /// Says how many tasks are left beside the chain that has ended (SEMANTICS §3.5); nothing where the
    /// request only waits for somebody.
    fn tell_background<T>(&self, result: &Result<T, FlowError>, tasks: u64) {
        if matches!(result, Err(error) if error.is_suspension() || error.parks_request()) {
            return;
        }
        let message = self.status_line.borrow().clone();
        let payload = [("message", message.into()), ("blocked", false.into()), ("backgroundTasks", tasks.into())];
        let payload = payload.into_iter().map(|(name, value): (_, Value)| (name.to_owned(), value)).collect();
        let item = NewItem { transient: true, ..NewItem::plain("status", ItemStatus::Completed, payload) };
        let attempt = self.attempts.borrow().get(ROOT).map_or(0, |count| count.saturating_sub(1));
        self.recorder.record(Some(&ROOT.into()), attempt, EventKind::ItemAdded { item });
    }

    /// Hands waiting evidence to the log.
    pub fn flush(&self) {
        self.recorder.flush();
    }

    /// A frame for the next execution of a path, with its own state where it declares one, seeing
    /// the newest committed records.
    pub fn frame(
        self: &Rc<Self>,
        block: Rc<crate::model::flow::Block>,
        path: Arc<str>,
        parent: Option<Rc<Frame>>,
        input: Data,
        tries: u32,
    ) -> Rc<Frame> {
        let attempt = {
            let mut attempts = self.attempts.borrow_mut();
            let next = attempts.entry(path.clone()).or_insert(0);
            *next += 1;
            *next - 1
        };
        let own = block.state_schema.as_ref().map(|schema| {
            let owner = StateOwner { request: &self.request, instance: InstanceId { path: &path, attempt } };
            let mut schemas = vec![schema.clone()];
            schemas.extend(block.joined.get().into_iter().flatten().cloned());
            let mut state = State::default();
            state.fill_in(&defaults(&schemas));
            Rc::new(Container::new(
                ScopeKey::new(block.state_scope(), owner.to_string()),
                schemas,
                state,
                self.next_stamp(),
            ))
        });
        let frame = Rc::new(Frame::new(block, path, attempt, tries, parent, input, own));
        frame.register(&self.roots);
        frame
    }

    /// The key of a durable scope of this request; the project may be absent.
    pub fn durable_key(&self, kind: ScopeKind) -> Option<ScopeKey> {
        self.asked.durable_key(kind)
    }

    /// Every declaration of a scope's state.
    pub fn schemas(&self, kind: ScopeKind) -> Vec<SchemaRef> {
        declared(&self.flow, kind)
    }

    /// Records an event of a block.
    pub fn record(&self, frame: &Frame, mut kind: EventKind) -> Seq {
        if let EventKind::ItemAdded { item } = &mut kind {
            item.owned_by = container::owner(&self.request, frame);
        }
        self.recorder.record(Some(&frame.path), frame.attempt, kind)
    }

    /// A number never used before in this request.
    pub fn next_stamp(&self) -> u64 {
        self.stamps.set(self.stamps.get() + 1);
        self.stamps.get()
    }

    /// True the first time a subject is noted.
    pub fn note_once(&self, subject: String) -> bool {
        self.noted.borrow_mut().insert(subject)
    }

    pub(crate) fn missing(&self, kind: ScopeKind, state: &State) -> Map<String, Value> {
        let mut missing = defaults(&self.schemas(kind));
        missing.retain(|field, _| state.get(field).is_none());
        missing
    }
}

fn declared(flow: &Flow, kind: ScopeKind) -> Vec<SchemaRef> {
    flow.declarations.iter().filter(|d| d.scope == kind).map(|d| d.schema.clone()).collect()
}

/// The defaults of all declared fields; the first declaration of a field wins.
pub(crate) fn defaults(schemas: &[SchemaRef]) -> Map<String, Value> {
    let mut all = Map::new();
    for schema in schemas {
        for field in schema.fields().unwrap_or_default() {
            if let Some(default) = &field.default
                && !all.contains_key(&field.name)
            {
                all.insert(field.name.clone(), default.clone());
            }
        }
    }
    all
}
