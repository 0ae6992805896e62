//! The asynchronous host functions: one operation for each member of `ctx` that returns a promise.
//!
//! Arguments and results cross as JSON text. Must not enforce rules: the engine does.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use engine::context::{Change, Context as Cx, EffectStart, Target};
use engine::data::{Data, from_json, parse};
use engine::effects::{Message, ModelCall, ToolCall};
use engine::error::FlowError;
use engine::operation::Operation;
use futures_channel::oneshot;
use futures_util::future::{self, Either};
use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::{FutureExt, select};
use rquickjs::Function;
use serde::Deserialize;
use serde_json::Value;

use crate::describe::function::decode;
use crate::describe::registry::Registry;
use crate::describe::schema::parsed;
use crate::host::cancel::cancelled;
use crate::vm::calls::thrown;
use crate::vm::{AsyncCall, Call, LOAD_TOKEN, Shared, Vm};

/// Returns what a client sees of a flow's state. The author's projections get all of it as their argument, and must not
/// be asynchronous.
pub(crate) fn client_data(vm: &Rc<Vm>, registry: &Rc<Registry>, states: &Value) -> Result<Value, FlowError> {
    let call = vm.next_number();
    let (sender, mut receiver) = oneshot::channel();
    vm.shared.calls.borrow_mut().insert(call, Call { token: LOAD_TOKEN, answer: sender });
    let states = states.to_string();
    vm.enter(|_, host| host.get::<_, Function>("clientData")?.call::<_, ()>((call, states)))?;
    match receiver.try_recv() {
        Ok(Some(answer)) => Ok(decode(vm, registry, answer)?.into_data()?.to_json()),
        _ => Err(FlowError::plain("a client projection must not wait for anything")),
    }
}

/// Serves the asynchronous calls of a flow, for as long as it is polled. Must be polled together with the engine.
pub(crate) async fn drive(vm: Rc<Vm>, registry: Rc<Registry>) {
    let Some(mut calls) = vm.async_calls.borrow_mut().take() else { return };
    let mut running = FuturesUnordered::new();
    loop {
        select! {
            call = calls.select_next_some() => running.push(serve(vm.clone(), registry.clone(), call)),
            () = running.select_next_some() => {}
        }
    }
}

async fn serve(vm: Rc<Vm>, registry: Rc<Registry>, call: AsyncCall) {
    if matches!(call.op.as_str(), "sleep" | "timeout") {
        return serve_timer(&vm, call).await;
    }
    let cx = vm.shared.contexts.borrow().get(&call.token).cloned();
    let result = match (cx, call.op.as_str()) {
        (Some(cx), "apply") => apply(&vm, &registry, &cx, &call.payload).await,
        (Some(cx), "once") => once(&cx, &call.payload).await,
        (Some(cx), "beginOnce") => begin_once(&cx, &call.payload).await,
        (Some(cx), "endOnce") => end_once(&vm, &cx, &call.payload).await,
        (Some(cx), "fetch") => crate::host::fetch::fetch(&cx, &call.payload, call.controls).await,
        (Some(cx), "model") => model(&cx, &call.payload).await,
        (Some(cx), "run") => run_block(&vm, &registry, &cx, &call.payload).await,
        (Some(cx), "flow.injectMessage") => crate::host::agent_calls::inject_message(&cx, &call.payload).await,
        (Some(cx), "next") => next(&cx, &call.payload).await,
        (Some(cx), "dispatch") => cx.dispatch(&call.payload).await,
        (Some(cx), "suspend") => suspend(&cx, &call.payload).await,
        (Some(_), op) => Err(FlowError::plain(format!("unknown operation \"{op}\""))),
        (None, _) => Err(has_ended()),
    };
    let (ok, payload) = match result {
        Ok(answer) => (true, answer),
        Err(error) => {
            let mut wire = error.to_host_json();
            // Where the function throws the error on, it is still that of the block.
            wire["ofBlock"] = (call.op == "run").into();
            (false, wire.to_string())
        }
    };
    vm.shared.controls.borrow_mut().remove(&(call.id as u64));
    answer(&vm, call.id, ok, payload);
    if call.op == "apply" || call.op == "run" {
        finish(&vm.shared, &vm.shared.pending_applies, call.token);
    }
}

/// Waits for a timer and runs its callback. A timer fires after its function has returned, too, as long as the request
/// runs. While the block of that function runs, the callback logs for the block and may set further timers. A timer
/// that is cleared ends at once.
async fn serve_timer(vm: &Rc<Vm>, call: AsyncCall) {
    let cx = vm.shared.contexts.borrow().get(&call.token).cloned().or(call.late);
    let Some(cx) = cx else {
        finish(&vm.shared, &vm.shared.pending_timers, call.token);
        vm.shared.controls.borrow_mut().remove(&(call.id as u64));
        return answer(vm, call.id, false, has_ended().to_host_json().to_string());
    };
    let ms = call.payload.parse::<f64>().unwrap_or(0.0).max(0.0) as u64;
    let mut sleep = Box::pin(cx.pause(ms, call.op == "timeout").fuse());
    let has_passed = futures_util::poll!(&mut sleep).is_ready();
    finish(&vm.shared, &vm.shared.pending_timers, call.token);
    let is_cleared = !has_passed && {
        let cleared = Box::pin(cancelled(&cx, call.controls));
        matches!(future::select(sleep, cleared).await, Either::Right(_))
    };
    vm.shared.controls.borrow_mut().remove(&(call.id as u64));
    if is_cleared {
        // Settles the promise of the timer, which calls nothing.
        return answer(vm, call.id, true, String::new());
    }
    let is_late = !vm.shared.contexts.borrow().contains_key(&call.token) && !cx.frame.is_finished();
    if is_late {
        vm.shared.late.borrow_mut().insert(call.token, cx.clone());
    }
    answer(vm, call.id, true, String::new());
    vm.shared.late.borrow_mut().remove(&call.token);
}

fn answer(vm: &Vm, id: f64, ok: bool, payload: String) {
    // Fails if the runtime has failed: then no code waits for the result.
    let _ = vm.enter(|_, host| host.get::<_, Function>("answer")?.call::<_, ()>((id, ok, payload)));
}

fn has_ended() -> FlowError {
    FlowError::plain("the block has ended; await what it starts before it returns")
}

/// Counts down what a call waits for. At the end of all of it, wakes the call.
fn finish(shared: &Shared, pending: &RefCell<HashMap<u32, u32>>, token: u32) {
    {
        let mut pending = pending.borrow_mut();
        let Some(count) = pending.get_mut(&token) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        pending.remove(&token);
    }
    if shared.has_pending(token) {
        return;
    }
    let mut waiters = shared.call_waiters.borrow_mut();
    let mut at = 0;
    while at < waiters.len() {
        if waiters[at].0 == token {
            let _ = waiters.remove(at).1.send(());
        } else {
            at += 1;
        }
    }
}

/// `ctx.runOnce`, if the request has its answer.
async fn once(cx: &Cx, payload: &str) -> Result<String, FlowError> {
    let key: String = from_json(payload).map_err(|error| FlowError::validation(error.to_string(), None))?;
    let answer = cx.once(&key).await;
    answer.map(|answer| answer.to_string()).ok_or_else(|| FlowError::plain(format!("runOnce has no answer \"{key}\"")))
}

/// `ctx.runOnce`, before the author's function is called.
async fn begin_once(cx: &Cx, payload: &str) -> Result<String, FlowError> {
    let key: String = from_json(payload).map_err(|error| FlowError::validation(error.to_string(), None))?;
    let begun = cx.begin_once(&key).await?;
    serde_json::to_string(&begun).map_err(|error| FlowError::plain(error.to_string()))
}

/// `ctx.runOnce`, after the author's function has returned or thrown.
async fn end_once(vm: &Vm, cx: &Cx, payload: &str) -> Result<String, FlowError> {
    #[derive(Deserialize)]
    struct OnceResult {
        key: String,
        begun: EffectStart,
        #[serde(default, deserialize_with = "engine::json::exact")]
        answer: Value,
        #[serde(default, deserialize_with = "engine::json::exact")]
        error: Option<Value>,
    }
    let told: OnceResult = from_json(payload).map_err(|error| FlowError::validation(error.to_string(), None))?;
    let answer = told.error.map_or(Ok(told.answer), |error| Err(thrown(vm, &error.to_string())));
    cx.end_once(told.begun, told.key, answer).await.map(|()| String::new())
}

/// `block.run(input, ctx)`.
async fn run_block(vm: &Rc<Vm>, registry: &Rc<Registry>, cx: &Cx, payload: &str) -> Result<String, FlowError> {
    #[derive(Deserialize)]
    struct Asked {
        /// As a factory describes the block that it made.
        block: String,
        /// The input as JSON; absent for `undefined`.
        input: Option<String>,
    }
    let asked: Asked = from_json(payload).map_err(|error| FlowError::plain(error.to_string()))?;
    let block = registry.block_from_factory(vm, &asked.block)?;
    let input = match &asked.input {
        Some(json) => parse(json).map_err(|error| FlowError::validation(error.to_string(), None))?.into(),
        None => Data::UNDEFINED,
    };
    let output = cx.run_nested(block, input).await?;
    Ok(output.as_value().map(Value::to_string).unwrap_or_default())
}

/// `next()` of middleware.
async fn next(cx: &Cx, payload: &str) -> Result<String, FlowError> {
    #[derive(Deserialize)]
    struct Asked {
        /// The input in place of the block's.
        #[serde(default, deserialize_with = "engine::json::given")]
        input: Option<Value>,
        /// What the block's schema made of its input, as JSON.
        parsed: Option<String>,
    }
    let asked: Asked = from_json(payload).map_err(|error| FlowError::validation(error.to_string(), None))?;
    let output = match asked.parsed {
        Some(answer) => cx.next_parsed(parsed(&answer)).await?,
        None => cx.next(asked.input.map(Data::from)).await?,
    };
    Ok(match output.as_value() {
        Some(value) => format!("{{\"data\":{value}}}"),
        None => "{}".to_owned(),
    })
}

/// `ctx.suspend`. Never completes without an answer.
async fn suspend(cx: &Cx, payload: &str) -> Result<String, FlowError> {
    let wanted = from_json(payload).map_err(|error| FlowError::validation(format!("ctx.suspend: {error}"), None))?;
    let resolved = cx.suspend(wanted).await?;
    serde_json::to_string(&resolved).map_err(|error| FlowError::plain(error.to_string()))
}

/// `ctx.resolveModel(id).generate(options)`: a model call by a handler.
async fn model(cx: &Cx, payload: &str) -> Result<String, FlowError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Asked {
        model: String,
        messages: Vec<Message>,
        #[serde(default, deserialize_with = "engine::json::exact")]
        output_schema: Option<Value>,
        #[serde(default)]
        max_tokens: Option<u32>,
        #[serde(default, deserialize_with = "engine::json::exact")]
        provider_options: Option<Value>,
    }
    let asked: Asked = from_json(payload).map_err(|error| {
        FlowError::validation(format!("generate needs {{ messages: [{{ role, content }}] }}: {error}"), None)
    })?;
    let call = ModelCall {
        generator: cx.frame.block.name.to_string(),
        model: asked.model,
        messages: asked.messages.into_iter().map(|Message { role, content }| Message::for_log(role, content)).collect(),
        tools: Vec::new(),
        output_schema: asked.output_schema,
        step: 0,
        max_tokens: asked.max_tokens,
        provider_options: asked.provider_options,
        defined_models: BTreeMap::new(),
        coerces: false,
    };
    let reply = engine::generator::call(cx, call).await?;
    let mut json = serde_json::to_value(&reply).map_err(|error| FlowError::plain(error.to_string()))?;
    // Authors know the fields of tool calls by other names than the log.
    if !reply.tool_calls.is_empty() {
        json["toolCalls"] = reply.tool_calls.iter().map(ToolCall::to_public_json).collect();
    }
    Ok(json.to_string())
}

async fn apply(vm: &Rc<Vm>, registry: &Rc<Registry>, cx: &Cx, payload: &str) -> Result<String, FlowError> {
    #[derive(Deserialize)]
    struct Asked {
        target: String,
        op: String,
        #[serde(default)]
        field: Option<String>,
        #[serde(default)]
        updater: Option<u32>,
        #[serde(default)]
        mutator: Option<u32>,
        #[serde(default)]
        content: Option<String>,
        #[serde(default, deserialize_with = "engine::json::exact")]
        instance: Option<Value>,
    }
    let invalid = |error: serde_json::Error| FlowError::validation(format!("state operation: {error}"), None);
    let asked: Asked = from_json(payload).map_err(invalid)?;
    let target =
        Target::parse(&asked.target).ok_or_else(|| FlowError::plain(format!("unknown scope \"{}\"", asked.target)))?;
    if let (Target::Resource(id, None), Some(key)) = (&target, &asked.instance) {
        return crate::host::resource_calls::collection(cx, *id, &asked.op, key, payload).await;
    }
    let change = match (asked.op.as_str(), asked.updater, asked.mutator) {
        ("update", Some(updater), _) => {
            Change::Update { field: asked.field.unwrap_or_default(), updater: registry.function(vm, updater) }
        }
        ("atomic", _, Some(mutator)) => Change::Atomic { mutator: registry.function(vm, mutator) },
        ("whole", Some(updater), _) => Change::Whole { updater: registry.function(vm, updater) },
        ("content", ..) => Change::Content(asked.content.unwrap_or_default()),
        _ => Change::Ready(from_json::<Operation>(payload).map_err(invalid)?),
    };
    cx.apply(&target, change).await.map(|changed| changed.to_string())
}
