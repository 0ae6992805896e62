//! The law of resuming: a request that was cut short, any number of times and anywhere, comes to what it
//! would have come to in one go. Its output and every state are the same, and no block that had ended has
//! its side effects twice. What memory holds when it waits or has ended is what its events come to, and it
//! replays as it ran.
//!
//! The storage fails after some appends, so that the run ends where it is and nothing more is kept, as
//! when its process dies. Flows are random; questions are answered as they come.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use engine::abort::Abort;
use engine::callable::{Field, Issue, Schema};
use engine::context::{Change, Context, Target};
use engine::data::Data;
use engine::effect_log::{EffectLog, SeenRecords};
use engine::error::FlowError;
use engine::event::{Event, EventKind, Outcome, RequestStatus};
use engine::flow::{Arm, Block, Child, Operation as Op, Rescue};
use engine::log::{AppendError, AppendMode, Lease, Log, NoteKind, Record, RequestEvents};
use engine::memory_log::MemoryLog;
use engine::operation::Operation;
use engine::request::{Ended, PriorRun, Run};
use engine::scope::{ScopeKey, ScopeKind};
use engine::state::State;
use engine::suspension::{Resolved, SuspendOptions, SuspensionStatus};
use engine::views::Events;
use engine::views::attempts::rolled_back;
use engine::views::suspensions::suspensions;
use engine::views::trace::trace;
use engine::written::{Function, flow, handler, sequencer, step};
use futures_channel::oneshot;
use futures_executor::LocalPool;
use futures_util::task::LocalSpawnExt;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::runs::{Counted, asked, settling};

/// What every question is answered with.
const ANSWER: i64 = 3;

/// A flow on numbers that leaves traces in every kind of state.
#[derive(Clone, Debug)]
enum Plan {
    /// Adds to the value.
    Add(i64),
    /// Adds one to the session's and the request's count.
    Write,
    /// Adds what somebody answers.
    Ask,
    /// Fails above a number.
    FailAbove(i64),
    /// One after another.
    Chain(Vec<Plan>),
    /// Together; the sum goes on.
    Together(Vec<Plan>),
    /// What the first gives, or the second where the first fails.
    FirstOf(Box<Plan>, Box<Plan>),
    /// The value as it was where the plan fails, by a rescue of the chain.
    Rescued(Box<Plan>),
    /// The value as it was where the block fails, by its own rescue.
    Caught(i64),
    /// Until its own state has counted to a number.
    Loop(u8, Box<Plan>),
    /// A chain whose functions write, before and after the plan.
    Functions(Box<Plan>),
    /// A chain whose function asks.
    AskingFunction(Box<Plan>),
    /// Beside the chain; waited for, or not.
    Beside(Box<Plan>, bool),
}

/// Side effects by the path of the block that has them.
type Effects = Rc<RefCell<BTreeMap<String, u32>>>;

/// Makes blocks whose side effects are counted.
struct Builder(Effects);

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_default()
}

async fn count(cx: &Context, target: Target) -> Result<(), FlowError> {
    let by = json!({ "count": 1 }).as_object().cloned().unwrap_or_default();
    cx.apply(&target, Change::Ready(Operation::Increment { by })).await.map(drop)
}

async fn ask(cx: &Context) -> Result<i64, FlowError> {
    let wanted = SuspendOptions { reason: "test".to_owned(), ..SuspendOptions::default() };
    Ok(cx.suspend(wanted).await?.data.as_ref().map_or(0, number))
}

fn map<F, R>(function: F) -> Op
where
    F: Fn(Value, Context) -> R + 'static,
    R: Future<Output = Result<Value, FlowError>> + 'static,
{
    Op::Map(Rc::new(Function(function)))
}

fn child(block: Rc<Block>) -> Child {
    engine::written::child(&block)
}

fn arms(blocks: Vec<Rc<Block>>) -> Vec<Arm> {
    blocks.into_iter().map(|block| Arm { key: String::new(), condition: None, child: child(block) }).collect()
}

/// A block with one more thing to it.
fn with(block: Rc<Block>, change: impl FnOnce(&mut Block)) -> Rc<Block> {
    let Ok(mut block) = Rc::try_unwrap(block) else { unreachable!("nobody else has it yet") };
    change(&mut block);
    Rc::new(block)
}

impl Builder {
    /// A handler with a side effect, once its questions are answered.
    fn does<R>(&self, name: &str, execute: impl Fn(i64, Context) -> R + 'static) -> Rc<Block>
    where
        R: Future<Output = Result<i64, FlowError>> + 'static,
    {
        let effects = self.0.clone();
        handler(name, move |value, cx| {
            let (effects, path) = (effects.clone(), cx.frame.path.to_string());
            let work = execute(number(&value), cx);
            async move {
                let ended = work.await;
                *effects.borrow_mut().entry(path).or_insert(0) += 1;
                ended.map(Value::from)
            }
        })
    }

    fn fail_above(&self, most: i64) -> Rc<Block> {
        self.does("fail", move |value, cx| async move {
            count(&cx, Target::Session).await?;
            if value > most { Err(FlowError::plain("too much")) } else { Ok(value) }
        })
    }

    fn build(&self, plan: &Plan) -> Rc<Block> {
        match plan {
            Plan::Add(by) => {
                let by = *by;
                self.does("add", move |value, _| async move { Ok(value + by) })
            }
            Plan::Write => self.does("write", |value, cx| async move {
                count(&cx, Target::Session).await?;
                count(&cx, Target::Request).await?;
                Ok(value)
            }),
            Plan::Ask => self.does("ask", |value, cx| async move {
                count(&cx, Target::Session).await?;
                Ok(value + ask(&cx).await?)
            }),
            Plan::FailAbove(most) => self.fail_above(*most),
            Plan::Chain(plans) => sequencer("chain", plans.iter().map(|plan| step(&self.build(plan))).collect()),
            Plan::Together(plans) => {
                let blocks = plans.iter().map(|plan| self.build(plan)).collect();
                let total = |value: Value, _| async move {
                    Ok(json!(value.as_array().map_or(0, |list| list.iter().map(number).sum::<i64>())))
                };
                sequencer("together", vec![Op::StepAll { arms: arms(blocks), limit: None }, map(total)])
            }
            Plan::FirstOf(first, second) => {
                sequencer("first", vec![Op::StepAny { arms: arms(vec![self.build(first), self.build(second)]) }])
            }
            Plan::Rescued(plan) => {
                let handler = self.does("handler", |_, cx| async move {
                    count(&cx, Target::Request).await?;
                    Ok(0)
                });
                let guarded = sequencer("guarded", vec![step(&self.build(plan))]);
                with(guarded, |block| block.rescue = vec![Rescue { when: Vec::new(), block: handler }])
            }
            Plan::Caught(most) => {
                let handler = self.does("handler", |_, _| async move { Ok(0) });
                let failing = with(self.fail_above(*most), |block| {
                    block.rescue = vec![Rescue { when: Vec::new(), block: handler }];
                });
                sequencer("caught", vec![step(&failing)])
            }
            Plan::Loop(times, plan) => {
                let times = i64::from(*times);
                let until = Function(move |_: Value, cx: Context| async move {
                    count(&cx, Target::Sequencer).await?;
                    let state = cx.read(&Target::Sequencer).map(|(_, state)| state.to_json()).unwrap_or_default();
                    Ok(json!(number(&state["count"]) > times))
                });
                let steps = vec![Op::Loop { condition: Rc::new(until), until: true, child: child(self.build(plan)) }];
                with(sequencer("loop", steps), |block| block.state_schema = Some(Rc::new(Counter::new())))
            }
            Plan::Functions(plan) => {
                let writes = |value: Value, cx: Context| async move {
                    count(&cx, Target::Session).await?;
                    count(&cx, Target::Request).await?;
                    cx.emit_message("assistant", value.clone(), Default::default());
                    Ok(json!(number(&value) + 1))
                };
                let block = self.build(plan);
                let yes = Function(|_: Value, cx: Context| async move {
                    count(&cx, Target::Session).await?;
                    Ok(json!(true))
                });
                let guarded = Op::StepIf { condition: Rc::new(yes), child: child(block) };
                sequencer("functions", vec![map(writes), guarded, map(writes)])
            }
            Plan::AskingFunction(plan) => {
                let asks = |value: Value, cx: Context| async move {
                    let answer = ask(&cx).await?;
                    count(&cx, Target::Session).await?;
                    Ok(json!(number(&value) + answer))
                };
                sequencer("asking", vec![map(asks), step(&self.build(plan)), map(asks)])
            }
            Plan::Beside(plan, waits) => {
                let mut steps = vec![Op::Work { condition: None, child: child(self.build(plan)), name: None }];
                if *waits {
                    steps.push(Op::WaitForWork { fail_on_error: false, timeout_ms: None });
                }
                steps.push(step(&self.does("front", |value, _| async move { Ok(value + 1) })));
                sequencer("beside", steps)
            }
        }
    }
}

/// `{ count: number = 0 }`
struct Counter([Field; 1]);

impl Counter {
    fn new() -> Self {
        Counter([Field { name: "count".to_owned(), default: Some(json!(0)), transient: false }])
    }
}

impl Schema for Counter {
    fn parse(&self, data: &Data) -> Result<Data, Vec<Issue>> {
        Ok(data.clone())
    }
    fn check_field(&self, _field: &str, _value: &Value) -> Result<(), Vec<Issue>> {
        Ok(())
    }
    fn fields(&self) -> Option<&[Field]> {
        Some(&self.0)
    }
    fn describe(&self) -> Value {
        json!({ "type": "object" })
    }
}

/// A log whose storage fails after some appends.
struct Failing {
    log: Arc<MemoryLog>,
    left: AtomicI64,
}

impl Log for Failing {
    fn append(
        &self,
        request: &str,
        lease: &Lease,
        events: Vec<Event>,
        mode: AppendMode,
    ) -> oneshot::Receiver<Result<(), AppendError>> {
        if self.left.fetch_sub(1, Ordering::Relaxed) > 0 {
            return self.log.append(request, lease, events, mode);
        }
        let (sender, receiver) = oneshot::channel();
        // Nobody may wait for it.
        let _ = sender.send(Err(AppendError::Storage("the disk is gone".to_owned())));
        receiver
    }
    fn record(&self, scope: &ScopeKey) -> Result<Record, AppendError> {
        self.log.record(scope)
    }
    fn may_leave_queue(&self, request: &str) -> Result<bool, AppendError> {
        self.log.may_leave_queue(request)
    }
    fn own_events(&self, request: &str) -> Result<Vec<Event>, AppendError> {
        self.log.own_events(request)
    }
    fn session_events(&self, session: &str, before: &str, newest: usize) -> Result<Vec<RequestEvents>, AppendError> {
        self.log.session_events(session, before, newest)
    }
    fn notes(&self, session: &str, before: &str, kind: NoteKind, newest: usize) -> Result<Vec<Value>, AppendError> {
        self.log.notes(session, before, kind, newest)
    }
}

/// A request's log, and what its blocks did outside of it.
struct Bed {
    plan: Plan,
    log: Arc<MemoryLog>,
    root: Rc<Block>,
    effects: Effects,
}

/// What must be the same.
#[derive(Debug, PartialEq)]
struct Essence {
    status: RequestStatus,
    output: Option<Value>,
    error: Option<String>,
    session: Value,
    request: Value,
    paths: Vec<String>,
}

impl Bed {
    fn new(plan: &Plan) -> Bed {
        let effects = Effects::default();
        let root = sequencer("root", vec![step(&Builder(effects.clone()).build(plan))]);
        Bed { plan: plan.clone(), log: Arc::new(MemoryLog::default()), root, effects }
    }

    fn events(&self) -> Vec<Event> {
        self.log.events("request")
    }

    /// Goes on with the request, or begins it, until it ends, waits, or the storage fails.
    fn go_on(&self, appends: i64, answers: &[Resolved], prior_status: RequestStatus) -> (Option<Ended>, Rc<Run>) {
        let log = Arc::new(Failing { log: self.log.clone(), left: AtomicI64::new(appends) });
        let events = self.events();
        let earlier = PriorRun { events: &events, prior_status, answers };
        let flow = Rc::new(flow("test", &self.root));
        let effects = Rc::new(Counted::after(events.last().map_or(0, |event| event.at)));
        let run = Run::after(earlier, flow, asked("request", json!(1)), log, effects, Abort::default());
        let answers = answers.to_vec();
        let work = {
            let (run, is_new) = (run.clone(), events.is_empty());
            async move {
                let input = if is_new { run.begin().await } else { run.begin_resumed(answers).await };
                Some(run.execute(input.ok()?).await)
            }
        };
        let ended = settling(&run, work).unwrap_or_else(|| panic!("it stands still: {:#?}", self.events()));
        (ended, run)
    }

    /// Runs the request to its end, with the storage failing after so many appends each time. Answers what
    /// it came to, and which blocks had their side effects again after they had ended.
    fn run(&self, crashes: &[i64]) -> (Essence, Vec<String>) {
        let mut crashes = crashes.iter().copied();
        let mut prior_status = RequestStatus::Interrupted;
        let mut again = Vec::new();
        for _ in 0..400 {
            let answers = if prior_status == RequestStatus::Suspended { self.answer() } else { Vec::new() };
            let had_ended = self.ended();
            let (ended, run) = self.go_on(crashes.next().unwrap_or(i64::MAX), &answers, prior_status);
            let effects = self.effects.borrow();
            again.extend(had_ended.into_iter().filter(|(path, count)| effects.get(path).unwrap_or(&0) != count));
            if let Some(ended) = ended.as_ref().filter(|ended| ended.status != RequestStatus::Interrupted) {
                let events = self.events();
                assert_eq!(run.state.read().1.to_json(), folded(&events), "{:?}: {events:#?}", ended.status);
                self.replay(&events);
            }
            prior_status = match ended {
                None => continue,
                Some(ended) if !ended.status.is_terminal() || ended.status == RequestStatus::Interrupted => {
                    ended.status
                }
                Some(ended) => return (self.essence(&ended, &run), again.into_iter().map(|(path, _)| path).collect()),
            };
            // A part that was cut short while it took answers in may or may not have kept them.
            if prior_status == RequestStatus::Interrupted && self.waits() {
                prior_status = RequestStatus::Suspended;
            }
        }
        panic!("it does not end: {:#?}", self.events());
    }

    /// Replays the request, and compares what its blocks did.
    fn replay(&self, events: &[Event]) {
        let tape = EffectLog::new(events, SeenRecords::new());
        let log = Arc::new(MemoryLog::default());
        let root = sequencer("root", vec![step(&Builder(Effects::default()).build(&self.plan))]);
        let (flow, effects) = (Rc::new(flow("test", &root)), Rc::new(Counted::default()));
        let asked = asked("request", json!(1));
        let run = Run::replay(events, tape.clone(), flow, asked, log.clone(), effects, Abort::default());
        let mut pool = LocalPool::new();
        let done = Rc::new(Cell::new(false));
        let ended = done.clone();
        let work = async move {
            let input = run.begin().await.expect("memory takes everything");
            run.execute(input).await;
            run.flush();
            ended.set(true);
        };
        pool.spawner().spawn_local(work).expect("it runs");
        loop {
            pool.run_until_stalled();
            if done.get() {
                break;
            }
            assert!(tape.advance(), "the replay stands still: {events:#?}");
        }
        let by_path = |events: &[Event]| -> BTreeMap<String, Vec<Value>> {
            let did = trace(events).into_iter();
            did.map(|(path, did)| (path.to_string(), did.into_iter().map(|did| did.what).collect())).collect()
        };
        let (was, is) = (by_path(events), by_path(&log.events("request")));
        for (path, was) in was {
            assert_eq!(Some(&was), is.get(&path), "{path}: {events:#?}");
        }
    }

    fn essence(&self, ended: &Ended, run: &Run) -> Essence {
        let record = self.log.record(&ScopeKey::new(ScopeKind::Session, "session")).expect("memory answers");
        Essence {
            status: ended.status,
            output: ended.output.to_option(),
            error: ended.error.as_ref().map(|error| error.message.clone()),
            session: record.state.to_json(),
            request: run.state.read().1.to_json(),
            paths: self.effects.borrow().keys().cloned().collect(),
        }
    }

    /// The oldest question without an answer, answered.
    fn answer(&self) -> Vec<Resolved> {
        let events = self.events();
        let asked = suspensions(Events::new(&events), false, 0);
        let pending = asked.into_iter().find(|one| one.status == SuspensionStatus::Pending);
        let resolved =
            |id| Resolved { id, resolution: SuspensionStatus::Submitted, data: Some(json!(ANSWER)), by: None };
        pending.map(|one| resolved(one.asking.id)).into_iter().collect()
    }

    /// Whether the last thing in the log is that the request waits.
    fn waits(&self) -> bool {
        let last = self.events().pop().map(|event| event.kind);
        matches!(last, Some(EventKind::RequestStatus { status: RequestStatus::Suspended }))
    }

    /// The blocks that have ended, with the side effects they have had.
    fn ended(&self) -> BTreeMap<String, u32> {
        let mut ended = BTreeMap::new();
        for event in self.events() {
            let (EventKind::BlockFinished { outcome, .. }, Some(path)) = (&event.kind, &event.path) else { continue };
            match outcome {
                Outcome::Completed | Outcome::Failed => drop(ended.insert(path.to_string(), ())),
                Outcome::Suspended | Outcome::Abandoned => drop(ended.remove(&**path)),
            }
        }
        let effects = self.effects.borrow();
        ended.into_keys().filter_map(|path| Some((path.clone(), *effects.get(&path)?))).collect()
    }
}

/// The request's state as the writes come to that count.
fn folded(events: &[Event]) -> Value {
    let gone = rolled_back(events, false);
    let mut state = State::default();
    for event in events.iter().filter(|event| !gone.contains(&event.seq)) {
        match &event.kind {
            EventKind::StateChanged { scope, operation, .. } if scope.kind == ScopeKind::Request => {
                operation.apply(&mut state);
            }
            EventKind::StateInitialized { scope, state: Value::Object(fields), .. }
                if scope.kind == ScopeKind::Request =>
            {
                state.fill_in(fields);
            }
            _ => {}
        }
    }
    state.to_json()
}

fn plans() -> impl Strategy<Value = Plan> {
    let leaf = prop_oneof![
        (-3_i64..4).prop_map(Plan::Add),
        Just(Plan::Write),
        Just(Plan::Ask),
        (0_i64..12).prop_map(Plan::FailAbove),
        (0_i64..12).prop_map(Plan::Caught),
    ];
    leaf.prop_recursive(3, 14, 3, |inner| {
        let boxed = inner.clone().prop_map(Box::new);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Plan::Chain),
            prop::collection::vec(inner, 1..4).prop_map(Plan::Together),
            (boxed.clone(), boxed.clone()).prop_map(|(first, second)| Plan::FirstOf(first, second)),
            boxed.clone().prop_map(Plan::Rescued),
            (0_u8..3, boxed.clone()).prop_map(|(times, plan)| Plan::Loop(times, plan)),
            boxed.clone().prop_map(Plan::Functions),
            boxed.clone().prop_map(Plan::AskingFunction),
            (boxed, any::<bool>()).prop_map(|(plan, waits)| Plan::Beside(plan, waits)),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_request_that_was_cut_short_comes_to_the_same(plan in plans(), crashes in prop::collection::vec(0_i64..16, 1..6)) {
        let (expected, _) = Bed::new(&plan).run(&[]);
        let bed = Bed::new(&plan);
        let (found, again) = bed.run(&crashes);
        prop_assert_eq!(found, expected);
        prop_assert!(again.is_empty(), "had ended, and had their side effects again: {:?}", again);
    }

    #[test]
    fn a_request_may_be_cut_short_at_every_append(plan in plans()) {
        let (expected, _) = Bed::new(&plan).run(&[]);
        for at in 0..12 {
            let (found, again) = Bed::new(&plan).run(&[at]);
            prop_assert_eq!(&found, &expected, "cut short after {} appends", at);
            prop_assert!(again.is_empty(), "after {} appends, again: {:?}", at, again);
        }
    }
}
