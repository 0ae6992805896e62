//! One QuickJS runtime with one loaded bundle, with limits of time, memory and stack.
//!
//! Rust enters the runtime, runs all pending jobs, and leaves; nothing blocks inside. A flow that does not yield, or
//! takes too much memory, fails with an error that names its block, and the runtime cannot be used any more. Must not
//! know what a call means: that is `host`.

pub(crate) mod calls;
mod covered;
pub(crate) mod deadline;
pub(crate) mod expression;
pub(crate) mod fields;
pub(crate) mod load_time;
pub(crate) mod memory;
pub(crate) mod natives;
pub(crate) mod probe;
pub(crate) mod probed;
pub(crate) mod rejections;
pub(crate) mod stop;
pub(crate) mod time_zone;
pub(crate) mod words;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use engine::context::Context as Cx;
use engine::error::FlowError;
use futures_channel::{mpsc, oneshot};
use rquickjs::{CatchResultExt, Context, Ctx, Function, Module, Object, Runtime, qjs};
use serde::{Deserialize, Serialize};

use crate::bundle::Bundle;
use crate::bundle::embedded::Modules;
use crate::bundle::error::{LoadError, LoadErrorKind};
use crate::bundle::trace::{BUNDLE, Trace};
use crate::vm::deadline::Deadline;
use crate::vm::load_time::LoadTime;
use crate::vm::memory::Meter;
use crate::vm::probe::Probe;
use crate::vm::probed::Asked;
use crate::vm::words::Thrown;

/// The limits of a flow (`limits` in `flowglass.json`).
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
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
    /// The context of a call that has ended, if one of its timers made this call.
    pub(crate) late: Option<Cx>,
    /// What the flow says of the call while it runs.
    pub(crate) controls: mpsc::UnboundedReceiver<natives::Control>,
}

/// State that is shared between the host functions inside the runtime and the code outside.
pub(crate) struct Shared {
    pub(crate) contexts: RefCell<HashMap<u32, Cx>>,
    /// The context of a call that has ended while its block runs on, for as long as the callback of one of its timers
    /// runs.
    pub(crate) late: RefCell<HashMap<u32, Cx>>,
    pub(crate) calls: RefCell<HashMap<u32, Call>>,
    pub(crate) async_calls: mpsc::UnboundedSender<AsyncCall>,
    /// How many state operations, and blocks that a function runs, have not completed yet, by token.
    pub(crate) pending_applies: RefCell<HashMap<u32, u32>>,
    /// How many timers have not begun yet, by token.
    pub(crate) pending_timers: RefCell<HashMap<u32, u32>>,
    /// The calls that have returned and wait for both.
    pub(crate) call_waiters: RefCell<Vec<(u32, oneshot::Sender<()>)>>,
    /// Controls the asynchronous calls that run, by their ids.
    pub(crate) controls: RefCell<HashMap<u64, mpsc::UnboundedSender<natives::Control>>>,
    /// Whether a promise was rejected since the last report.
    pub(crate) rejected: Cell<bool>,
    /// Maps places in the bundle to the author's files.
    pub(crate) trace: Trace,
    /// Clock and random values while the file loads.
    pub(crate) load_time: LoadTime,
    /// What the probes of a bundle record, if it has any.
    pub(crate) probe: Option<Rc<Probe>>,
}

impl Shared {
    /// Returns the newest event of the request; 0 if no block runs.
    pub(crate) fn newest_event(&self) -> u64 {
        self.contexts.borrow().values().next().map_or(0, |cx| cx.run.recorder.last())
    }

    /// Whether a call that has returned must wait for what it has started.
    pub(crate) fn has_pending(&self, token: u32) -> bool {
        [&self.pending_applies, &self.pending_timers].iter().any(|pending| pending.borrow().contains_key(&token))
    }
}

/// A loaded bundle.
pub(crate) struct Vm {
    context: Context,
    runtime: Runtime,
    pub(crate) shared: Rc<Shared>,
    pub(crate) async_calls: RefCell<Option<mpsc::UnboundedReceiver<AsyncCall>>>,
    deadline: Rc<Cell<Option<Deadline>>>,
    memory: Rc<Meter>,
    limits: Limits,
    failed: RefCell<Option<FlowError>>,
    /// Whether it has failed because of a limit.
    is_limited: Cell<bool>,
    next: Cell<u32>,
}

/// Serves a synchronous host function: operation, token, and payload.
pub(crate) type SyncOp = fn(&Shared, &str, u32, &str) -> Result<Option<String>, String>;

impl Vm {
    /// Loads a bundle and runs its top level. What it throws is a [`LoadError`]. `asked` is what its probes record, and
    /// whether they also follow the statements of each execution.
    pub(crate) fn load(
        bundle: &Bundle,
        workspace: &std::path::Path,
        limits: Limits,
        load_time: LoadTime,
        asked: Option<(Asked, bool)>,
        sync: SyncOp,
    ) -> Result<Rc<Vm>, LoadError> {
        let internal =
            |error: rquickjs::Error| LoadError::in_file(LoadErrorKind::Thrown, &bundle.file, error.to_string());
        let memory = Meter::new(limits.memory_bytes);
        let runtime = Runtime::new_with_alloc(memory.allocator()).map_err(internal)?;
        runtime.set_max_stack_size(STACK_BYTES);
        runtime.set_gc_threshold(memory.first_collection());
        runtime.set_loader(Modules, Modules);
        let deadline: Rc<Cell<Option<Deadline>>> = Rc::default();
        let (watched, counted) = (deadline.clone(), memory.clone());
        let probe = asked.map(|(asked, follows)| Rc::new(Probe::new(asked, follows, memory.clone())));
        let (probes, stop) = (probe.clone(), load_time.stop.clone());
        runtime.set_interrupt_handler(Some(Box::new(move || {
            counted.is_exceeded()
                || watched.get().is_some_and(Deadline::is_past)
                || stop.is_set()
                || probes.as_ref().is_some_and(|probe| probe.is_late() || probe.is_done())
        })));
        let context = Context::full(&runtime).map_err(internal)?;
        context.with(|ctx| memory.attach(&ctx));
        let (sender, receiver) = mpsc::unbounded();
        let shared = Rc::new(Shared {
            contexts: RefCell::default(),
            late: RefCell::default(),
            calls: RefCell::default(),
            async_calls: sender,
            pending_applies: RefCell::default(),
            pending_timers: RefCell::default(),
            call_waiters: RefCell::default(),
            controls: RefCell::default(),
            rejected: Cell::default(),
            trace: Trace::new(bundle, workspace),
            load_time,
            probe,
        });
        crate::vm::rejections::track(&runtime, &shared);
        let vm = Rc::new(Vm {
            context,
            runtime,
            shared,
            async_calls: RefCell::new(Some(receiver)),
            deadline,
            memory,
            limits,
            failed: RefCell::default(),
            is_limited: Cell::default(),
            next: Cell::new(1),
        });
        let internal = |error: rquickjs::Error| match vm.limit_reached() {
            Some(limit) => LoadError::in_file(LoadErrorKind::Thrown, &bundle.file, format!("LimitError: {limit}")),
            None => internal(error),
        };
        vm.context.with(|ctx| natives::install(&ctx, &vm.shared, sync)).map_err(internal)?;
        vm.evaluate(bundle)?;
        vm.context.with(|ctx| hide(&ctx)).map_err(internal)?;
        Ok(vm)
    }

    fn evaluate(&self, bundle: &Bundle) -> Result<(), LoadError> {
        self.start_clock();
        let evaluated = self.context.with(|ctx| -> Result<bool, Thrown> {
            let promise =
                Module::evaluate(ctx.clone(), BUNDLE, bundle.code.as_bytes()).catch(&ctx).map_err(Thrown::of)?;
            while self.limit_reached().is_none() && ctx.execute_pending_job() {}
            match promise.result::<rquickjs::Value>() {
                None => Ok(false),
                Some(result) => result.catch(&ctx).map(|_| true).map_err(Thrown::of),
            }
        });
        let limit = self.limit_reached();
        self.deadline.set(None);
        let wrong = |place, message| Err(LoadError::at(LoadErrorKind::Thrown, &bundle.file, place, message));
        match (evaluated, limit) {
            (Err(thrown), Some(limit)) => {
                let trace = &self.shared.trace;
                let place = crate::bundle::callsite::of_thrown(trace, &bundle.code, &thrown.stack, "", &[]);
                wrong(place, format!("LimitError: {limit}"))
            }
            (Ok(_), Some(limit)) => wrong(None, format!("LimitError: {limit}")),
            (Ok(true), None) => Ok(()),
            (Ok(false), None) => {
                let message = "the file waits at its top level; a flow may await only inside its blocks";
                wrong(None, message.to_owned())
            }
            (Err(thrown), None) => {
                let (message, place) = crate::vm::words::at_load(&self.shared.trace, &bundle.code, &thrown);
                wrong(place, message.trim_start_matches("Error: ").to_owned())
            }
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
            // Blocks that are nested deeply run deep in the native stack, which is no recursion of the script.
            // SAFETY: the context is alive, and the function only sets fields of its runtime.
            unsafe { qjs::JS_UpdateStackTop(qjs::JS_GetRuntime(ctx.as_raw().as_ptr())) };
            let host = host(&ctx).map_err(|error| Thrown::from(error.to_string()))?;
            body(&ctx, &host).catch(&ctx).map_err(Thrown::of)
        });
        let result = result.and_then(|value| self.pump().map(|()| value)).map_err(|thrown| self.fail(&thrown));
        self.deadline.set(None);
        crate::vm::rejections::report(self);
        result
    }

    fn pump(&self) -> Result<(), Thrown> {
        loop {
            let has_run =
                self.runtime.execute_pending_job().map_err(|exception| Thrown::from(format!("{exception:?}")))?;
            // Also after the last job: a script that caught its error has passed the limit all the same.
            if self.memory.is_exceeded() || has_run && self.limit_reached().is_some() {
                return Err(Thrown::from("interrupted".to_owned()));
            }
            if !has_run {
                return Ok(());
            }
        }
    }

    fn start_clock(&self) {
        let time = Duration::from_millis(self.limits.yield_ms);
        let is_question = self.shared.probe.is_some();
        self.deadline.set(Some(if is_question { Deadline::of_processor(time) } else { Deadline::of_clock(time) }));
    }

    /// Returns which limit the script has reached, if it has.
    fn limit_reached(&self) -> Option<String> {
        if self.memory.is_exceeded() {
            Some(format!("used more than {} MB of memory (limits.memoryMb)", self.limits.memory_bytes >> 20))
        } else if self.deadline.get().is_some_and(Deadline::is_past) {
            Some(format!("ran for {} ms without yielding (limits.yieldMs)", self.limits.yield_ms))
        } else if self.shared.load_time.stop.is_set() {
            Some("was stopped".to_owned())
        } else {
            None
        }
    }

    /// Marks the runtime as failed, because an exception has reached Rust: every pending call fails with this error.
    fn fail(&self, thrown: &Thrown) -> FlowError {
        let limit = self.limit_reached();
        self.is_limited.set(limit.is_some());
        let thrown_at = || self.shared.trace.map_stack(&thrown.stack, "", &[]).location;
        let location = if limit.is_none() { thrown_at() } else { None };
        let message = limit.unwrap_or_else(|| thrown.message().to_owned());
        let token = self.current_token();
        let block =
            self.shared.contexts.borrow().get(&token).map(|cx| (cx.frame.block.name.clone(), cx.frame.path.clone()));
        let error = match block {
            Some((name, path)) => FlowError {
                code: Some("limit_exceeded".to_owned()),
                path: Some(path.to_string()),
                ..FlowError::new("LimitError", format!("block \"{name}\": {message}"))
            },
            None => FlowError { code: Some("limit_exceeded".to_owned()), ..FlowError::new("LimitError", message) },
        };
        let is_stopped = self.shared.load_time.stop.is_set();
        let error = if is_stopped { FlowError::aborted() } else { FlowError { location, ..error } };
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

    /// Returns how the list of flows shows an error of [`Vm::enter`].
    pub(crate) fn load_message(&self, error: &FlowError) -> String {
        if self.is_limited.get() { error.to_string() } else { error.message.clone() }
    }

    /// Returns why the runtime has failed, if it has.
    pub(crate) fn failure(&self) -> Option<FlowError> {
        self.failed.borrow().clone()
    }

    /// Returns the token of the code that ran last. No script runs after this.
    fn current_token(&self) -> u32 {
        self.deadline.set(None);
        self.memory.lift();
        self.runtime.set_max_stack_size(STACK_BYTES);
        let token =
            self.context.with(|ctx| -> rquickjs::Result<u32> { host(&ctx)?.get::<_, Function>("current")?.call(()) });
        token.unwrap_or(LOAD_TOKEN)
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
