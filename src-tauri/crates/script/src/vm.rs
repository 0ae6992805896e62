//! One QuickJS runtime with one loaded bundle: entered, pumped, limited, never trusted.
//!
//! Rust enters, lets every pending job run, and leaves; nothing waits inside. A flow that does not
//! yield, or takes too much memory, ends with an error that names its block, and the runtime with
//! it. It must not know what a call means: that is `bridge`.

pub(crate) mod calls;
pub(crate) mod fields;
pub(crate) mod load_time;
pub(crate) mod rejections;

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

/// What a flow may take (`limits` in `flowglass.json`).
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

/// What waits by the runtime's own `await`.
const WAITING: &str = include_str!("../sdk/src/base/waiting.js");

/// How deep JavaScript may recurse, in bytes of native stack; threads that run flows have more.
const STACK_BYTES: usize = 12 << 20;

/// The token of code that runs while a file loads.
pub(crate) const LOAD: u32 = 0;

/// What a call came back with.
pub(crate) enum Answer {
    Undefined,
    Value(String),
    Block(String),
    Blocks(String),
    Model(String),
    Error(String),
    /// Nothing can settle it any more.
    Never(FlowError),
}

/// A call of a function that has not come back.
pub(crate) struct Call {
    /// As which block it runs.
    pub(crate) token: u32,
    pub(crate) answer: oneshot::Sender<Answer>,
}

/// A question of a flow that takes time.
pub(crate) struct Question {
    pub(crate) id: f64,
    pub(crate) op: String,
    pub(crate) token: u32,
    pub(crate) payload: String,
    /// Completes when the flow no longer wants the answer.
    pub(crate) stopped: oneshot::Receiver<()>,
}

/// What the host functions inside the runtime share with the code outside.
pub(crate) struct Shared {
    pub(crate) contexts: RefCell<HashMap<u32, Cx>>,
    pub(crate) calls: RefCell<HashMap<u32, Call>>,
    pub(crate) questions: mpsc::UnboundedSender<Question>,
    /// State operations asked for and not answered yet, by token.
    pub(crate) open: RefCell<HashMap<u32, u32>>,
    pub(crate) settled: RefCell<Vec<(u32, oneshot::Sender<()>)>>,
    /// Stops a question that is under way, by its id.
    pub(crate) stops: RefCell<HashMap<u64, oneshot::Sender<()>>>,
    /// Whether a promise failed since the last look.
    pub(crate) rejected: Cell<bool>,
    /// From places in the bundle to the author's.
    pub(crate) trace: Trace,
    /// What code gets that runs for no block.
    pub(crate) load_time: LoadTime,
}

/// A loaded bundle.
pub(crate) struct Vm {
    context: Context,
    runtime: Runtime,
    pub(crate) shared: Rc<Shared>,
    pub(crate) questions: RefCell<Option<mpsc::UnboundedReceiver<Question>>>,
    deadline: Rc<Cell<Option<Instant>>>,
    limits: Limits,
    dead: RefCell<Option<FlowError>>,
    next: Cell<u32>,
}

/// Answers a question that a flow waits for on the spot.
pub(crate) type SyncOp = fn(&Shared, &str, u32, &str) -> Result<Option<String>, String>;

impl Vm {
    /// Loads a bundle: its top level runs, and what it throws is a [`LoadError`].
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
            questions: sender,
            open: RefCell::default(),
            settled: RefCell::default(),
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
            questions: RefCell::new(Some(receiver)),
            deadline,
            limits,
            dead: RefCell::default(),
            next: Cell::new(1),
        });
        vm.context.with(|ctx| install(&ctx, &vm.shared, sync)).map_err(internal)?;
        vm.evaluate(bundle)?;
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
            let (message, stack) = thrown.split_once('\n').unwrap_or((&thrown, ""));
            let (class, said) = message.split_once(": ").unwrap_or(("Error", message));
            let classes = [class.to_owned(), "Error".to_owned()];
            let place = crate::bundle::callsite::of_thrown(&self.shared.trace, &bundle.code, stack, said, &classes);
            (self.explain(message), place)
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

    /// A number for a call or a token, never used before in this runtime.
    pub(crate) fn next_number(&self) -> u32 {
        let next = self.next.get();
        self.next.set(next.wrapping_add(1).max(1));
        next
    }

    /// Enters the runtime, runs `body` with the SDK's host object, then every pending job.
    pub(crate) fn enter<R>(
        &self,
        body: impl for<'js> FnOnce(&Ctx<'js>, &Object<'js>) -> rquickjs::Result<R>,
    ) -> Result<R, FlowError> {
        if let Some(error) = &*self.dead.borrow() {
            return Err(error.clone());
        }
        self.start_clock();
        let result = self.context.with(|ctx| {
            let host: Object = ctx.globals().get("__flowglass_host").map_err(|error| error.to_string())?;
            body(&ctx, &host).catch(&ctx).map_err(describe)
        });
        let result = match result {
            Ok(value) => self.pump().map(|()| value),
            Err(thrown) => Err(thrown),
        };
        let result = result.map_err(|thrown| self.die(&thrown));
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

    /// An exception that reached Rust means the runtime is over: every waiting call ends with it.
    fn die(&self, thrown: &str) -> FlowError {
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
        *self.dead.borrow_mut() = Some(error.clone());
        // Dropping the senders wakes every caller; each asks for the reason.
        self.shared.calls.borrow_mut().clear();
        error
    }

    /// Fails every call that has not come back, because nothing can settle its promise any more.
    /// Answers whether there was one.
    pub(crate) fn give_up(&self) -> bool {
        let waiting = std::mem::take(&mut *self.shared.calls.borrow_mut());
        let found = !waiting.is_empty();
        for call in waiting.into_values() {
            let contexts = self.shared.contexts.borrow();
            let name = contexts.get(&call.token).map(|cx| cx.frame.block.name.clone()).unwrap_or_default();
            drop(contexts);
            // A caller that went away was aborted.
            let _ = call.answer.send(Answer::Never(FlowError::never_settles(&name)));
        }
        found
    }

    /// Why the runtime is over, if it is.
    pub(crate) fn cause_of_death(&self) -> Option<FlowError> {
        self.dead.borrow().clone()
    }

    fn explain(&self, message: &str) -> String {
        if self.is_late() {
            format!("ran for {} ms without yielding (limits.yieldMs)", self.limits.yield_ms)
        } else if message.contains("out of memory") {
            format!("used more than {} MB of memory (limits.memoryMb)", self.limits.memory_bytes >> 20)
        } else {
            message.trim_start_matches("Error: ").to_owned()
        }
    }

    fn current_token(&self) -> u32 {
        let late = self.deadline.replace(None);
        let token = self.context.with(|ctx| -> rquickjs::Result<u32> {
            let host: Object = ctx.globals().get("__flowglass_host")?;
            host.get::<_, Function>("current")?.call(())
        });
        self.deadline.set(late);
        token.unwrap_or(LOAD)
    }
}

/// What was thrown: `Name: message`, then the stack.
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

/// Puts the native functions where the SDK finds them.
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
            if op == "apply" {
                *seen.open.borrow_mut().entry(token).or_insert(0) += 1;
            }
            let (stop, stopped) = oneshot::channel();
            seen.stops.borrow_mut().insert(id as u64, stop);
            // The receiver lives as long as the run; after it, nobody waits for an answer.
            let _ = seen.questions.unbounded_send(Question { id, op, token, payload, stopped });
        })?,
    )?;
    let seen = shared.clone();
    native.set(
        "done",
        Function::new(ctx.clone(), move |call: u32, tag: String, payload: String| {
            // A call that was given up may come back all the same.
            let Some(waiting) = seen.calls.borrow_mut().remove(&call) else { return };
            let answer = match tag.as_str() {
                "undefined" => Answer::Undefined,
                "value" => Answer::Value(payload),
                "block" => Answer::Block(payload),
                "blocks" => Answer::Blocks(payload),
                "model" => Answer::Model(payload),
                _ => Answer::Error(payload),
            };
            // A caller that went away was aborted.
            let _ = waiting.answer.send(answer);
        })?,
    )?;
    crate::vm::fields::install(ctx, &native, shared)?;
    native.set("isProxy", Function::new(ctx.clone(), |value: rquickjs::Value<'_>| value.is_proxy())?)?;
    let mut options = EvalOptions::default();
    options.filename = Some("waiting.js".to_owned());
    native.set("waiting", ctx.eval_with_options::<Function, _>(WAITING, options)?)?;
    ctx.globals().set("__flowglass", native)
}
