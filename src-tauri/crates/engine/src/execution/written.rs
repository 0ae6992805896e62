//! Flows written in Rust, with closures, for tests and benchmarks: builders with the names of the TypeScript SDK.
//!
//! Must not do anything that a flow from a file could not.

use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use indexmap::IndexMap;
use serde_json::Value;

use crate::execution::ctx::Context;
use crate::model::callable::{Arg, Callable, Invocation, Returned};
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::flow::{
    Action, ActionHooks, Arm, Block, Body, Child, Flow, Operation, RequestHooks, Settings, StepOptions, number_steps,
};
use crate::model::resource::Resources;

/// A closure as an author's function. It gets the first argument as JSON; an error as its message.
pub struct Function<F>(pub F);

impl<F, R> Callable for Function<F>
where
    F: Fn(Value, Context) -> R,
    R: Future<Output = Result<Value, FlowError>> + 'static,
{
    fn call(&self, args: Vec<Arg>, invocation: Invocation) -> LocalBoxFuture<'static, Result<Returned, FlowError>> {
        let input = match args.into_iter().next() {
            Some(Arg::Data(data)) => data.to_json(),
            Some(Arg::Error(error)) => Value::String(error.message),
            None => Value::Null,
        };
        let answer = (self.0)(input, Context::of(&invocation));
        async move { answer.await.map(|value| Returned::Data(Data::from(value))) }.boxed_local()
    }
}

/// Returns a block with this name and body and no other settings.
pub fn block(name: &str, body: Body) -> Block {
    Block {
        name: name.into(),
        body,
        description: None,
        input_schema: None,
        output_schema: None,
        state_schema: None,
        expects: Vec::new(),
        joined: OnceCell::new(),
        fingerprint: OnceCell::new(),
        connect_input: None,
        connect_output: None,
        map_model_output: None,
        timeout_ms: None,
        cache: None,
        on_completed: None,
        on_errored: None,
        retry: None,
        transient: false,
        active_status: None,
        container: None,
        middleware: Vec::new(),
        rescue: Vec::new(),
        resources: Vec::new(),
        uses: Vec::new(),
    }
}

/// Returns a handler that calls a closure.
pub fn handler<F, R>(name: &str, execute: F) -> Rc<Block>
where
    F: Fn(Value, Context) -> R + 'static,
    R: Future<Output = Result<Value, FlowError>> + 'static,
{
    Rc::new(block(name, Body::Handler { execute: Rc::new(Function(execute)) }))
}

/// Returns a sequencer of these operations.
pub fn sequencer(name: &str, operations: Vec<Operation>) -> Rc<Block> {
    Rc::new(block(name, Body::Sequencer { steps: number_steps(operations), durable: true }))
}

/// `step(block)`.
pub fn step(block: &Rc<Block>) -> Operation {
    Operation::Step(child(block))
}

/// `parallel({ key: block, … })`.
pub fn parallel<'a>(arms: impl IntoIterator<Item = (&'a str, Rc<Block>)>) -> Operation {
    let arms = arms.into_iter().map(|(key, block)| Arm { key: key.to_owned(), condition: None, child: child(&block) });
    Operation::Parallel { arms: arms.collect(), limit: None }
}

/// Returns a child without a connector: it gets the chain's value as its input.
pub fn child(block: &Rc<Block>) -> Child {
    Child { connector: None, block: block.clone(), options: StepOptions::default() }
}

/// Returns a flow with one action, `run`, which runs this block.
pub fn flow(kind: &str, root: &Rc<Block>) -> Flow {
    let action = Action {
        input_schema: None,
        description: None,
        block: root.clone(),
        user_message: None,
        token_budget: None,
        concurrency: None,
        hooks: ActionHooks::default(),
        requires_project: false,
    };
    Flow {
        kind: Arc::from(kind),
        actions: IndexMap::from([("run".to_owned(), action)]),
        declarations: Vec::new(),
        resources: Resources::default(),
        code_hash: String::new(),
        settings: Settings::default(),
        hooks: RequestHooks::default(),
    }
}
