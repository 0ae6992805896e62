//! What the probes of a bundle record while its blocks run again: statements in their order, and values at statements.
//!
//! Expressions of a question are run apart: what they throw, and a time of their own, end the expression and not the
//! replay. While one runs, nothing may be asked that the outside would answer. Must not know why a question is asked.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

use rquickjs::promise::PromiseState;
use rquickjs::{Coerced, Ctx, Function, Object, Value as JsValue};
use serde_json::{Value, json};

use crate::vm::Shared;
use crate::vm::covered::Recorder;
use crate::vm::deadline::Deadline;
use crate::vm::memory::Meter;
use crate::vm::probed::{Asked, Execution, Hit, Probed, Stretch, Traced};

/// How long one expression may run.
const EXPRESSION_TIME: Duration = Duration::from_millis(1000);

/// Operations of the host that tell what is, and neither change anything nor ask the outside. The text and the list of
/// resources are not among them: reading them records which version a block saw.
const READS: [&str; 25] = [
    "read",
    "chunk",
    "info",
    "items",
    "target",
    "relative.kind",
    "relative.facts",
    "relative.input",
    "blockResult",
    "blockOutput",
    "wasRescued",
    "resources",
    "url",
    "journal.read",
    "metadata.read",
    "usage",
    "hasOnce",
    "visibility",
    "pattern",
    "digest",
    "locale",
    "zone_change",
    "zone_changes",
    "zone_offset",
    "zone_offset_of_local",
];

/// The token of expressions and of all that they start, as the SDK has it.
const ASIDE: u32 = u32::MAX;

/// How many conditions that run for too long end a question.
const MAX_LATE: u64 = 3;

/// The probes of one runtime.
pub(crate) struct Probe {
    asked: Asked,
    /// Records what each execution runs, if that is asked or statements are followed.
    recorder: Option<RefCell<Recorder>>,
    executions: RefCell<Vec<Execution>>,
    /// The places in `executions`.
    numbers: RefCell<HashMap<Execution, usize>>,
    /// How many statements of each execution ran, by their numbers.
    ticks: RefCell<HashMap<u32, u64>>,
    probed: RefCell<Probed>,
    /// When the expression that runs now must have ended.
    expression_ends: Cell<Option<Deadline>>,
    memory: Rc<Meter>,
}

impl Probe {
    /// With `follows`, which statements each execution runs is recorded as well.
    pub(crate) fn new(asked: Asked, follows: bool, memory: Rc<Meter>) -> Probe {
        let recorder = match asked {
            Asked::Coverage => Some(Recorder::of_all()),
            _ => follows.then(Recorder::of_digests),
        };
        Probe {
            asked,
            recorder: recorder.map(RefCell::new),
            executions: RefCell::default(),
            numbers: RefCell::default(),
            ticks: RefCell::default(),
            probed: RefCell::default(),
            expression_ends: Cell::default(),
            memory,
        }
    }

    /// Whether an expression has run for too long.
    pub(crate) fn is_late(&self) -> bool {
        self.expression_ends.get().is_some_and(|end| end.is_past())
    }

    /// Whether all that was asked for is recorded.
    pub(crate) fn is_done(&self) -> bool {
        self.probed.borrow().is_full
    }

    /// Fails if an operation of the host may not be asked for now.
    pub(crate) fn check(&self, op: &str, token: u32) -> Result<(), String> {
        let is_question = self.expression_ends.get().is_some() || token == ASIDE;
        if let Some(recorder) = self.recorder.as_ref().filter(|_| !is_question) {
            recorder.borrow_mut().asked(op);
        }
        if !is_question || READS.contains(&op) || op.starts_with("probe") {
            return Ok(());
        }
        Err(format!("an expression only looks: the recording has no answer for \"{op}\""))
    }

    /// Returns and forgets what was recorded.
    pub(crate) fn take(&self) -> Probed {
        let mut probed = std::mem::take(&mut *self.probed.borrow_mut());
        if let Some(recorder) = &self.recorder {
            recorder.take().write(&self.executions.borrow(), &mut probed);
        }
        probed
    }

    /// Says what is asked of the execution behind a token, as JSON. `None` for code of no block.
    fn execution(&self, shared: &Shared, token: u32) -> Option<String> {
        let contexts = shared.contexts.borrow();
        let frame = &contexts.get(&token)?.frame;
        let execution = Execution { path: frame.path.clone(), attempt: frame.attempt };
        let at = *self.numbers.borrow_mut().entry(execution.clone()).or_insert_with(|| {
            self.executions.borrow_mut().push(execution.clone());
            self.executions.borrow().len() - 1
        });
        let (mut reports, mut traces, mut ticks) = (self.recorder.is_some(), false, (u64::from(u32::MAX), 0));
        match &self.asked {
            Asked::Counts { .. } | Asked::Order => reports = true,
            Asked::Trace { of, .. } if *of == execution => (reports, traces) = (true, true),
            Asked::Values { of, ticks: asked, .. } if of.as_ref().is_none_or(|of| *of == execution) => ticks = *asked,
            _ => {}
        }
        let (from, to) = ticks;
        let answer = json!({ "id": at + 1, "reports": reports, "traces": traces, "from": from, "to": to });
        Some(answer.to_string())
    }

    /// Serves a synchronous call of a probe.
    pub(crate) fn sync(&self, shared: &Shared, op: &str, token: u32) -> Option<String> {
        match (op, &self.asked) {
            ("probe", _) => self.execution(shared, token),
            ("probe.secrets", _) => Some(json!(shared.load_time.secret_names()).to_string()),
            ("probe.path", Asked::Values { open, .. }) => open.as_ref().map(Value::to_string),
            _ => None,
        }
    }

    fn traced(&self, shared: &Shared, site: u32, call: u32, order: u64, id: u32) {
        if let Some(recorder) = &self.recorder {
            recorder.borrow_mut().ran(id, site, order, || shared.newest_event());
        }
        let mut probed = self.probed.borrow_mut();
        let most = match &self.asked {
            Asked::Order => return self.ran(&mut probed.stretches, order, id),
            Asked::Trace { of, most } if self.recorder.is_none() || self.is_of(id, of) => most,
            Asked::Counts { by_event } => {
                let seq = if *by_event { shared.newest_event() } else { 0 };
                *probed.counts.entry((site, seq)).or_default() += 1;
                return;
            }
            _ => return,
        };
        probed.ticks += 1;
        // More is refused.
        probed.is_full = probed.ticks > *most as u64;
        if !probed.is_full {
            let seq = shared.newest_event();
            probed.trace.push(Traced { site, call, order, seq });
        }
    }

    /// Whether an execution has a number.
    fn is_of(&self, id: u32, execution: &Execution) -> bool {
        self.executions.borrow().get((id as usize).wrapping_sub(1)) == Some(execution)
    }

    fn ran(&self, stretches: &mut Vec<Stretch>, order: u64, id: u32) {
        let executions = self.executions.borrow();
        let Some(execution) = executions.get((id as usize).wrapping_sub(1)) else { return };
        let mut ticks = self.ticks.borrow_mut();
        let tick = ticks.entry(id).or_default();
        *tick += 1;
        match stretches.last_mut() {
            Some(last) if last.order + last.count == order && last.execution == *execution => last.count += 1,
            _ => stretches.push(Stretch { execution: execution.clone(), tick: *tick, order, count: 1 }),
        }
    }

    fn entered(&self, call: u32, from: u32) {
        if matches!(self.asked, Asked::Trace { .. }) {
            self.probed.borrow_mut().callers.insert(call, from);
        }
    }

    fn took(&self, shared: &Shared, hit: Hit) {
        let Asked::Values { limit, .. } = &self.asked else { return };
        let mut probed = self.probed.borrow_mut();
        if probed.hits.len() < *limit {
            probed.hits.push(Hit { stack: shared.trace.map_text(&hit.stack), ..hit });
        }
        probed.is_full = probed.hits.len() >= *limit;
    }

    fn changed(&self, id: u32, tick: u64, name: u32) {
        let execution = self.executions.borrow().get((id as usize).wrapping_sub(1)).cloned();
        let mut probed = self.probed.borrow_mut();
        if let Some(execution) = execution.filter(|_| probed.changed.is_none()) {
            probed.changed = Some((name, execution, tick));
        }
    }

    /// Runs an expression with limits of its own, and says which one it has reached, if it has. The runtime goes on
    /// after it, unless it has no memory left.
    fn apart<T>(
        &self,
        ctx: &Ctx<'_>,
        run: impl FnOnce() -> rquickjs::Result<T>,
    ) -> (rquickjs::Result<T>, Option<String>) {
        self.expression_ends.set(Some(Deadline::of_processor(EXPRESSION_TIME)));
        let result = run();
        let is_late = self.is_late();
        self.expression_ends.set(None);
        if self.memory.is_exceeded() {
            drop(result);
            ctx.catch();
            let limit = format!("it used more than {} MB of memory (limits.memoryMb)", self.memory.limit() >> 20);
            self.memory.recover(ctx, crate::vm::STACK_BYTES);
            return (Err(rquickjs::Error::Exception), Some(limit));
        }
        let limit = (is_late && result.is_err()).then(|| format!("it ran for {} ms", EXPRESSION_TIME.as_millis()));
        (result, limit)
    }

    /// Runs an expression apart.
    fn attempt<'js>(&self, ctx: &Ctx<'js>, thunk: &Function<'js>) -> rquickjs::Result<Object<'js>> {
        let (result, limit) = self.apart(ctx, || thunk.call::<_, JsValue<'js>>(()));
        let answer = Object::new(ctx.clone())?;
        match result {
            Ok(value) => {
                answer.set("ok", true)?;
                answer.set("value", value)?;
            }
            Err(error) => {
                answer.set("ok", false)?;
                let caught = ctx.catch();
                if let Some(limit) = limit {
                    let error = Object::new(ctx.clone())?;
                    error.set("name", "LimitError")?;
                    error.set("message", limit.replacen("it", "the expression", 1))?;
                    answer.set("value", error)?;
                } else if caught.is_undefined() && !matches!(error, rquickjs::Error::Exception) {
                    answer.set("value", error.to_string())?;
                } else {
                    answer.set("value", caught)?;
                }
            }
        }
        Ok(answer)
    }

    /// Whether a condition holds; one that fails does not.
    fn holds<'js>(&self, ctx: &Ctx<'js>, condition: &Function<'js>) -> bool {
        let (result, limit) = self.apart(ctx, || condition.call::<_, Coerced<bool>>(()));
        self.probed.borrow_mut().asked_conditions += 1;
        if result.is_err() {
            // What it threw must not reach the flow.
            let thrown = ctx.catch();
            let mut probed = self.probed.borrow_mut();
            probed.failed_conditions += 1;
            probed.is_full |= limit.is_some() && probed.failed_conditions >= MAX_LATE;
            let text = |name: &str| thrown.as_object().and_then(|error| error.get::<_, String>(name).ok());
            let said = || match (text("name"), text("message")) {
                (None, None) => "it threw what is no error".to_owned(),
                (name, message) => format!("{}: {}", name.unwrap_or_default(), message.unwrap_or_default()),
            };
            probed.condition_error.get_or_insert_with(|| limit.unwrap_or_else(said));
        }
        result.is_ok_and(|holds| holds.0)
    }
}

/// The state of a promise, as the SDK counts them; -1 for another value.
fn promise_state(value: &JsValue<'_>) -> i32 {
    value.as_promise().map_or(-1, |promise| match promise.state() {
        PromiseState::Pending => 0,
        PromiseState::Resolved => 1,
        PromiseState::Rejected => 2,
    })
}

/// The value that a promise was fulfilled with, or why it was rejected.
fn promise_result<'js>(ctx: &Ctx<'js>, value: &JsValue<'js>) -> JsValue<'js> {
    match value.as_promise().and_then(rquickjs::Promise::result::<JsValue<'js>>) {
        Some(Ok(result)) => result,
        Some(Err(_)) => ctx.catch(),
        None => JsValue::new_undefined(ctx.clone()),
    }
}

/// Installs what the SDK's probes call.
pub(crate) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, shared: &Rc<Shared>) -> rquickjs::Result<()> {
    let Some(probe) = shared.probe.clone() else { return Ok(()) };
    let (own, seen) = (probe.clone(), shared.clone());
    let traced = move |site: u32, call: u32, order: f64, id: u32| own.traced(&seen, site, call, order as u64, id);
    native.set("traced", Function::new(ctx.clone(), traced)?)?;
    let own = probe.clone();
    native.set("entered", Function::new(ctx.clone(), move |call: u32, from: u32| own.entered(call, from))?)?;
    native.set("promiseState", Function::new(ctx.clone(), |value: JsValue<'js>| promise_state(&value))?)?;
    let result = |ctx: Ctx<'js>, value: JsValue<'js>| promise_result(&ctx, &value);
    native.set("promiseResult", Function::new(ctx.clone(), result)?)?;
    let own = probe.clone();
    let changed = move |id: u32, tick: f64, name: u32| own.changed(id, tick as u64, name);
    native.set("changed", Function::new(ctx.clone(), changed)?)?;
    let own = probe.clone();
    let holds = move |ctx: Ctx<'js>, condition: Function<'js>| own.holds(&ctx, &condition);
    native.set("holds", Function::new(ctx.clone(), holds)?)?;
    let own = probe.clone();
    native.set(
        "attempt",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, thunk: Function<'js>| own.attempt(&ctx, &thunk))?,
    )?;
    let seen = shared.clone();
    let took = move |id: u32, tick: f64, site: u32, order: f64, values: String, stack: String| {
        let execution = probe.executions.borrow().get((id as usize).wrapping_sub(1)).cloned();
        let Some(execution) = execution else {
            probe.probed.borrow_mut().is_outside = true;
            return;
        };
        let wrong = |error: serde_json::Error| json!([{ "error": { "name": "Error", "message": error.to_string() } }]);
        let values = engine::data::parse(&values).unwrap_or_else(wrong);
        probe.took(
            &seen,
            Hit { execution, tick: tick as u64, site, order: order as u64, seq: seen.newest_event(), values, stack },
        );
    };
    native.set("took", Function::new(ctx.clone(), took)?)
}
