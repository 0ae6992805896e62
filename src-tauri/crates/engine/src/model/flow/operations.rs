//! The operations of a chain, and their segments (SEMANTICS §3.1 and SEMANTICS §3.2).

use std::rc::Rc;

use super::Block;
use crate::model::callable::Fun;
use crate::model::path::{Numbering, encode};

/// One operation of a sequencer with its place in the paths.
pub struct Step {
    /// What it does.
    pub operation: Operation,
    /// Its segment, numbered within the chain; empty for operations that run no block.
    pub segment: String,
    /// Its name in the names of its callbacks: the segment, or `map`, `map~2` for operations without one.
    pub label: String,
}

/// The operations of the chain (SEMANTICS §3.1).
pub enum Operation {
    /// `step`: the child's output flows on.
    Step(Child),
    /// `stepIf`: as `step` when the condition holds, else the value flows on.
    StepIf { condition: Fun, child: Child },
    /// `map`: a function, no block.
    Map(Fun),
    /// `connectInput` of a sequencer: as `map`, before the first operation; a `loopBack` to `map` does not find it.
    ConnectInput(Fun),
    /// `tap(block)`: a side effect; the value flows on.
    Tap(Child),
    /// `tap(fn)`.
    TapCall(Fun),
    /// `tapIf(condition, block)`.
    TapIf { condition: Fun, child: Child },
    /// `tapIf(condition, fn)`.
    TapCallIf { condition: Fun, call: Fun },
    /// `exitIf`: the chain ends with the value.
    ExitIf(Fun),
    /// `throwIf`: the call throws.
    ThrowIf { condition: Fun, call: Fun },
    /// `parallel`: an object of outputs, keyed like the arms.
    Parallel { arms: Vec<Arm>, limit: Option<usize> },
    /// `stepAll`: a list of outputs, in the arms' order.
    StepAll { arms: Vec<Arm>, limit: Option<usize> },
    /// `stepAny`: one after another, until one succeeds.
    StepAny { arms: Vec<Arm> },
    /// `race`: together; the first success is the value.
    Race { arms: Vec<Arm>, limit: Option<usize> },
    /// `branch`: the first arm whose condition holds.
    Branch { arms: Vec<Arm> },
    /// `forEach`: a list of outputs, in the items' order.
    ForEach { connector: Option<Fun>, each: Each, limit: Option<usize> },
    /// `forEachBackground`: as background work; the value flows on.
    ForEachBackground { connector: Option<Fun>, each: Each, limit: usize },
    /// `doUntil` and `doWhile`: at least once, then as the condition on the output says.
    Loop { condition: Fun, until: bool, child: Child },
    /// `loopBack`: jumps to the first operation of that name.
    LoopBack { target: String, when: Option<Fun>, max_iterations: u32 },
    /// `work` and `workIf`: runs in the background.
    Work { condition: Option<Fun>, child: Child, name: Option<String> },
    /// `waitForWork`: waits for this sequencer's background work.
    WaitForWork { fail_on_error: bool, timeout_ms: Option<u64> },
    /// `waitForCondition`: waits for a condition on the request's items; `{ timedOut }` flows on.
    WaitForCondition { condition: Fun, wake_on: Option<Fun>, timeout_ms: u64 },
}

/// One of several branches.
pub struct Arm {
    /// Its key, where the author gave one.
    pub key: String,
    /// Whether it runs, for `branch`.
    pub condition: Option<Fun>,
    /// What runs.
    pub child: Child,
}

/// The block of each item.
pub enum Each {
    /// The same for all.
    Block(Rc<Block>),
    /// Made from `(item, index, ctx)`.
    Factory(Fun),
}

impl Operation {
    /// The operation's name as authors write it.
    pub fn name(&self) -> &'static str {
        match self {
            Operation::Step(_) => "step",
            Operation::StepIf { .. } => "stepIf",
            Operation::Map(_) => "map",
            Operation::ConnectInput(_) => "connectInput",
            Operation::Tap(_) | Operation::TapCall(_) => "tap",
            Operation::TapIf { .. } | Operation::TapCallIf { .. } => "tapIf",
            Operation::ExitIf(_) => "exitIf",
            Operation::ThrowIf { .. } => "throwIf",
            Operation::Parallel { .. } => "parallel",
            Operation::StepAll { .. } => "stepAll",
            Operation::StepAny { .. } => "stepAny",
            Operation::Race { .. } => "race",
            Operation::Branch { .. } => "branch",
            Operation::ForEach { .. } => "forEach",
            Operation::ForEachBackground { .. } => "forEachBackground",
            Operation::Loop { until: true, .. } => "doUntil",
            Operation::Loop { until: false, .. } => "doWhile",
            Operation::LoopBack { .. } => "loopBack",
            Operation::Work { .. } => "work",
            Operation::WaitForWork { .. } => "waitForWork",
            Operation::WaitForCondition { .. } => "waitForCondition",
        }
    }

    /// The name that `loopBack` finds it by (SEMANTICS §3.4).
    pub fn target_name(&self) -> String {
        match self {
            Operation::Step(child) => child.block.name.to_string(),
            Operation::StepIf { child, .. } => format!("if:{}", child.block.name),
            Operation::Work { child, name, .. } => name.clone().unwrap_or_else(|| format!("work:{}", child.block.name)),
            other => other.name().to_owned(),
        }
    }

    /// The blocks it may run.
    pub fn blocks(&self) -> Vec<&Rc<Block>> {
        match self {
            Operation::Step(child)
            | Operation::Tap(child)
            | Operation::StepIf { child, .. }
            | Operation::TapIf { child, .. }
            | Operation::Loop { child, .. }
            | Operation::Work { child, .. } => vec![&child.block],
            Operation::Parallel { arms, .. }
            | Operation::StepAll { arms, .. }
            | Operation::StepAny { arms }
            | Operation::Race { arms, .. }
            | Operation::Branch { arms } => arms.iter().map(|arm| &arm.child.block).collect(),
            Operation::ForEach { each: Each::Block(block), .. }
            | Operation::ForEachBackground { each: Each::Block(block), .. } => vec![block],
            _ => Vec::new(),
        }
    }
}

/// A block in a chain, with the function that makes its input.
pub struct Child {
    /// Maps the chain's value to the block's input.
    pub connector: Option<Fun>,
    /// What runs.
    pub block: Rc<Block>,
    /// What its step says beside it.
    pub options: StepOptions,
}

/// What `step` and `stepIf` may say beside their block (SEMANTICS §3.7).
#[derive(Default)]
pub struct StepOptions {
    /// `abortSignal`: called with the path of the block before that is dispatched.
    pub signal: Option<Fun>,
    /// `onSettled`: called with how the block's dispatch ended: `returned`, `threw` or `suspended`.
    pub settled: Option<Fun>,
}

impl StepOptions {
    /// Returns whether the step says nothing.
    pub fn is_empty(&self) -> bool {
        self.signal.is_none() && self.settled.is_none()
    }
}

/// Gives every operation its segment and label (SEMANTICS §3.2). Operations count whether they run or not.
pub fn number_steps(operations: Vec<Operation>) -> Vec<Step> {
    let (mut numbering, mut labels) = (Numbering::default(), Numbering::default());
    operations
        .into_iter()
        .map(|operation| {
            let named = |operation: &str, block: &Rc<Block>| format!("{operation}:{}", encode(&block.name));
            let segment = match &operation {
                Operation::Step(child) => Some(named("step", &child.block)),
                Operation::StepIf { child, .. } => Some(named("stepIf", &child.block)),
                Operation::Tap(child) | Operation::TapIf { child, .. } => Some(named("tap", &child.block)),
                Operation::Work { child, .. } => Some(named("work", &child.block)),
                Operation::Loop { child, .. } => Some(named(operation.name(), &child.block)),
                Operation::ForEach { each: Each::Block(block), .. }
                | Operation::ForEachBackground { each: Each::Block(block), .. } => Some(named(operation.name(), block)),
                Operation::ForEach { .. }
                | Operation::ForEachBackground { .. }
                | Operation::Parallel { .. }
                | Operation::StepAll { .. }
                | Operation::StepAny { .. }
                | Operation::Race { .. }
                | Operation::Branch { .. } => Some(operation.name().to_owned()),
                Operation::LoopBack { .. } => Some("loop".to_owned()),
                _ => None,
            };
            let segment = segment.map(|segment| numbering.number(segment)).unwrap_or_default();
            let label = if segment.is_empty() { labels.number(operation.name().to_owned()) } else { segment.clone() };
            Step { operation, segment, label }
        })
        .collect()
}
