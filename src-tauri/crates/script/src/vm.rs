//! One QuickJS runtime with one loaded bundle, with limits of time, memory and stack.
//!
//! Rust enters the runtime, runs all pending jobs, and leaves; nothing blocks inside. A flow that does not yield, or
//! takes too much memory, fails with an error that names its block, and the runtime cannot be used any more. Must not
//! know what a call means: that is `host`.

pub(crate) mod calls;
pub(crate) mod fields;
pub(crate) mod load_time;
pub(crate) mod rejections;
pub(crate) mod time_zone;
pub(crate) mod words;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use engine::context::Context as Cx;
use engine::error::FlowError;
use futures_channel::{mpsc, oneshot};
use rquickjs::context::EvalOptions;
use rquickjs::{CatchResultExt, Context, Ctx, Function, Module, Object, Runtime};

use crate::bundle::Bundle;
use crate::bundle::embedded::Modules;
use crate::bundle::error::{LoadError, LoadErrorKind};
use crate::bundle::trace::{BUNDLE, Trace};
use crate::vm::load_time::LoadTime;

/// The limits of a flow (`limits` in `flowglass.json`).
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of JavaScript memory of one run.
    pub memory_bytes: usize,
    /// Milliseconds without yielding.
    pub yield_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { memory_bytes: 256 << 20, yield_ms: 10_000 }
    }
}

/// JavaScript with a native `await`, which the bundle cannot contain because `async` is lowered there.
const WAITING: &str = include_str!("../sdk/src/base/waiting.js");

/// The native stack that JavaScript may use, in bytes; threads that run flows have more.
const STACK_BYTES: usize = 12 << 20;

/// The globals of the SDK's host object and of the native functions, while the file loads.
const HOST: &str = "__flowglass_host";
const NATIVE: &str = "__flowglass";

/// The token of code that runs for no call: while the file loads.
pub(crate) const LOAD_TOKEN: u32 = 0;

/// The result of a call.
pub(crate) enum CallResult {
    Undefined,
    Value(String),
    Block(String),
    Blocks(String),
    Model(String),
    Error(String),
    /// Its promise can never settle.
    NeverSettles(FlowError),
}

/// A call that has not returned.
pub(crate) struct Call {
    /// Identifies the call's context while it runs.
    pub(crate) token: u32,
    pub(crate) answer: oneshot::Sender<CallResult>,
}

/// A call of an asynchronous host function.
pub(crate) struct AsyncCall {
    pub(crate) id: f64,
    pub(crate) op: String,
    pub(crate) token: u32,
    pub(crate) payload: String,
    /// Completes when the flow cancels the call.
    pub(crate) stopped: oneshot::Receiver<()>,
}

/// State that is shared between the host functions inside the runtime and the code outside.
pub(crate) struct Shared {
    pub(crate) contexts: RefCell<HashMap<u32, Cx>>,
    pub(crate) calls: RefCell<HashMap<u32, Call>>,
    pub(crate) async_calls: mpsc::UnboundedSender<AsyncCall>,
    /// How many state operations, and blocks that a function runs, have not completed yet, by token.
    pub(crate) pending_applies: RefCell<HashMap<u32, u32>>,
    pub(crate) apply_waiters: RefCell<Vec<(u32, oneshot::Sender<()>)>>,
    /// Cancels an asynchronous call, by its id.
    pub(crate) stops: RefCell<HashMap<u64, oneshot::Sender<()>>>,
    /// Whether a promise was rejected since the last report.
    pub(crate) rejected: Cell<bool>,
    /// Maps places in the bundle to the author's files.
    pub(crate) trace: Trace,
    /// Clock and random values while the file loads.
    pub(crate) load_time: LoadTime,
}

/// A loaded bundle.
pub(crate) struct Vm {
    context: Context,
    runtime: Runtime,
    pub(crate) shared: Rc<Shared>,
    pub(crate) async_calls: RefCell<Option<mpsc::UnboundedReceiver<AsyncCall>>>,
    deadline: Rc<Cell<Option<Instant>>>,
    limits: Limits,
    failed: RefCell<Option<FlowError>>,
    next: Cell<u32>,
}

/// Serves a synchronous host function: operation, token, and payload.
pub(crate) type SyncOp = fn(&Shared, &str, u32, &str) -> Result<Option<String>, String>;

impl Vm {
    /// Loads a bundle and runs its top level. What it throws is a [`LoadError`].
    pub(crate) fn load(
        bundle: &Bundle,
        workspace: &std::path::Path,
        limits: Limits,
        load_time: LoadTime,
        sync: SyncOp,
    ) -> Result<Rc<Vm>, LoadError> {
        let internal =
            |error: rquickjs::Error| LoadError::in_file(LoadErrorKind::Thrown, &bundle.file, error.to_string());
        let runtime = Runtime::new().map_err(internal)?;
        runtime.set_memory_limit(limits.memory_bytes);
        runtime.set_max_stack_size(STACK_BYTES);
        runtime.set_loader(Modules, Modules);
        let deadline: Rc<Cell<Option<Instant>>> = Rc::default();
        let watched = deadline.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || watched.get().is_some_and(|end| Instant::now() > end))));
        let context = Context::full(&runtime).map_err(internal)?;
        let (sender, receiver) = mpsc::unbounded();
        let shared = Rc::new(Shared {
            contexts: RefCell::default(),
            calls: RefCell::default(),
            async_calls: sender,
            pending_applies: RefCell::default(),
            apply_waiters: RefCell::default(),
            stops: RefCell::default(),
            rejected: Cell::default(),
            trace: Trace::new(bundle, workspace),
            load_time,
        });
        crate::vm::rejections::track(&runtime, &shared);
        let vm = Rc::new(Vm {
            context,
            runtime,
            shared,
            async_calls: RefCell::new(Some(receiver)),
            deadline,
            limits,
            failed: RefCell::default(),
            next: Cell::new(1),
        });
        vm.context.with(|ctx| install(&ctx, &vm.shared, sync)).map_err(internal)?;
        vm.evaluate(bundle)?;
        vm.context.with(|ctx| hide(&ctx)).map_err(internal)?;
        Ok(vm)
    }

    fn evaluate(&self, bundle: &Bundle) -> Result<(), LoadError> {
        self.start_clock();
        let evaluated = self.context.with(|ctx| -> Result<bool, String> {
            let promise =
                Module::evaluate(ctx.clone(), BUNDLE, bundle.code.as_bytes()).catch(&ctx).map_err(describe)?;
            while ctx.execute_pending_job() {}
            match promise.result::<rquickjs::Value>() {
                None => Ok(false),
                Some(result) => result.catch(&ctx).map(|_| true).map_err(describe),
            }
        });
        let evaluated = evaluated.map_err(|thrown| {
            let (message, place) = crate::vm::words::at_load(&self.shared.trace, &bundle.code, &thrown);
            (self.explain(&message), place)
        });
        self.deadline.set(None);
        match evaluated {
            Ok(true) => Ok(()),
            Ok(false) => Err(LoadError::in_file(
                LoadErrorKind::Thrown,
                &bundle.file,
                "the file waits at its top level; a flow may await only inside its blocks",
            )),
            Err((message, place)) => Err(LoadError::at(LoadErrorKind::Thrown, &bundle.file, place, message)),
        }
    }

    /// Returns a number for a call or a token that was never used before in this runtime.
    pub(crate) fn next_number(&self) -> u32 {
        let next = self.next.get();
        self.next.set(next.wrapping_add(1).max(1));
        next
    }

    /// Enters the runtime, runs `body` with the SDK's host object, then all pending jobs.
    pub(crate) fn enter<R>(
        &self,
        body: impl for<'js> FnOnce(&Ctx<'js>, &Object<'js>) -> rquickjs::Result<R>,
    ) -> Result<R, FlowError> {
        if let Some(error) = &*self.failed.borrow() {
            return Err(error.clone());
        }
        self.start_clock();
        let result = self.context.with(|ctx| {
            let host = host(&ctx).map_err(|error| error.to_string())?;
            body(&ctx, &host).catch(&ctx).map_err(describe)
        });
        let result = match result {
            Ok(value) => self.pump().map(|()| value),
            Err(thrown) => Err(thrown),
        };
        let result = result.map_err(|thrown| self.fail(&thrown));
        self.deadline.set(None);
        crate::vm::rejections::report(self);
        result
    }

    fn pump(&self) -> Result<(), String> {
        loop {
            match self.runtime.execute_pending_job() {
                Ok(true) => {
                    if self.is_late() {
                        return Err("interrupted".to_owned());
                    }
                }
                Ok(false) => return Ok(()),
                Err(exception) => return Err(format!("{exception:?}")),
            }
        }
    }

    fn start_clock(&self) {
        self.deadline.set(Some(Instant::now() + Duration::from_millis(self.limits.yield_ms)));
    }

    fn is_late(&self) -> bool {
        self.deadline.get().is_some_and(|end| Instant::now() > end)
    }

    /// Marks the runtime as failed, because an exception has reached Rust: every pending call fails with this error.
    fn fail(&self, thrown: &str) -> FlowError {
        let token = self.current_token();
        let block =
            self.shared.contexts.borrow().get(&token).map(|cx| (cx.frame.block.name.clone(), cx.frame.path.clone()));
        let message = self.explain(thrown.lines().next().unwrap_or(thrown));
        let error = match block {
            Some((name, path)) => FlowError {
                code: Some("limit_exceeded".to_owned()),
                path: Some(path.to_string()),
                ..FlowError::new("LimitError", format!("block \"{name}\": {message}"))
            },
            None => FlowError { code: Some("limit_exceeded".to_owned()), ..FlowError::new("LimitError", message) },
        };
        *self.failed.borrow_mut() = Some(error.clone());
        // Dropping the senders wakes every caller, which then reads `failure`.
        self.shared.calls.borrow_mut().clear();
        error
    }

    /// Fails every call that has not returned, because nothing can settle its promise any more. Returns whether there
    /// was one.
    pub(crate) fn fail_waiting_calls(&self) -> bool {
        let waiting = std::mem::take(&mut *self.shared.calls.borrow_mut());
        let found = !waiting.is_empty();
        for call in waiting.into_values() {
            let contexts = self.shared.contexts.borrow();
            let name = contexts.get(&call.token).map(|cx| cx.frame.block.name.clone()).unwrap_or_default();
            drop(contexts);
            // A caller that went away was aborted.
            let _ = call.answer.send(CallResult::NeverSettles(FlowError::never_settles(&name)));
        }
        found
    }

    /// Returns why the runtime has failed, if it has.
    pub(crate) fn failure(&self) -> Option<FlowError> {
        self.failed.borrow().clone()
    }

    fn explain(&self, message: &str) -> String {
        if self.is_late() {
            format!("ran for {} ms without yielding (limits.yieldMs)", self.limits.yield_ms)
        } else if message.contains("out of memory") || message == NULL_THROWN && self.is_nearly_full() {
            format!("used more than {} MB of memory (limits.memoryMb)", self.limits.memory_bytes >> 20)
        } else {
            message.trim_start_matches("Error: ").to_owned()
        }
    }

    /// Whether most of the memory is in use: where there is none left for an error object, QuickJS throws null.
    fn is_nearly_full(&self) -> bool {
        usize::try_from(self.runtime.memory_usage().malloc_size).unwrap_or(0) > self.limits.memory_bytes / 2
    }

    fn current_token(&self) -> u32 {
        let late = self.deadline.replace(None);
        let token =
            self.context.with(|ctx| -> rquickjs::Result<u32> { host(&ctx)?.get::<_, Function>("current")?.call(()) });
        self.deadline.set(late);
        token.unwrap_or(LOAD_TOKEN)
    }
}

/// What [`describe`] says of a null.
const NULL_THROWN: &str = "a null was thrown";

/// Returns what was thrown: `Name: message`, then the stack.
fn describe(caught: rquickjs::CaughtError<'_>) -> String {
    match caught {
        rquickjs::CaughtError::Exception(exception) => {
            let name: String = exception.as_object().get("name").unwrap_or_else(|_| "Error".to_owned());
            let message = exception.message().unwrap_or_default();
            format!("{name}: {message}\n{}", exception.stack().unwrap_or_default())
        }
        rquickjs::CaughtError::Value(value) => match value.as_string().and_then(|text| text.to_string().ok()) {
            Some(text) => text,
            None => format!("a {} was thrown", value.type_name()),
        },
        rquickjs::CaughtError::Error(error) => error.to_string(),
    }
}

/// The SDK's host object, which has the functions that Rust calls.
pub(crate) fn host<'js>(ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
    match ctx.userdata::<Object>() {
        Some(hidden) => Ok(hidden.clone()),
        None => ctx.globals().get(HOST),
    }
}

/// Takes the globals away through which the SDK and Rust found each other, once the file is loaded: with them an
/// author's function could call the engine as another block.
fn hide(ctx: &Ctx<'_>) -> rquickjs::Result<()> {
    let globals = ctx.globals();
    let host: Object = globals.get(HOST)?;
    // Refused only while somebody reads it.
    let _ = ctx.store_userdata(host);
    globals.remove(HOST)?;
    globals.remove(NATIVE)
}

/// Installs the native functions as the global [`NATIVE`].
fn install(ctx: &Ctx<'_>, shared: &Rc<Shared>, sync: SyncOp) -> rquickjs::Result<()> {
    let native = Object::new(ctx.clone())?;
    let seen = shared.clone();
    native.set(
        "sync",
        Function::new(ctx.clone(), move |ctx: Ctx<'_>, op: String, token: u32, payload: String| {
            sync(&seen, &op, token, &payload).map_err(|message| rquickjs::Exception::throw_message(&ctx, &message))
        })?,
    )?;
    let seen = shared.clone();
    native.set(
        "start",
        Function::new(ctx.clone(), move |id: f64, op: String, token: u32, payload: String| {
            // A call is not over before these are.
            if op == "apply" || op == "run" {
                *seen.pending_applies.borrow_mut().entry(token).or_insert(0) += 1;
            }
            let (stop, stopped) = oneshot::channel();
            seen.stops.borrow_mut().insert(id as u64, stop);
            // The receiver lives as long as the run; after it, nobody waits for an answer.
            let _ = seen.async_calls.unbounded_send(AsyncCall { id, op, token, payload, stopped });
        })?,
    )?;
    let seen = shared.clone();
    native.set(
        "done",
        Function::new(ctx.clone(), move |call: u32, tag: String, payload: String| {
            // A call that was failed from outside may return all the same.
            let Some(waiting) = seen.calls.borrow_mut().remove(&call) else { return };
            let answer = match tag.as_str() {
                "undefined" => CallResult::Undefined,
                "value" => CallResult::Value(payload),
                "block" => CallResult::Block(payload),
                "blocks" => CallResult::Blocks(payload),
                "model" => CallResult::Model(payload),
                _ => CallResult::Error(payload),
            };
            // A caller that went away was aborted.
            let _ = waiting.answer.send(answer);
        })?,
    )?;
    crate::vm::fields::install(ctx, &native, shared)?;
    crate::vm::words::install(ctx, &native, shared)?;
    native.set("isProxy", Function::new(ctx.clone(), |value: rquickjs::Value<'_>| value.is_proxy())?)?;
    let mut options = EvalOptions::default();
    options.filename = Some("waiting.js".to_owned());
    native.set("waiting", ctx.eval_with_options::<Function, _>(WAITING, options)?)?;
    ctx.globals().set(NATIVE, native)
}
