//! A request that waits in the queue of writers (promise 9 of the log, which `promises.rs` tests) and gets its turn.

use std::cell::Cell;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake};

use engine::abort::Abort;
use engine::context::{Change, Target};
use engine::effects::{Effects, FetchCall, FetchReply, Listener, ModelCall, ModelReply};
use engine::error::FlowError;
use engine::event::RequestStatus;
use engine::log::{Log, TICKET_MS};
use engine::operation::Operation;
use engine::request::{Run, StartRequest};
use engine::scope::{ScopeKey, ScopeKind};
use engine::written::{flow, handler};
use serde_json::{Value, json};
use store::{EventQuery, Store};

use crate::support::{Request, open_in, wait};

/// The time of the events of these tests, or a little later.
const NOW: i64 = 1_700_000_000_100;

fn scope(id: &str) -> ScopeKey {
    ScopeKey::new(ScopeKind::Session, id)
}

fn inc() -> Operation {
    Operation::Increment { by: json!({ "n": 1 }).as_object().cloned().unwrap() }
}

/// A clock that only pauses move, and what others do meanwhile.
struct Pauses<F> {
    now: Cell<i64>,
    /// How much longer than asked for the next pause lasts: the process is stopped.
    stopped: Cell<i64>,
    store: Arc<Store>,
    /// What others do in the queue, so many milliseconds after the beginning.
    others: F,
}

impl<F: Fn(&Store, i64)> Effects for Pauses<F> {
    fn now_ms(&self) -> i64 {
        self.now.get()
    }
    fn random(&self) -> f64 {
        0.5
    }
    fn uuid(&self) -> String {
        "id".to_owned()
    }
    fn sleep(&self, ms: u64) -> Pin<Box<dyn Future<Output = ()>>> {
        if ms >= 1_000 {
            // A limit of the engine's, which is not reached.
            return Box::pin(std::future::pending());
        }
        self.now.set(self.now.get() + 500 + self.stopped.take());
        let elapsed = self.now.get() - NOW;
        assert!(elapsed < 20 * TICKET_MS, "it waits for ever");
        (self.others)(&self.store, elapsed);
        Box::pin(std::future::ready(()))
    }
    fn model(
        &self,
        _call: ModelCall,
        _listener: Option<Listener>,
    ) -> Pin<Box<dyn Future<Output = Result<ModelReply, FlowError>>>> {
        Box::pin(std::future::ready(Err(FlowError::plain("no model here"))))
    }
    fn fetch(&self, _call: FetchCall) -> Pin<Box<dyn Future<Output = Result<FetchReply, FlowError>>>> {
        Box::pin(std::future::ready(Err(FlowError::plain("no network here"))))
    }
}

struct Woken(AtomicBool, std::thread::Thread);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
        self.1.unpark();
    }
}

/// Polls to the end. What neither wakes itself nor says that it waits for the log would be taken for something
/// that never goes on; here are no effects to wait for.
fn drive<T>(run: &Run, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        let woken = Arc::new(Woken(AtomicBool::new(false), std::thread::current()));
        if let Poll::Ready(done) = work.as_mut().poll(&mut Context::from_waker(&woken.clone().into())) {
            return done;
        }
        let is_known = woken.0.load(Ordering::SeqCst) || run.recorder.is_committing();
        assert!(is_known, "the request waits, and nobody knows for what");
        while !woken.0.load(Ordering::SeqCst) {
            std::thread::park();
        }
    }
}

/// Runs a request that adds 1 to its session while others are in the queue for it. Answers how long it took,
/// and how often its commit was refused.
fn wait_among(stopped: i64, begin: impl FnOnce(&Store), others: impl Fn(&Store, i64) + 'static) -> (i64, usize) {
    let folder = tempfile::tempdir().unwrap();
    let store = Arc::new(open_in(&folder));
    begin(&store);
    let add = handler("add", |_, cx| async move {
        let Operation::Increment { by } = inc() else { unreachable!("it is one") };
        cx.apply(&Target::Session, Change::Ready(Operation::Increment { by })).await.map(Value::from)
    });
    let asked = StartRequest {
        request: "waits".into(),
        action: "run".to_owned(),
        input: Value::Null.into(),
        session: "s".into(),
        ephemeral: false,
        user: "ada".into(),
        project: None,
        mock: None,
        owner: "process-1".to_owned(),
        retry_of: None,
        trigger: None,
        dispatched_by: None,
        claim: None,
        fork: None,
        isolated: Default::default(),
        time_zone: None,
    };
    let pauses = Rc::new(Pauses { now: Cell::new(NOW), stopped: Cell::new(stopped), store: store.clone(), others });
    let run = Run::new(Rc::new(flow("test", &add)), asked, store.clone(), pauses.clone(), Abort::default());
    let ended = drive(&run, async {
        let input = run.begin().await.unwrap();
        run.execute(input).await
    });
    assert_eq!((ended.status, ended.error.map(|error| error.message)), (RequestStatus::Completed, None));
    assert_eq!(store.record(&scope("s")).unwrap().version, 1);
    assert!(store.check().unwrap().problems.is_empty());
    let refused = EventQuery { kind: Some("commit_refused".to_owned()), ..EventQuery::default() };
    (pauses.now.get() - NOW, store.events("waits", &refused).unwrap().len())
}

fn renew(store: &Store, request: &str, at: i64) {
    wait(store.take_ticket(request, &[scope("s")], at)).unwrap().unwrap();
}

fn leave(store: &Store, request: &str) {
    store.leave_ticket(request);
    // What comes after it is answered after it.
    renew(store, "nobody", NOW);
}

/// A writer that waits for longer than a ticket counts: it keeps its place before one that came later.
#[test]
fn a_waiting_writer_renews_its_ticket() {
    let before = 2 * TICKET_MS;
    let begin = |store: &Store| {
        for id in ["first", "later"] {
            Request::begin(store, id);
        }
        renew(store, "first", NOW);
    };
    let (took, refused) = wait_among(0, begin, move |store, elapsed| {
        if elapsed < before {
            renew(store, "first", NOW + elapsed);
        } else {
            leave(store, "first");
        }
        renew(store, "later", NOW + elapsed);
    });
    assert!((before..before + 2_000).contains(&took), "it came after {took} ms");
    assert_eq!(refused, 1);
}

/// A process that was stopped until its ticket had run out waits behind those that came meanwhile, instead of
/// trying a commit that would be refused.
#[test]
fn a_writer_whose_ticket_ran_out_takes_one_anew() {
    let (stopped, other) = (TICKET_MS + 1_000, 5_000);
    let begin = |store: &Store| {
        for id in ["first", "later"] {
            Request::begin(store, id);
        }
        renew(store, "first", NOW);
    };
    let (took, refused) = wait_among(stopped, begin, move |store, elapsed| {
        if elapsed < stopped + other {
            renew(store, "later", NOW + elapsed);
        } else {
            leave(store, "later");
        }
    });
    assert!((stopped + other..stopped + other + 2_000).contains(&took), "it came after {took} ms");
    assert_eq!(refused, 1);
}
