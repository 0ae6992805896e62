//! The interpreter of a chain: one operation after another, each given what the last one made.
//!
//! SEMANTICS §3. A child block commits its own step boundary; a callback of the chain (map, condition, tap,
//! connector) that wrote durable records commits when it returns (ARCHITECTURE §3.5). Branches that run at once are
//! in `fanout`, background work is in `background`.

use futures_util::FutureExt;

use crate::execution::ctx::Context;
use crate::execution::drivers::chain::background;
use crate::execution::drivers::chain::fanout;
use crate::execution::drivers::chain::passes::Passes;
use crate::execution::drivers::chain::waiting::wait_for;
use crate::execution::step::block::run_block;
use crate::execution::step::callback;
use crate::model::callable::{Arg, Fun, Returned};
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::flow::{Child, Operation, Step};
use crate::model::path::encode;
use crate::model::step_value::StepValue;

/// `doUntil` and `doWhile` repeat at most this often after the first run (SEMANTICS §3.4).
const LOOP_GUARD: u32 = 250;

/// Where the chain goes after an operation.
enum Next {
    Step(StepValue),
    Exit(StepValue),
    Jump(usize, StepValue),
}

/// A chain while it runs.
pub(crate) struct Chain<'a> {
    pub(crate) cx: &'a Context,
    steps: &'a [Step],
    passes: Passes,
    /// The path prefix of the step that runs, from the passes of loopBacks around it.
    pass: String,
    /// The label of the step that runs; the names of its callbacks begin with it.
    label: &'a str,
}

/// Runs the steps on a value.
pub(crate) async fn run_steps(cx: &Context, steps: &[Step], input: StepValue) -> Result<StepValue, FlowError> {
    cx.run.alignment.check(&cx.frame.path, steps)?;
    let mut chain = Chain { cx, steps, passes: Passes::default(), pass: String::new(), label: "" };
    let mut value = input;
    let mut at = 0;
    while let Some(step) = steps.get(at) {
        // Nothing starts between steps after an abort (SEMANTICS §1.3).
        if cx.run.abort.is_set() {
            return Err(FlowError::aborted());
        }
        let before = chain.stamp();
        let next = chain.run_step(at, step, value).await?;
        if chain.stamp() != before {
            cx.frame.last_step.replace(Some(step.operation.target_name()));
        }
        match next {
            Next::Step(next) => {
                value = next;
                at += 1;
            }
            Next::Exit(last) => return Ok(last),
            Next::Jump(target, carried) => {
                value = carried;
                at = target;
            }
        }
    }
    Ok(value)
}

impl<'a> Chain<'a> {
    /// Returns the path of an operation's child, with the passes of the loopBacks around it.
    pub(crate) fn path(&self, segment: &str) -> String {
        format!("{}/{}{segment}", self.cx.frame.path, self.pass)
    }

    /// Returns the stamp of the sequencer's own state, which changes whenever the state does.
    fn stamp(&self) -> Option<u64> {
        self.cx.frame.own.as_ref().map(|own| own.read().0)
    }

    async fn run_step(&mut self, at: usize, step: &'a Step, value: StepValue) -> Result<Next, FlowError> {
        self.label = &step.label;
        self.pass = self.passes.before(at, |at| &self.steps[at].segment);
        let path = self.path(&step.segment);
        let next = match &step.operation {
            Operation::Step(child) => self.run_child(path, child, value).await?,
            Operation::StepIf { condition, child } => {
                if self.holds(condition, &value).await? {
                    self.run_child(path, child, value).await?
                } else {
                    value
                }
            }
            Operation::Map(map) | Operation::ConnectInput(map) => {
                let mapped = self.call("", map, &value).await?.into_data()?;
                if mapped == value.data { value } else { StepValue::new(mapped) }
            }
            Operation::Tap(child) => {
                self.run_child(path, child, value.clone()).await?;
                value
            }
            Operation::TapCall(tap) => {
                self.call("", tap, &value).await?;
                value
            }
            Operation::TapIf { condition, child } => {
                if self.holds(condition, &value).await? {
                    self.run_child(path, child, value.clone()).await?;
                }
                value
            }
            Operation::TapCallIf { condition, call } => {
                if self.holds(condition, &value).await? {
                    self.call("call", call, &value).await?;
                }
                value
            }
            Operation::ExitIf(condition) => {
                return Ok(if self.holds(condition, &value).await? { Next::Exit(value) } else { Next::Step(value) });
            }
            Operation::ThrowIf { condition, call } => {
                if self.holds(condition, &value).await? {
                    self.call("call", call, &value).await?;
                }
                value
            }
            Operation::Parallel { arms, limit } => fanout::parallel(self, &path, arms, *limit, value).await?,
            Operation::StepAll { arms, limit } => fanout::step_all(self, &path, arms, *limit, value).await?,
            Operation::StepAny { arms } => fanout::step_any(self, &path, arms, value).await?,
            Operation::Race { arms, limit } => fanout::race(self, &path, arms, *limit, value).await?,
            Operation::ForEach { connector, each, limit } => {
                fanout::for_each(self, &step.segment, connector.as_ref(), each, *limit, value).await?
            }
            Operation::ForEachBackground { connector, each, limit } => {
                background::for_each(self, &step.segment, connector.as_ref(), each, *limit, value).await?
            }
            Operation::Branch { arms } => {
                for arm in arms {
                    let input = self.connect(arm.child.connector.as_ref(), value.clone()).await?;
                    let Some(condition) = &arm.condition else { continue };
                    if self.holds(condition, &input).await? {
                        // `branch:<key>`, or `branch~2:<key>` for the second branch of a chain.
                        let path = self.path(&format!("{}:{}", step.segment, encode(&arm.key)));
                        return self.dispatch(path, &arm.child, input).await.map(Next::Step);
                    }
                }
                return Err(FlowError::plain("branch had no matching route"));
            }
            Operation::Loop { condition, until, child } => {
                self.repeat(&path, &step.operation, condition, *until, child, value).await?
            }
            Operation::LoopBack { target, when, max_iterations } => {
                return self.loop_back(at, target, when.as_ref(), *max_iterations, value).await;
            }
            Operation::Work { condition, child, .. } => {
                let wanted = match condition {
                    Some(condition) => self.holds(condition, &value).await?,
                    None => true,
                };
                if wanted {
                    let input = self.connect(child.connector.as_ref(), value.clone()).await?;
                    background::start(self.cx, path, child.block.clone(), input).await;
                }
                value
            }
            Operation::WaitForWork { fail_on_error, timeout_ms } => {
                background::wait(self.cx, *fail_on_error, *timeout_ms).await?;
                value
            }
            Operation::WaitForCondition { condition, wake_on, timeout_ms } => {
                wait_for(self, condition, wake_on.as_ref(), *timeout_ms).await?
            }
        };
        Ok(Next::Step(next))
    }

    async fn repeat(
        &self,
        path: &str,
        operation: &Operation,
        condition: &Fun,
        until: bool,
        child: &Child,
        value: StepValue,
    ) -> Result<StepValue, FlowError> {
        let mut value = self.connect(child.connector.as_ref(), value).await?;
        for iteration in 0..=LOOP_GUARD {
            value = self.dispatch(format!("{path}[{iteration}]"), child, value).await?;
            if self.holds(condition, &value).await? == until {
                return Ok(value);
            }
            if self.cx.run.abort.is_set() {
                return Err(FlowError::aborted());
            }
        }
        Err(FlowError::plain(format!("{} exceeded max loop guard ({LOOP_GUARD})", operation.name())))
    }

    async fn loop_back(
        &mut self,
        at: usize,
        target: &str,
        when: Option<&Fun>,
        max_iterations: u32,
        value: StepValue,
    ) -> Result<Next, FlowError> {
        let again = match when {
            Some(when) => self.holds(when, &value).await?,
            None => true,
        };
        if !again || self.passes.jumps(at) >= max_iterations {
            return Ok(Next::Step(value));
        }
        let Some(index) = self.steps.iter().position(|step| step.operation.target_name() == target) else {
            return Err(FlowError::plain(format!(
                "loopBack target \"{target}\" was not found in sequencer \"{}\"",
                self.cx.frame.block.name
            )));
        };
        self.passes.jump(at, index);
        Ok(Next::Jump(index, value))
    }

    async fn run_child(&self, path: String, child: &Child, value: StepValue) -> Result<StepValue, FlowError> {
        if !child.options.is_empty() {
            // Boxed, so that the future of a step without options stays small.
            return self.run_with_options(path, child, value).boxed_local().await;
        }
        self.connect_and_dispatch(path, child, value).await
    }

    pub(crate) async fn connect_and_dispatch(
        &self,
        path: String,
        child: &Child,
        value: StepValue,
    ) -> Result<StepValue, FlowError> {
        let input = self.connect(child.connector.as_ref(), value).await?;
        self.dispatch(path, child, input).await
    }

    async fn dispatch(&self, path: String, child: &Child, input: StepValue) -> Result<StepValue, FlowError> {
        run_block(self.cx.run.clone(), child.block.clone(), Some(self.cx.frame.clone()), path, input).await
    }

    /// Returns the input that a connector makes of the chain's value.
    pub(crate) async fn connect(&self, connector: Option<&Fun>, value: StepValue) -> Result<StepValue, FlowError> {
        let Some(connector) = connector else { return Ok(value) };
        let connected = self.call("connector", connector, &value).await?.into_data()?;
        Ok(if connected == value.data { value } else { StepValue::new(connected) })
    }

    async fn holds(&self, condition: &Fun, value: &StepValue) -> Result<bool, FlowError> {
        Ok(self.call("condition", condition, value).await?.into_data()?.is_truthy())
    }

    async fn call(&self, role: &str, function: &Fun, value: &StepValue) -> Result<Returned, FlowError> {
        self.call_with(role, function, vec![value.argument()]).await
    }

    /// Calls a function of the chain and commits what it wrote.
    pub(crate) async fn call_with(&self, role: &str, function: &Fun, args: Vec<Arg>) -> Result<Returned, FlowError> {
        callback::call(self.cx, &format!("{}{}.{role}", self.pass, self.label), function, args).await
    }

    /// Returns `role` with a number under which the log holds no call of it yet: a resume calls such a function again.
    pub(crate) fn unused_role(&self, role: &str) -> String {
        let log = &self.cx.run.replay_cache;
        let is_unused = |role: &String| {
            let name = format!("{}{}.{role}#0", self.pass, self.label);
            log.callback(&self.cx.frame.path, &name).is_none()
        };
        (0u32..).map(|nth| format!("{role}[{nth}]")).find(is_unused).unwrap_or_default()
    }

    /// Records the list that the operation runs over: see [`callback::record_list`].
    pub(crate) fn record_list(&self, list: StepValue) -> StepValue {
        callback::record_list(self.cx, &format!("{}{}.list", self.pass, self.label), list)
    }

    /// Returns the block for one item, fixed or made by the factory, with its path.
    pub(crate) async fn block_of(
        &self,
        segment: &str,
        each: &crate::model::flow::Each,
        item: &Data,
        index: usize,
    ) -> Result<(String, std::rc::Rc<crate::model::flow::Block>), FlowError> {
        match each {
            crate::model::flow::Each::Block(block) => Ok((self.path(&format!("{segment}[{index}]")), block.clone())),
            crate::model::flow::Each::Factory(factory) => {
                let args = vec![Arg::Data(item.clone()), Arg::Data(serde_json::Value::from(index).into())];
                let Returned::Block(block) = self.call_with("factory", factory, args).await? else {
                    return Err(FlowError::plain("forEach: the factory must return a block"));
                };
                // `forEach~2` of a second factory becomes `forEach:<block>~2[n]`.
                let (operation, repeat) = segment.split_once('~').unwrap_or((segment, ""));
                let repeat = if repeat.is_empty() { String::new() } else { format!("~{repeat}") };
                let path = self.path(&format!("{operation}:{}{repeat}[{index}]", encode(&block.name)));
                Ok((path, block))
            }
        }
    }
}
