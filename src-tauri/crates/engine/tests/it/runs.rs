//! Runs flows over a log in memory, with deterministic effects.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use engine::abort::Abort;
use engine::data::Data;
use engine::effects::{Effects, FetchCall, FetchReply, Listener, ModelCall, ModelReply};
use engine::error::FlowError;
use engine::event::Event;
use engine::flow::{Block, Flow};
use engine::memory_log::MemoryLog;
use engine::request::{Ended, Run, StartRequest};
use engine::written::flow;
use futures_executor::LocalPool;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use futures_util::task::LocalSpawnExt;
use serde_json::Value;

/// A clock that advances by one with every read, and sleeps that end at once.
#[derive(Default)]
pub(crate) struct Counted(Cell<i64>);

impl Counted {
    /// A clock whose first reading is one after `moment`.
    pub(crate) fn after(moment: i64) -> Self {
        Counted(Cell::new(moment))
    }
}

impl Effects for Counted {
    fn now_ms(&self) -> i64 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }
    fn random(&self) -> f64 {
        0.5
    }
    fn uuid(&self) -> String {
        "id".to_owned()
    }
    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        // Pauses between retries end at once; the engine's own timeouts never fire.
        if ms < 1_000 { std::future::ready(()).boxed_local() } else { std::future::pending().boxed_local() }
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

/// Runs a block as a flow's only action over a log in memory.
pub(crate) fn run(log: &Arc<MemoryLog>, request: &str, root: &Rc<Block>, input: Value) -> (Ended, Vec<Event>) {
    run_flow(log, request, flow("test", root), input)
}

/// A request that calls the action `run` with an input.
pub(crate) fn asked(request: &str, input: Value) -> StartRequest {
    StartRequest {
        request: request.into(),
        action: "run".to_owned(),
        input: Data::from(input),
        session: "session".into(),
        ephemeral: false,
        user: "user".into(),
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

/// Runs the work of a request to its end, settling recorded results. Returns `None` if it can make no progress.
pub(crate) fn settling<T: 'static>(run: &Rc<Run>, work: impl Future<Output = T> + 'static) -> Option<T> {
    let mut pool = LocalPool::new();
    let ended = Rc::new(RefCell::new(None));
    let end = ended.clone();
    let work = async move { drop(end.replace(Some(work.await))) };
    pool.spawner().spawn_local(work).expect("the pool runs");
    loop {
        pool.run_until_stalled();
        if let Some(ended) = ended.take() {
            return Some(ended);
        }
        if !run.settle_next() {
            return None;
        }
    }
}

/// Runs a flow's action `run` over a log in memory.
pub(crate) fn run_flow(log: &Arc<MemoryLog>, request: &str, flow: Flow, input: Value) -> (Ended, Vec<Event>) {
    let run =
        Run::new(Rc::new(flow), asked(request, input), log.clone(), Rc::new(Counted::default()), Abort::default());
    let ended = futures_executor::block_on(async {
        let input = run.begin().await.expect("memory takes everything");
        run.execute(input).await
    });
    (ended, log.events(request))
}
