//! Middleware: an author's functions around a block, each of which calls `next()` (SEMANTICS §2.13).
//!
//! A layer is a callback of its block (`middleware:<name>`), so its writes and effects belong to its block, and a
//! resume treats it as a callback. The engine runs the inner layers and the block; `next()` only requests this and
//! waits for the result. Suspensions, aborts and drift bypass all layers, because no flow may see them.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;

use futures_channel::mpsc;
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, StreamExt, select_biased};

use crate::execution::ctx::Context;
use crate::execution::run::callback_call::CallbackCall;
use crate::execution::run::next::{Next, Waiting};
use crate::execution::step::block::pipeline;
use crate::execution::step::callback;
use crate::model::callable::Returned;
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::{EventKind, Recorded, ScopeCommit};
use crate::model::flow::{Block, Middleware};
use crate::model::path::encode;
use crate::model::step_value::StepValue;

/// Runs a block inside its middleware from `at` on.
pub(crate) fn run<'a>(
    cx: &'a Context,
    block: &'a Rc<Block>,
    at: usize,
    input: &'a StepValue,
) -> LocalBoxFuture<'a, Result<StepValue, FlowError>> {
    match block.middleware.get(at) {
        None => pipeline(cx, block, input).boxed_local(),
        Some(layer) => run_layer(cx, block, (at, layer), input).boxed_local(),
    }
}

async fn run_layer(
    cx: &Context,
    block: &Rc<Block>,
    (at, layer): (usize, &Middleware),
    input: &StepValue,
) -> Result<StepValue, FlowError> {
    let (calls, mut asked) = mpsc::unbounded();
    let next = Rc::new(Next { calls, callers: RefCell::default() });
    let outer = Context { next: Some(next.clone()), ..cx.clone() };
    let role = format!("middleware:{}", encode(&layer.name).replace('.', "%2E"));
    let mut call = callback::call(&outer, &role, &layer.around, vec![input.argument()]).boxed_local().fuse();
    let inside = Inside::default();
    let given = OnceCell::new();
    let mut work = futures_util::future::pending().boxed_local().fuse();
    let mut is_begun = false;
    let returned = loop {
        select_biased! {
            returned = call => break returned,
            result = work => {
                next.callers.borrow().iter().for_each(|call| see_newest(cx, call));
                inside.end(result)?;
            }
            (edited, waiting) = asked.select_next_some() => {
                if !is_begun {
                    is_begun = true;
                    let given = given.get_or_init(|| edited_input(cx, block, edited).unwrap_or_else(|| input.clone()));
                    work = run(cx, block, at + 1, given).fuse();
                }
                inside.answer(waiting);
            }
        }
    };
    // A layer that did not wait for its block still ends after it.
    if is_begun && inside.result.borrow().is_none() {
        inside.end(work.await)?;
    }
    let result = inside.result.take();
    match (returned.and_then(Returned::into_data), result) {
        // An unchanged output keeps its origin.
        (Ok(output), Some(Ok(value))) if value.data == output => Ok(value),
        (Err(error), Some(Err(inner))) if error.name == inner.name && error.message == inner.message => Err(inner),
        (Ok(output), _) => Ok(StepValue::new(output)),
        (Err(error), _) => Err(error),
    }
}

/// Records the input that a layer passed instead of the block's. Only the approval layer passes one: the
/// block's schema has parsed the person's answer.
fn edited_input(cx: &Context, block: &Block, edited: Option<Data>) -> Option<StepValue> {
    let mut input = StepValue::new(edited?);
    if let Some(schema) = block.input_schema.as_ref().filter(|_| cx.run.parses_once && block.connect_input.is_none()) {
        input.parsed_by.add(schema);
    }
    input.origin = Some(cx.record(EventKind::BlockInput { input: Recorded::inline(&input.data) }));
    *cx.frame.input.borrow_mut() = input.data.clone();
    Some(input)
}

/// Shows a call the commits of its inner block. Its own conflicting writes stay: its commit then detects the conflict,
/// and it is called again.
fn see_newest(cx: &Context, call: &CallbackCall) {
    for (scope, from) in call.transaction.versions() {
        let Ok(record) = cx.run.log.record(&scope) else { continue };
        let (version, stamp) = (record.version, cx.run.next_stamp());
        if call.transaction.pending(&scope).is_empty() {
            let news = ScopeCommit { scope, from, version, operations: Vec::new(), rebased: Vec::new() };
            call.transaction.refresh(&news, &record, stamp);
        } else {
            call.transaction.rebase(&scope, &record, stamp);
        }
    }
}

/// The result of the inner block, and the callers of `next()` that wait for it.
#[derive(Default)]
struct Inside {
    result: RefCell<Option<Result<StepValue, FlowError>>>,
    waiting: RefCell<Vec<Waiting>>,
}

impl Inside {
    fn answer(&self, waiting: Waiting) {
        match &*self.result.borrow() {
            // Receiver dropped; ignore the send error.
            Some(result) => drop(waiting.send(data(result))),
            None => self.waiting.borrow_mut().push(waiting),
        }
    }

    /// Stores the result and sends it to all waiting callers. Returns an error that no flow may see.
    fn end(&self, result: Result<StepValue, FlowError>) -> Result<(), FlowError> {
        match result {
            Err(error) if error.is_uncatchable() => Err(error),
            result => {
                self.waiting.take().into_iter().for_each(|waiting| drop(waiting.send(data(&result))));
                *self.result.borrow_mut() = Some(result);
                Ok(())
            }
        }
    }
}

fn data(result: &Result<StepValue, FlowError>) -> Result<Data, FlowError> {
    result.as_ref().map(|value| value.data.clone()).map_err(FlowError::clone)
}
