//! A tick: one model call, and the Calls of its solution in the order of their data.
//!
//! It returns everything that the next request gets to know, so that a tick taken from the log is as good as one that
//! ran: `{ messages, done, output, refused? }`.

use std::collections::BTreeMap;
use std::rc::Rc;

use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::{Value, json};

use super::messages::kind;
use super::order::Order;
use super::plan::{Checked, Plan, check, instance_of, ready};
use super::problem::{Kind, feedback, is_of, problem};
use super::references::{self, Expression, Reference, refuses};
use super::{blocks, confirm, json_schema, number, results, solution, tools};
use engine::context::Context;
use engine::data::Data;
use engine::driver::BlockRole;
use engine::driver::run_block;
use engine::driver::run_block_as;
use engine::driver::start_in_background;
use engine::error::FlowError;
use engine::flow::{CallAgent, ResultCheck};
use engine::path::{encode, join};
use engine::step_value::StepValue;

/// How many Calls of a cycle its error names.
const MAX_NAMED: usize = 8;

/// How many of the results that a Call waited for are written down with it: the newest, which are those it reads most
/// often. All of them would make a chain of a thousand Calls write half a million.
const MAX_EARLIER: usize = 100;

/// What became of a Call.
enum End {
    /// The messages that hold its result; none for a Call without an output path.
    Done(Rc<[Value]>),
    Failed(FlowError),
    /// It reads an alternative that its writer did not choose.
    Skipped,
}

/// Runs a tick.
pub(super) async fn run(cx: &Context, of: &Rc<CallAgent>, input: &Value) -> Result<StepValue, FlowError> {
    let name = input["name"].as_str().unwrap_or_default();
    let path = join(&cx.frame.path, "request");
    let mut asked = json!({ "tick": input["tick"], "context": input["context"] });
    if let Some(schema) = input.get("schema") {
        asked["schema"] = schema.clone();
    }
    let request = run_block(
        cx.run.clone(),
        blocks::request(of, name),
        Some(cx.frame.clone()),
        path,
        StepValue::new(asked.into()),
    );
    let answer = request.await?.data.to_json();
    let ended = |messages: Vec<Value>, done: bool, output: Value| {
        StepValue::new(json!({ "messages": messages, "done": done, "output": output }).into())
    };
    let (calls, output) = match solution::read(answer) {
        Ok(solution) => solution,
        Err(what) => {
            let error = problem(Kind::Solution, what.clone());
            let mut output = ended(vec![feedback(None, None, &error)], false, Value::Null).data.to_json();
            output["refused"] = what.into();
            return Ok(StepValue::new(output.into()));
        }
    };
    if !calls.is_empty() {
        let mut messages = Calls::new(cx, of, input, calls.clone())?.run().await?;
        let has_plan = |context: &Vec<Value>| context.iter().any(|message| kind(message) == "plan");
        if input["context"].as_array().is_some_and(has_plan) {
            // What was called is the plan that the next request goes on with, in place of the one before.
            messages.push(json!({ "type": "plan", "plan": calls }));
        }
        return Ok(ended(messages, false, output));
    }
    if let Some(found) = input.get("schema").and_then(|schema| json_schema::misfit(schema, &output)) {
        let error = problem(Kind::Output, format!("the output does not fit its schema: {found}"));
        return Ok(ended(vec![feedback(None, None, &error)], false, Value::Null));
    }
    Ok(ended(Vec::new(), true, output))
}

/// The Calls of one solution, while they run.
struct Calls<'a> {
    cx: &'a Context,
    of: &'a Rc<CallAgent>,
    context: Rc<[Value]>,
    depth: u32,
    calls: Vec<Value>,
    checked: Vec<Option<Checked>>,
    /// The instance that each belongs to, also of one that is refused.
    instances: Vec<Option<String>>,
    refused: BTreeMap<usize, FlowError>,
    order: Order,
    ended: BTreeMap<usize, End>,
    /// For each Call whose lists have grown since: the Call whose result holds them.
    grown: BTreeMap<usize, usize>,
}

impl<'a> Calls<'a> {
    fn new(cx: &'a Context, of: &'a Rc<CallAgent>, input: &Value, calls: Vec<Value>) -> Result<Self, FlowError> {
        let context: Vec<Value> = input["context"].as_array().cloned().unwrap_or_default();
        let tools = tools::offered(&context, &of.registered)?;
        let mut refused = BTreeMap::new();
        let mut checked = Vec::with_capacity(calls.len());
        for (at, call) in calls.iter().enumerate() {
            match check(call, &tools, &of.registered) {
                Ok(call) => checked.push(Some(call)),
                Err(error) => {
                    refused.insert(at, error);
                    checked.push(None);
                }
            }
        }
        let instances = calls.iter().map(|call| instance_of(call, &tools)).collect();
        let order = Order::of(&checked);
        for (at, call) in checked.iter().enumerate() {
            if call.is_some() && order.is_in_cycle(at) {
                let others = order.ancestors(at).filter(|other| *other != at && order.is_in_cycle(*other));
                let mut names: Vec<String> = others.map(|other| format!("[{other}]")).collect();
                let more = names.len().saturating_sub(MAX_NAMED);
                names.truncate(MAX_NAMED);
                names.extend((more > 0).then(|| format!("{more} more")));
                let with = if names.is_empty() { "itself".to_owned() } else { names.join(", ") };
                let text = format!(
                    "call [{at}] waits for its own result: its references and output paths make a cycle with {with}"
                );
                refused.insert(at, problem(Kind::Cycle, text));
            }
        }
        let depth = number(input, "depth");
        Ok(Calls {
            cx,
            of,
            context: context.into(),
            depth,
            calls,
            checked,
            instances,
            refused,
            order,
            ended: BTreeMap::new(),
            grown: BTreeMap::new(),
        })
    }

    /// Runs all of them, and returns what they add to the context, in the order of the solution.
    async fn run(mut self) -> Result<Vec<Value>, FlowError> {
        if self.calls.len() > 1 {
            self.cx.run.expect_concurrent_blocks();
        }
        let mut waiting: Vec<usize> = (0..self.calls.len()).collect();
        let mut running = FuturesUnordered::new();
        let mut suspended = None;
        // Why the request cannot go on: nothing more starts, and what has begun ends first (SEMANTICS §3.3).
        let mut stopped: Option<FlowError> = None;
        loop {
            let mut later = Vec::new();
            let may_start = if stopped.is_none() { std::mem::take(&mut waiting) } else { Vec::new() };
            for at in may_start {
                let is_ready = self.refused.contains_key(&at)
                    || self.order.waits_for(at).all(|before| self.ended.contains_key(&before));
                if !is_ready {
                    later.push(at);
                    continue;
                }
                let (plan, input) = match self.prepare(at).await {
                    Ok(Some(prepared)) => prepared,
                    Ok(None) => continue,
                    Err(error) => {
                        stopped = Some(error);
                        break;
                    }
                };
                let check = plan.as_ref().and_then(|plan| self.result_check(at, plan));
                let block = blocks::call(self.of, &self.tool(at), check);
                let (run, parent) = (self.cx.run.clone(), Some(self.cx.frame.clone()));
                let needs_person = input["confirm"] == true;
                let input = StepValue::new(input.into());
                if plan.as_ref().is_some_and(|plan| plan.checked.is_not_waited_for()) && !needs_person {
                    start_in_background(self.cx, self.path("work", at), block, input).await;
                    self.ended.insert(at, End::Done(Rc::default()));
                    continue;
                }
                let path = self.path("call", at);
                running.push(async move {
                    let ran = run_block_as(run, block, parent, path, input, BlockRole::Tool(Default::default())).await;
                    (at, plan, ran)
                });
            }
            waiting = later;
            let Some((at, plan, ran)) = running.next().await else {
                if waiting.is_empty() || suspended.is_some() || stopped.is_some() {
                    break;
                }
                // Nothing runs, and what waits was not unblocked by an end above: look again.
                if waiting.iter().all(|at| !self.order.waits_for(*at).all(|one| self.ended.contains_key(&one))) {
                    for at in waiting.drain(..) {
                        let text = "it waits for calls that did not end".to_owned();
                        self.ended.insert(at, End::Failed(problem(Kind::Reference, text)));
                    }
                    break;
                }
                continue;
            };
            let end = match ran {
                Ok(value) => match plan.map(|plan| {
                    let by = confirm::edited_tool(self.cx, &self.path("call", at))
                        .unwrap_or_else(|| plan.checked.tool.clone());
                    results::messages(&plan.checked, &self.context_of(at), value.data.to_json(), &by)
                }) {
                    Some(Ok(messages)) => {
                        self.note_grown(at);
                        End::Done(messages.into())
                    }
                    // A Call that a fork or an earlier version left with this result.
                    Some(Err(error)) => End::Failed(error),
                    None => End::Done(Rc::default()),
                },
                Err(error) if error.is_suspension() => {
                    suspended = Some(error);
                    continue;
                }
                Err(error) if error.is_uncatchable() || super::is_script_incomplete(&error) => {
                    stopped.get_or_insert(error);
                    continue;
                }
                Err(error) => self.failed(at, plan.as_ref(), error),
            };
            self.ended.insert(at, end);
        }
        if let Some(error) = stopped.or(suspended) {
            return Err(error);
        }
        let mut messages = Vec::new();
        for (at, end) in &self.ended {
            if let End::Done(written) = end
                && !self.grown.contains_key(at)
            {
                messages.extend(written.iter().cloned());
            }
            if let End::Failed(error) = end {
                messages.push(feedback(self.calls.get(*at), self.instances[*at].as_deref(), error));
            }
        }
        Ok(messages)
    }

    /// Returns what decides whether the result of a Call can be written; `None` if nothing is written.
    fn result_check(&self, at: usize, plan: &Plan) -> Option<ResultCheck> {
        plan.checked.output.as_ref()?;
        let (checked, context) = (plan.checked.clone(), self.context.clone());
        let earlier: Vec<Rc<[Value]>> = self.earlier(at).cloned().collect();
        Some(Rc::new(move |result: &Data| {
            let seen: Vec<&Value> = context.iter().chain(earlier.iter().flat_map(|of| of.iter())).collect();
            results::check(&checked, &seen, result.to_json())
        }))
    }

    /// Returns the end of a Call that failed: its failure is a result if its output path has a place for it, unless
    /// that path is what refused its result.
    fn failed(&self, at: usize, plan: Option<&Plan>, error: FlowError) -> End {
        let is_refused = is_of(Kind::OutputPath, &error) && error.path.as_deref() == Some(&*self.path("call", at));
        let held = plan
            .filter(|_| !is_refused)
            .and_then(|plan| results::of_failure(&plan.checked, &self.context_of(at), &error));
        held.map_or(End::Failed(error), |messages| End::Done(messages.into()))
    }

    /// Returns the path of a Call's block.
    fn path(&self, word: &str, at: usize) -> String {
        join(&self.cx.frame.path, &format!("{word}:{}[{at}]", encode(&self.tool(at))))
    }

    fn tool(&self, at: usize) -> String {
        let name = self.calls[at]["_tool"].as_str().filter(|name| !name.trim().is_empty());
        name.unwrap_or("call").to_owned()
    }

    /// Notes whose lists the result of a Call holds: each result of a list that grows is the whole list, so a thousand
    /// Calls that push onto one would else hand on, and merge, half a million entries.
    fn note_grown(&mut self, at: usize) {
        let Some(checked) = self.checked[at].as_ref().filter(|checked| checked.grows()) else { return };
        for before in self.order.ancestors(at) {
            let is_same = self.checked[before].as_ref().is_some_and(|other| {
                other.grows() && other.instance == checked.instance && other.writes() == checked.writes()
            });
            if is_same && matches!(self.ended.get(&before), Some(End::Done(_))) {
                self.grown.entry(before).or_insert(at);
            }
        }
    }

    /// Returns the results of the Calls that a Call waited for, without lists that grew in the result of another one.
    fn earlier(&self, at: usize) -> impl Iterator<Item = &Rc<[Value]>> {
        let is_held = move |before: &usize| self.grown.get(before).is_some_and(|by| self.order.is_before(*by, at));
        let done = self.order.ancestors(at).filter(move |before| !is_held(before));
        done.filter_map(|before| match self.ended.get(&before) {
            Some(End::Done(messages)) => Some(messages),
            _ => None,
        })
    }

    /// Returns the context that a Call is scoped from: that of the tick, and the results that it waited for.
    fn context_of(&self, at: usize) -> Vec<&Value> {
        self.context.iter().chain(self.earlier(at).flat_map(|of| of.iter())).collect()
    }

    /// Returns the input of a Call's block. One that cannot run gets an input that says so: its block fails, and is
    /// seen. `None` if it never runs.
    async fn prepare(&mut self, at: usize) -> Result<Option<(Option<Plan>, Value)>, FlowError> {
        let planned = match (self.refused.remove(&at), self.checked[at].clone()) {
            (Some(error), _) => Err(error),
            (None, None) => return Ok(None),
            (None, Some(checked)) => {
                if self.reads_alternative(at, &checked) {
                    self.ended.insert(at, End::Skipped);
                    return Ok(None);
                }
                self.plan(at, checked)
            }
        };
        match planned {
            Ok(plan) => {
                let mut input = plan.to_json();
                input["depth"] = self.depth.into();
                input["name"] = self.of.name.as_ref().into();
                let earlier: Vec<&Value> = self.earlier(at).flat_map(|of| of.iter()).collect();
                let (more, newest) = earlier.split_at(earlier.len().saturating_sub(MAX_EARLIER));
                if !newest.is_empty() {
                    input["earlier"] = newest.iter().copied().cloned().collect();
                }
                if !more.is_empty() {
                    input["moreEarlier"] = more.len().into();
                }
                let places = [self.path("work", at), self.path("call", at)];
                if confirm::needs_person(self.cx, self.of, &plan.call, places).await? {
                    input["confirm"] = true.into();
                    // An edited Call is scoped anew: from the same context.
                    input["context"] = self.context_of(at).into_iter().cloned().collect();
                }
                Ok(Some((Some(plan), input)))
            }
            Err(error) => {
                let input = json!({ "call": self.calls[at], "refused": error.to_public_json() });
                Ok(Some((None, input)))
            }
        }
    }

    fn plan(&self, at: usize, checked: Checked) -> Result<Plan, FlowError> {
        let context = self.context_of(at);
        let places = match &checked.output {
            Some(Expression::First(alternatives)) if alternatives.len() > 1 => &[],
            _ => checked.writes(),
        };
        match places.iter().find_map(|place| refuses(place, &context, checked.instance.as_deref())) {
            Some(error) => Err(error),
            None => ready(checked, &context),
        }
    }

    /// Returns whether a reference of a Call finds nothing because another Call could have written its place, and wrote
    /// an alternative instead.
    fn reads_alternative(&self, at: usize, checked: &Checked) -> bool {
        let context = self.context_of(at);
        let own = checked.instance.as_deref();
        let is_left = |read: &Reference| {
            self.order.waits_for(at).any(|before| {
                let Some(writer) = &self.checked[before] else { return false };
                let is_open = match self.ended.get(&before) {
                    Some(End::Done(_)) => writer.output.as_ref().is_some_and(|output| !output.is_certain()),
                    Some(End::Skipped) => true,
                    _ => false,
                };
                is_open && writer.writes().iter().any(|place| place.overlaps(read))
            })
        };
        checked.references.iter().any(|found| {
            let all = found.expression.references();
            references::value_of(&found.expression, &context, own).is_err()
                && all.iter().any(|read| read.look_up(&context, own).is_none() && is_left(read))
        })
    }
}
