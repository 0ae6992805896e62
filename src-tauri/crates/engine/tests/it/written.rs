//! Flows written in Rust: closures and the same words as in TypeScript.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use engine::abort::Abort;
use engine::callable::{Arg, Callable, Returned};
use engine::context::Context;
use engine::data::Data;
use engine::effects::{Effects, FetchCall, FetchReply, Listener, ModelCall, ModelReply};
use engine::error::FlowError;
use engine::event::Event;
use engine::flow::{Action, ActionHooks, Block, Body, Child, Flow, Operation, RequestHooks, Settings, number_steps};
use engine::log::memory::MemoryLog;
use engine::request::{Asked, Ended, Run};
use engine::resource::Resources;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use indexmap::IndexMap;
use serde_json::Value;

/// A closure as an author's function.
pub(crate) struct Function<F>(pub(crate) F);

impl<F, R> Callable for Function<F>
where
    F: Fn(Value, Context) -> R,
    R: Future<Output = Result<Value, FlowError>> + 'static,
{
    fn call(&self, args: Vec<Arg>, cx: Context) -> LocalBoxFuture<'static, Result<Returned, FlowError>> {
        let input = match args.into_iter().next() {
            Some(Arg::Data(data)) => data.to_json(),
            Some(Arg::Error(error)) => Value::String(error.message),
            None => Value::Null,
        };
        let answer = (self.0)(input, cx);
        async move { answer.await.map(|value| Returned::Data(Data::from(value))) }.boxed_local()
    }
}

/// A handler from a closure.
pub(crate) fn handler<F, R>(name: &str, execute: F) -> Rc<Block>
where
    F: Fn(Value, Context) -> R + 'static,
    R: Future<Output = Result<Value, FlowError>> + 'static,
{
    block(name, Body::Handler { execute: Rc::new(Function(execute)) })
}

/// A sequencer from its operations.
pub(crate) fn sequencer(name: &str, operations: Vec<Operation>) -> Rc<Block> {
    block(name, Body::Sequencer { steps: number_steps(operations), durable: true })
}

/// `step(block)`.
pub(crate) fn step(block: &Rc<Block>) -> Operation {
    Operation::Step(Child { connector: None, block: block.clone() })
}

fn block(name: &str, body: Body) -> Rc<Block> {
    Rc::new(Block {
        name: name.into(),
        body,
        description: None,
        input_schema: None,
        output_schema: None,
        state_schema: None,
        connect_input: None,
        connect_output: None,
        map_model_output: None,
        cache: None,
        on_completed: None,
        on_errored: None,
        retry: None,
        transient: false,
        active_status: None,
        container: None,
        rescue: Vec::new(),
        resources: Vec::new(),
        uses: Vec::new(),
    })
}

/// A clock that moves by one with every look, and sleeps that end at once.
#[derive(Default)]
struct Counted(Cell<i64>);

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
        // Pauses of retries end at once; the engine's own time-outs never come.
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
    run_flow(log, request, flow(root), input)
}

/// A flow with a block as its only action, `run`.
pub(crate) fn flow(root: &Rc<Block>) -> Flow {
    let action = Action {
        input_schema: None,
        description: None,
        block: root.clone(),
        user_message: None,
        token_budget: None,
        concurrency: None,
        hooks: ActionHooks::default(),
    };
    Flow {
        kind: "test".into(),
        actions: IndexMap::from([("run".to_owned(), action)]),
        declarations: Vec::new(),
        resources: Resources::default(),
        code_hash: String::new(),
        settings: Settings::default(),
        hooks: RequestHooks::default(),
    }
}

/// Runs a flow's action `run` over a log in memory.
pub(crate) fn run_flow(log: &Arc<MemoryLog>, request: &str, flow: Flow, input: Value) -> (Ended, Vec<Event>) {
    let asked = Asked {
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
        claim: None,
        fork: None,
    };
    let run = Run::new(Rc::new(flow), asked, log.clone(), Rc::new(Counted::default()), Abort::default());
    let ended = futures_executor::block_on(async {
        let input = run.begin().await.expect("memory takes everything");
        run.execute(input).await
    });
    (ended, log.events(request))
}
