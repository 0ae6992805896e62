//! The law of recorded order: a handler that waits for several results at once, and whose process is killed, ends as if
//! nothing had happened, and its replay is identical.
//!
//! Handlers are random: blocks that they run, `runOnce` and timers, combined by `Promise.race`, `any`, `all`,
//! `allSettled`, `for await` and chains of awaits. Each is run once without interruption. Then, for every event of that
//! run, another run goes on from the events up to it. Time is counted: it only passes when nothing else can happen, so
//! a run that goes on has the same outside as the undisturbed one.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Wake, Waker};

use engine::abort::Abort;
use engine::data::Data;
use engine::effect_log::{EffectLog, SeenRecords};
use engine::effects::{Effects, FetchCall, FetchReply, Listener, ModelCall, ModelReply};
use engine::error::FlowError;
use engine::event::{Event, EventKind, RequestStatus};
use engine::log::{AppendError, AppendMode, Lease, Log, NoteKind, Record, RequestEvents};
use engine::memory_log::MemoryLog;
use engine::request::{Ended, PriorRun, Run, StartRequest};
use engine::scope::ScopeKey;
use engine::views::trace::trace;
use futures_channel::oneshot;
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, select_biased};
use proptest::prelude::*;
use script::{Bundle, Bundler, Limits, LoadTime, Loaded};
use serde_json::{Value, json};

/// Interprets a plan, which is its input, and returns what it gives and the order in which results settled.
const FLOW: &str = r#"
import { defineFlow, handler } from '@flow-state-dev/core';
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const leaf = handler({ name: 'leaf', execute: async ({ label, ms, fails }) => {
  if (ms > 0) await wait(ms);
  if (fails) throw new Error(label);
  return label;
} });
async function* inTurn(promises) { for (const promise of promises) yield promise; }
const law = handler({ name: 'law', execute: async (plan, ctx) => {
  const order = [];
  const note = (label) => { order.push(label); return label; };
  const go = (step) => {
    switch (step.kind) {
      case 'run': return leaf.run(step, ctx).then(note, (error) => { note('!' + step.label); throw error; });
      case 'once': return ctx.runOnce(step.label, async () => step.label).then(note);
      case 'wait': return wait(step.ms).then(() => note(step.label));
      case 'chain': return (async () => { const all = []; for (const one of step.steps) all.push(await go(one)); return all; })();
      case 'each': return (async () => { const all = []; for await (const one of inTurn(step.steps.map(go))) all.push(one); return all; })();
      default: return Promise[step.kind](step.steps.map(go));
    }
  };
  const ended = await go(plan).then((value) => ({ value }), (error) => ({ error: error.message ?? 'none' }));
  note('ended');
  const last = await leaf.run({ label: 'last', ms: 4096 }, ctx);
  return { ended: JSON.parse(JSON.stringify(ended)), order, last };
} });
export default defineFlow({ kind: 'law', actions: { run: { block: law } } });
"#;

/// A part of a random handler.
#[derive(Clone, Debug)]
enum Step {
    /// `block.run`; the block may fail.
    Run {
        fails: bool,
        waits: bool,
    },
    Once,
    Wait,
    Together(&'static str, Vec<Step>),
}

impl Step {
    /// Returns the plan for the flow. Each leaf waits for another power of two, so no two sums of waits are equal.
    fn to_json(&self, count: &mut u32) -> Value {
        *count += 1;
        let (label, ms) = (format!("s{count}"), 1_u32 << (*count % 11));
        match self {
            Step::Run { fails, waits } => {
                json!({ "kind": "run", "label": label, "ms": if *waits { ms } else { 0 }, "fails": fails })
            }
            Step::Once => json!({ "kind": "once", "label": label }),
            Step::Wait => json!({ "kind": "wait", "label": label, "ms": ms }),
            Step::Together(kind, steps) => {
                json!({ "kind": kind, "steps": steps.iter().map(|step| step.to_json(count)).collect::<Vec<_>>() })
            }
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let leaf = prop_oneof![
        4 => (prop::bool::weighted(0.2), prop::bool::weighted(0.8))
            .prop_map(|(fails, waits)| Step::Run { fails, waits }),
        2 => Just(Step::Once),
        2 => Just(Step::Wait),
    ];
    leaf.prop_recursive(3, 9, 4, |inner| {
        let kinds = prop::sample::select(vec!["race", "any", "all", "allSettled", "chain", "each"]);
        (kinds, prop::collection::vec(inner, 2..4)).prop_map(|(kind, steps)| Step::Together(kind, steps))
    })
}

/// A clock that moves to the next pause when nothing else can happen.
#[derive(Clone, Default)]
struct Clock(Rc<Waiting>);

#[derive(Default)]
struct Waiting {
    now: Cell<i64>,
    pauses: RefCell<BTreeMap<(i64, usize), oneshot::Sender<()>>>,
    count: Cell<usize>,
}

impl Clock {
    fn at(now: i64) -> Clock {
        let clock = Clock::default();
        clock.0.now.set(now);
        clock
    }

    /// Ends the next pause that is still waited for. Returns whether there was one.
    fn advance(&self) -> bool {
        while let Some(((due, _), sender)) = { self.0.pauses.borrow_mut().pop_first() } {
            if sender.send(()).is_ok() {
                self.0.now.set(due.max(self.0.now.get()));
                return true;
            }
        }
        false
    }
}

impl Effects for Clock {
    fn now_ms(&self) -> i64 {
        self.0.now.get()
    }
    fn random(&self) -> f64 {
        0.5
    }
    fn uuid(&self) -> String {
        "id".to_owned()
    }
    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        let (sender, receiver) = oneshot::channel();
        self.0.count.set(self.0.count.get() + 1);
        let due = self.0.now.get().saturating_add_unsigned(ms);
        self.0.pauses.borrow_mut().insert((due, self.0.count.get()), sender);
        async move { receiver.await.unwrap_or(()) }.boxed_local()
    }
    fn fetch(&self, _call: FetchCall) -> LocalBoxFuture<'static, Result<FetchReply, FlowError>> {
        std::future::ready(Err(FlowError::plain("no network here"))).boxed_local()
    }
    fn model(
        &self,
        _call: ModelCall,
        _listener: Option<Listener>,
    ) -> LocalBoxFuture<'static, Result<ModelReply, FlowError>> {
        std::future::ready(Err(FlowError::plain("no model here"))).boxed_local()
    }
}

/// A log that answers appends only when the request makes no other progress, as a disk does.
struct SlowLog {
    memory: Arc<MemoryLog>,
    answers: Mutex<VecDeque<Waiter>>,
}

/// Who waits for the answer to an append, and the answer.
type Waiter = (oneshot::Sender<Result<(), AppendError>>, oneshot::Receiver<Result<(), AppendError>>);

impl SlowLog {
    /// Answers the oldest append that is still waited for. Returns whether there was one.
    fn answer(&self) -> bool {
        while let Some((answer, result)) = { self.answers.lock().expect("no panic").pop_front() } {
            let result = result.now_or_never().and_then(Result::ok).expect("memory answers at once");
            if answer.send(result).is_ok() {
                return true;
            }
        }
        false
    }
}

impl Log for SlowLog {
    fn append(
        &self,
        request: &str,
        lease: &Lease,
        events: Vec<Event>,
        mode: AppendMode,
    ) -> oneshot::Receiver<Result<(), AppendError>> {
        let (answer, receiver) = oneshot::channel();
        let result = self.memory.append(request, lease, events, mode);
        self.answers.lock().expect("no panic").push_back((answer, result));
        receiver
    }
    fn record(&self, scope: &ScopeKey) -> Result<Record, AppendError> {
        self.memory.record(scope)
    }
    fn may_leave_queue(&self, request: &str) -> Result<bool, AppendError> {
        self.memory.may_leave_queue(request)
    }
    fn own_events(&self, request: &str) -> Result<Vec<Event>, AppendError> {
        self.memory.own_events(request)
    }
    fn session_events(&self, session: &str, before: &str, newest: usize) -> Result<Vec<RequestEvents>, AppendError> {
        self.memory.session_events(session, before, newest)
    }
    fn notes(&self, session: &str, before: &str, kind: NoteKind, newest: usize) -> Result<Vec<Value>, AppendError> {
        self.memory.notes(session, before, kind, newest)
    }
}

/// A waker that remembers whether it was used.
#[derive(Default)]
struct Noted(AtomicBool);

impl Wake for Noted {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Polls work to its end; `still` is called whenever it makes no progress, and returns whether something moved.
fn finish<T>(work: impl Future<Output = T>, still: impl Fn() -> bool) -> T {
    let mut work = pin!(work);
    loop {
        let woken = Arc::new(Noted::default());
        let waker: Waker = woken.clone().into();
        if let Poll::Ready(ended) = work.as_mut().poll(&mut Context::from_waker(&waker)) {
            return ended;
        }
        assert!(woken.0.load(Ordering::SeqCst) || still(), "the request stands still");
    }
}

fn asked(plan: &Value) -> StartRequest {
    StartRequest {
        request: "r".into(),
        action: "run".to_owned(),
        input: Data::from(plan.clone()),
        session: "s".into(),
        ephemeral: false,
        user: "u".into(),
        project: None,
        mock: None,
        owner: "test".to_owned(),
        retry_of: None,
        trigger: None,
        dispatched_by: None,
        claim: None,
        fork: None,
        isolated: Default::default(),
        time_zone: None,
    }
}

fn loaded() -> Loaded {
    static BUNDLE: OnceLock<(tempfile::TempDir, Bundle)> = OnceLock::new();
    let (folder, bundle) = BUNDLE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("flow.ts");
        std::fs::write(&file, FLOW).expect("writable");
        let bundle =
            Bundler::new().expect("threads").bundle(folder.path(), &file, Arc::new(|_| ())).expect("it bundles");
        (folder, bundle)
    });
    let load_time = LoadTime::new(|effect| effect.placeholder());
    Loaded::load(bundle, None, folder.path(), Limits::default(), load_time).expect("the flow loads")
}

/// Runs a request to its end, after the events that an earlier run has left.
fn run(plan: &Value, events: &[Event]) -> (Ended, Vec<Event>) {
    let loaded = loaded();
    let flow = loaded.flow.clone().expect("the file exports a flow");
    let clock = Clock::at(events.last().map_or(0, |event| event.at));
    let log = Arc::new(MemoryLog::after("r", events.to_vec()));
    let slow = Arc::new(SlowLog { memory: log.clone(), answers: Mutex::default() });
    let earlier = PriorRun { events, prior_status: RequestStatus::Interrupted, answers: &[] };
    let run = Run::after(earlier, flow, asked(plan), slow.clone(), Rc::new(clock.clone()), Abort::default());
    let ended = finish(
        async {
            let begun = if events.is_empty() { run.begin().await } else { run.begin_resumed(Vec::new()).await };
            let mut work = Box::pin(run.execute(begun.expect("memory takes everything")).fuse());
            let mut drive = Box::pin(loaded.drive().fuse());
            select_biased! {
                ended = work => ended,
                () = drive => unreachable!("the driver outlives the run"),
            }
        },
        || {
            run.flush();
            run.settle_next() || slow.answer() || clock.advance()
        },
    );
    run.flush();
    (ended, log.events("r"))
}

/// Replays a request, and returns the first path at which it did something else.
fn first_difference(plan: &Value, events: &[Event]) -> Option<String> {
    let loaded = loaded();
    let flow = loaded.flow.clone().expect("the file exports a flow");
    let log = Arc::new(MemoryLog::default());
    let effect_log = EffectLog::new(events, SeenRecords::new());
    let effects = Rc::new(Clock::default());
    let run = Run::replay(events, effect_log.clone(), flow, asked(plan), log.clone(), effects, Abort::default());
    finish(
        async {
            let begun = run.begin().await.expect("memory takes everything");
            let mut work = Box::pin(run.execute(begun).fuse());
            let mut drive = Box::pin(loaded.drive().fuse());
            select_biased! {
                ended = work => ended,
                () = drive => unreachable!("the driver outlives the run"),
            }
        },
        || effect_log.advance(),
    );
    run.flush();
    let did = |events: &[Event]| -> BTreeMap<String, Vec<Value>> {
        let did = trace(events).into_iter();
        did.map(|(path, did)| (path.to_string(), did.into_iter().map(|did| did.what).collect())).collect()
    };
    let (was, is) = (did(events), did(&log.events("r")));
    was.into_iter().find(|(path, was)| is.get(path) != Some(was)).map(|(path, was)| {
        let is = is.get(&path);
        format!("{path}: {was:?} became {is:?}")
    })
}

/// The order in which the log has what had settled for the handler.
fn settled(events: &[Event]) -> Vec<String> {
    let ends = events.iter().filter(|event| {
        matches!(&event.kind, EventKind::BlockFinished { memoized: false, .. })
            && event.path.as_deref().is_some_and(|path| path.contains("/run:leaf"))
    });
    ends.filter_map(|event| event.path.as_deref().map(str::to_owned)).collect()
}

fn check(step: &Step) -> Result<(), TestCaseError> {
    let plan = step.to_json(&mut 0);
    let (undisturbed, events) = run(&plan, &[]);
    prop_assert_eq!(undisturbed.status, RequestStatus::Completed, "{:?}", undisturbed.error);
    prop_assert_eq!(first_difference(&plan, &events), None, "replay of the undisturbed run");
    let first = events.iter().position(|event| event.path.is_some()).unwrap_or(0);
    for end in first.max(1)..events.len() {
        let killed = &events[..end];
        let (ended, all) = run(&plan, killed);
        let (was, is) = (undisturbed.output.to_json(), ended.output.to_json());
        prop_assert_eq!(is, was, "killed after event {} of {}", end, events.len());
        prop_assert!(settled(&all).starts_with(&settled(killed)));
        let difference = first_difference(&plan, &all);
        prop_assert_eq!(difference, None, "replay of the run that was killed after event {}", end);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        max_shrink_iters: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn killed_anywhere_a_handler_ends_as_it_would_have(step in step()) {
        // Deep recursion of the script needs more stack than a test's thread has.
        let work = std::thread::Builder::new().stack_size(64 << 20).spawn(move || check(&step));
        work.expect("a thread").join().expect("no panic")?;
    }
}

/// `runOnce` commits twice, its beginning and its answer, and a block once. When the answer of the first was in the log
/// and not that of the second, a resume let the block after the first win, though it began after the second.
#[test]
fn a_block_after_a_recorded_result_does_not_overtake_what_began_before_it() -> Result<(), TestCaseError> {
    let plain = Step::Run { fails: false, waits: false };
    check(&Step::Together("race", vec![Step::Together("chain", vec![Step::Once, plain]), Step::Once]))
}
