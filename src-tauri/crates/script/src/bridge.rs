//! Between the engine and a loaded bundle: functions one way, `ctx` the other.
//!
//! Every member of `ctx` is one operation here. Answers cross as JSON text. It must not decide
//! anything: rules live in the engine.

use std::rc::{Rc, Weak};
use std::sync::Arc;

use engine::callable::{Arg, Callable, Invocation, Returned};
use engine::context::{Begun, Change, Context as Cx, Target};
use engine::data::{Data, from_json, parse};
use engine::effects::{Message, ModelCall, ToolCall};
use engine::error::FlowError;
use engine::operation::Operation;
use futures_channel::oneshot;
use futures_util::future::LocalBoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::{FutureExt, select};
use rquickjs::{Function, Object};
use serde::Deserialize;
use serde_json::Value;

use crate::glance;
use crate::registry::Registry;
use crate::vm::{Answer, Call, LOAD, Question, Shared, Vm};

/// A function of the bundle.
pub(crate) struct ScriptFunction {
    pub(crate) vm: Rc<Vm>,
    /// Which keeps this function, so that neither may keep the other alive.
    pub(crate) registry: Weak<Registry>,
    pub(crate) id: u32,
}

impl Callable for ScriptFunction {
    fn fingerprint(&self) -> Option<Arc<str>> {
        self.registry.upgrade()?.fingerprint(&self.vm, self.id)
    }

    fn call(&self, args: Vec<Arg>, invocation: Invocation) -> LocalBoxFuture<'static, Result<Returned, FlowError>> {
        let cx = Cx::of(&invocation);
        let (vm, registry, id) = (self.vm.clone(), self.registry.clone(), self.id);
        async move {
            let registry = registry.upgrade().ok_or_else(|| FlowError::plain("the script ended"))?;
            let (args, relatives) = (encode(&args), glance::relatives(&cx));
            let answer = answer(&vm, cx, |host, call, token| {
                host.get::<_, Function>("call")?.call::<_, ()>((call, id, token, args, relatives))
            });
            decode(&vm, &registry, answer.await?)
        }
        .boxed_local()
    }
}

/// Starts something in the bundle with a context of its own, and waits for its answer.
pub(crate) async fn answer(
    vm: &Rc<Vm>,
    cx: Cx,
    start: impl FnOnce(&Object<'_>, u32, u32) -> rquickjs::Result<()>,
) -> Result<Answer, FlowError> {
    let call = vm.next_number();
    let token = vm.next_number();
    let (sender, receiver) = oneshot::channel();
    vm.shared.calls.borrow_mut().insert(call, Call { token, answer: sender });
    vm.shared.contexts.borrow_mut().insert(token, cx);
    let _context = Registered { vm: vm.clone(), token };
    vm.enter(|_, host| start(host, call, token))?;
    let answer = match receiver.await {
        Ok(answer) => answer,
        Err(_) => return Err(vm.cause_of_death().unwrap_or_else(|| FlowError::plain("the script ended"))),
    };
    // State operations that were not awaited still belong to this call.
    let open = vm.shared.open.borrow().get(&token).copied().unwrap_or(0);
    if open > 0 {
        let (sender, receiver) = oneshot::channel();
        vm.shared.settled.borrow_mut().push((token, sender));
        let _ = receiver.await;
    }
    Ok(answer)
}

/// Takes a context out of the runtime's table when its call is over, however it ends.
struct Registered {
    vm: Rc<Vm>,
    token: u32,
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.vm.shared.contexts.borrow_mut().remove(&self.token);
        self.vm.shared.open.borrow_mut().remove(&self.token);
    }
}

fn encode(args: &[Arg]) -> String {
    let mut text = String::from("[");
    for (at, arg) in args.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        match arg {
            Arg::Data(data) => match data.as_value() {
                None => text.push_str("[0]"),
                Some(value) => {
                    text.push_str("[1,");
                    text.push_str(&value.to_string());
                    text.push(']');
                }
            },
            Arg::Error(error) => text.push_str(&format!("[2,{}]", wire(error))),
        }
    }
    text.push(']');
    text
}

/// An error on its way back: the bundle finds the very object that was thrown by its handle.
fn wire(error: &FlowError) -> Value {
    let mut wire = serde_json::to_value(error).unwrap_or_default();
    wire["handle"] = error.handle.into();
    wire
}

fn decode(vm: &Rc<Vm>, registry: &Rc<Registry>, answer: Answer) -> Result<Returned, FlowError> {
    match answer {
        Answer::Undefined => Ok(Returned::Data(Data::UNDEFINED)),
        Answer::Value(json) => {
            let value = parse(&json).map_err(|error| FlowError::validation(error.to_string(), None))?;
            Ok(Returned::Data(value.into()))
        }
        Answer::Block(json) => registry.late(vm, &json).map(Returned::Block),
        Answer::Blocks(json) => registry.late_all(vm, &json).map(Returned::Blocks),
        Answer::Model(json) => {
            let wire = from_json(&json).map_err(|error| FlowError::plain(error.to_string()))?;
            Ok(Returned::Model(registry.instance(vm, wire)))
        }
        Answer::Error(json) => Err(thrown(vm, &json)),
        Answer::Never(error) => Err(error),
    }
}

/// An error of the bundle, with its place in the author's file.
pub(crate) fn thrown(vm: &Vm, json: &str) -> FlowError {
    #[derive(Deserialize)]
    struct Wire {
        handle: Option<u64>,
        stack: Option<String>,
        status: Option<u16>,
    }
    let mut error: FlowError = from_json(json).unwrap_or_else(|_| FlowError::plain("Unknown block execution error"));
    if let Ok(wire) = from_json::<Wire>(json) {
        error.handle = wire.handle;
        error.status = wire.status;
        let (location, stack) =
            vm.shared.trace.map_stack(wire.stack.as_deref().unwrap_or_default(), &error.message, &error.classes);
        error.location = location;
        error.stack = (!stack.is_empty()).then_some(stack);
    }
    if error.name == "InternalError" && error.message.contains("out of memory") {
        error.name = "LimitError".to_owned();
        error.code = Some("limit_exceeded".to_owned());
        error.message = "used more memory than limits.memoryMb allows".to_owned();
    }
    error
}

/// What a client sees of a flow's state. Its functions are given all there is, so none may wait.
pub(crate) fn client_data(vm: &Rc<Vm>, registry: &Rc<Registry>, states: &Value) -> Result<Value, FlowError> {
    let call = vm.next_number();
    let (sender, mut receiver) = oneshot::channel();
    vm.shared.calls.borrow_mut().insert(call, Call { token: LOAD, answer: sender });
    let states = states.to_string();
    vm.enter(|_, host| host.get::<_, Function>("clientData")?.call::<_, ()>((call, states)))?;
    match receiver.try_recv() {
        Ok(Some(answer)) => Ok(decode(vm, registry, answer)?.into_data()?.to_json()),
        _ => Err(FlowError::plain("a client projection must not wait for anything")),
    }
}

/// Answers what flows ask for and wait on, for as long as it is polled. Run it beside the engine.
pub(crate) async fn drive(vm: Rc<Vm>, registry: Rc<Registry>) {
    let Some(mut questions) = vm.questions.borrow_mut().take() else { return };
    let mut running = FuturesUnordered::new();
    loop {
        select! {
            question = questions.select_next_some() => running.push(ask(vm.clone(), registry.clone(), question)),
            () = running.select_next_some() => {}
        }
    }
}

async fn ask(vm: Rc<Vm>, registry: Rc<Registry>, question: Question) {
    let cx = vm.shared.contexts.borrow().get(&question.token).cloned();
    let result = match (cx, question.op.as_str()) {
        (Some(cx), "apply") => apply(&vm, &registry, &cx, &question.payload).await,
        (Some(cx), "sleep") => {
            let ms = question.payload.parse::<f64>().unwrap_or(0.0);
            cx.sleep(ms.max(0.0) as u64).await;
            Ok(String::new())
        }
        (Some(cx), "beginOnce") => begin_once(&cx, &question.payload).await,
        (Some(cx), "endOnce") => end_once(&vm, &cx, &question.payload).await,
        (Some(cx), "fetch") => crate::fetch::fetch(&cx, &question.payload, question.stopped).await,
        (Some(cx), "model") => model(&cx, &question.payload).await,
        (Some(cx), "suspend") => suspend(&cx, &question.payload).await,
        (Some(_), op) => Err(FlowError::plain(format!("unknown operation \"{op}\""))),
        (None, _) => Err(FlowError::plain("the block has ended; await what it starts before it returns")),
    };
    let (ok, payload) = match result {
        Ok(answer) => (true, answer),
        Err(error) => (false, wire(&error).to_string()),
    };
    vm.shared.stops.borrow_mut().remove(&(question.id as u64));
    // A runtime that is over has nobody to answer.
    let _ = vm.enter(|_, host| host.get::<_, Function>("answer")?.call::<_, ()>((question.id, ok, payload)));
    if question.op == "apply" {
        settle(&vm.shared, question.token);
    }
}

fn settle(shared: &Shared, token: u32) {
    let mut open = shared.open.borrow_mut();
    let Some(count) = open.get_mut(&token) else { return };
    *count -= 1;
    if *count > 0 {
        return;
    }
    open.remove(&token);
    let mut settled = shared.settled.borrow_mut();
    let mut at = 0;
    while at < settled.len() {
        if settled[at].0 == token {
            let _ = settled.remove(at).1.send(());
        } else {
            at += 1;
        }
    }
}

/// `ctx.runOnce` is about to call the author's function.
async fn begin_once(cx: &Cx, payload: &str) -> Result<String, FlowError> {
    let key: String = from_json(payload).map_err(|error| FlowError::validation(error.to_string(), None))?;
    let begun = cx.begin_once(&key).await?;
    serde_json::to_string(&begun).map_err(|error| FlowError::plain(error.to_string()))
}

/// Keeps what came of it: an answer, or a failure.
async fn end_once(vm: &Vm, cx: &Cx, payload: &str) -> Result<String, FlowError> {
    #[derive(Deserialize)]
    struct Told {
        key: String,
        begun: Begun,
        #[serde(default, deserialize_with = "engine::json::exact")]
        answer: Value,
        #[serde(default, deserialize_with = "engine::json::exact")]
        error: Option<Value>,
    }
    let told: Told = from_json(payload).map_err(|error| FlowError::validation(error.to_string(), None))?;
    let answer = told.error.map_or(Ok(told.answer), |error| Err(thrown(vm, &error.to_string())));
    cx.end_once(told.begun, told.key, answer).await.map(|()| String::new())
}

/// `ctx.suspend`: answered only where there is an answer.
async fn suspend(cx: &Cx, payload: &str) -> Result<String, FlowError> {
    let wanted = from_json(payload).map_err(|error| FlowError::validation(format!("ctx.suspend: {error}"), None))?;
    let resolved = cx.suspend(wanted).await?;
    serde_json::to_string(&resolved).map_err(|error| FlowError::plain(error.to_string()))
}

/// `ctx.resolveModel(id).generate(options)`: a model call of a handler's own.
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
        messages: asked.messages,
        tools: Vec::new(),
        output_schema: asked.output_schema,
        step: 0,
        max_tokens: asked.max_tokens,
        provider_options: asked.provider_options,
        coerces: false,
    };
    let reply = engine::generator::call(cx, call).await?;
    let mut told = serde_json::to_value(&reply).map_err(|error| FlowError::plain(error.to_string()))?;
    // Authors know tool calls by other names than a log does.
    if !reply.tool_calls.is_empty() {
        told["toolCalls"] = reply.tool_calls.iter().map(ToolCall::told).collect();
    }
    Ok(told.to_string())
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
        return crate::resources::collection(cx, *id, &asked.op, key, payload).await;
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
