//! Several blocks at once: `parallel`, `stepAll`, `stepAny`, `race`, `forEach` (SEMANTICS §3.3).
//!
//! Branches that have started are never cancelled: an operation ends when all of them have ended, so that none still
//! runs when the next step starts. When a race is won, the signals of the other branches fire.

use std::rc::Rc;
use std::task::Poll;

use futures_util::poll;
use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::{Map, Value};

use crate::execution::ctx::Context;
use crate::execution::drivers::chain::sequencer::Chain;
use crate::execution::run::role::{BlockRole, Branches};
use crate::execution::step::block::run_block_as;
use crate::model::callable::Fun;
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::{CaughtBy, Seq};
use crate::model::flow::{Arm, Block, Each};
use crate::model::path::encode;
use crate::model::step_value::StepValue;

/// One branch that can start.
pub(crate) struct Branch {
    pub(crate) path: String,
    pub(crate) block: Rc<Block>,
    pub(crate) input: StepValue,
}

/// After which end no further branch starts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopAfter {
    Failure,
    Success,
}

/// Runs branches, at most `limit` at a time, until all that started have ended or `stop` forbids further starts.
/// Returns the results with the branch's index, in the order in which they ended.
async fn run_branches(
    cx: &Context,
    branches: Vec<Branch>,
    limit: Option<usize>,
    stop: StopAfter,
    role: impl Fn(usize) -> BlockRole,
) -> Vec<(usize, Result<StepValue, FlowError>)> {
    if branches.len() > 1 && limit != Some(1) {
        cx.run.expect_concurrent_blocks();
    }
    let limit = limit.unwrap_or(usize::MAX).max(1);
    // The branches of a race that no branch has won yet; empty for other operations.
    let mut race = match stop {
        StopAfter::Success if branches.len() > 1 => begin_race(cx, &branches),
        _ => Vec::new(),
    };
    cx.frame.has_limit.set(limit < branches.len());
    // A resume takes recorded ends from the log all at once. They are ordered as recorded, and an end that stopped the
    // operation before still keeps the branches from starting that had not started by then, or were suspended.
    let replay_cache = &cx.run.replay_cache;
    let known: Vec<Option<(Seq, bool)>> =
        branches.iter().map(|branch| replay_cache.end_of(&branch.path, &branch.block)).collect();
    let waits = |branch: &Branch| replay_cache.has_suspended(&branch.path, &branch.block);
    let stops = |good: bool| good == (stop == StopAfter::Success);
    let first_stop = known.iter().flatten().filter(|(_, good)| stops(*good)).map(|(seq, _)| *seq).min();
    let had_started = first_stop.map(|stop| {
        let ended = known.iter().flatten().filter(|(seq, _)| *seq < stop).count();
        let waited = branches.iter().filter(|branch| waits(branch)).count();
        limit.saturating_add(ended + waited)
    });
    let mut waiting = branches
        .into_iter()
        .enumerate()
        .filter(|(at, branch)| had_started.is_none_or(|started| *at < started && !waits(branch)));
    // A suspended branch has neither failed nor succeeded.
    let stops_now = |result: &Result<StepValue, FlowError>| {
        let waits = result.as_ref().is_err_and(FlowError::is_suspension);
        !waits && first_stop.is_none() && stops(result.is_ok())
    };
    // A branch that waits lets the next one begin. In a replay it has its answer at once, and lets it begin likewise.
    let effect_log = cx.run.effect_log.as_ref();
    let mut running = FuturesUnordered::new();
    let mut ended = Vec::new();
    let mut stopped = false;
    // How many of those that run take one of the places.
    let mut placed = 0;
    loop {
        while !stopped && placed < limit {
            let Some((at, branch)) = waiting.next() else { break };
            let (run, parent, role) = (cx.run.clone(), Some(cx.frame.clone()), role(at));
            let Branch { path, block, input } = branch;
            let takes_place = !effect_log.is_some_and(|log| log.has_waited(&path));
            let mut next =
                Box::pin(async move { (at, takes_place, run_block_as(run, block, parent, path, input, role).await) });
            // What a resume takes from the log ends at once. Where nothing else is under way yet, it needs no place
            // among what is: a list may have hundreds of thousands of entries that ended.
            if running.is_empty()
                && known[at].is_some()
                && let Poll::Ready((at, _, result)) = poll!(&mut next)
            {
                stopped |= stops_now(&result);
                signal_losers(cx, &mut race, at, &result);
                ended.push((at, result));
                continue;
            }
            placed += usize::from(takes_place);
            running.push(next);
        }
        let Some((at, took_place, result)) = running.next().await else { break };
        placed -= usize::from(took_place);
        stopped |= stops_now(&result);
        signal_losers(cx, &mut race, at, &result);
        ended.push((at, result));
    }
    cx.frame.has_limit.set(false);
    ended.sort_by_key(|(at, _)| known[*at].map_or(Seq::MAX, |(seq, _)| seq));
    ended
}

/// Returns the paths of the branches of a race, which have signals of their own.
fn begin_race(cx: &Context, branches: &[Branch]) -> Vec<String> {
    let paths: Vec<String> = branches.iter().map(|branch| branch.path.clone()).collect();
    if let Some(signals) = cx.run.race_signals.get().filter(|_| cx.frame.attempt > 0) {
        signals.begin(&paths);
    }
    paths
}

/// Fires the signals of the branches of a race that have lost it, as soon as one has succeeded.
fn signal_losers(cx: &Context, race: &mut Vec<String>, at: usize, result: &Result<StepValue, FlowError>) {
    if race.is_empty() || result.is_err() {
        return;
    }
    let mut losers = std::mem::take(race);
    losers.swap_remove(at);
    if let Some(signals) = cx.run.race_signals.get() {
        signals.stop(&losers);
    }
}

/// Returns the outputs in the branches' order, or the first failure.
async fn all(cx: &Context, branches: Vec<Branch>, limit: Option<usize>) -> Result<Vec<Data>, FlowError> {
    let mut outputs = vec![Data::UNDEFINED; branches.len()];
    let mut waits = None;
    for (at, result) in run_branches(cx, branches, limit, StopAfter::Failure, |_| BlockRole::Plain).await {
        match result {
            Ok(output) => outputs[at] = output.data,
            Err(error) if error.is_suspension() => waits = Some(error),
            Err(error) => return Err(error),
        }
    }
    waits.map_or(Ok(outputs), Err)
}

async fn branches(
    chain: &Chain<'_>,
    arms: &[Arm],
    value: &StepValue,
    path: impl Fn(usize, &Arm) -> String,
) -> Result<Vec<Branch>, FlowError> {
    let mut ready = Vec::with_capacity(arms.len());
    for (at, arm) in arms.iter().enumerate() {
        let input = chain.connect(arm.child.connector.as_ref(), value.clone()).await?;
        ready.push(Branch { path: path(at, arm), block: arm.child.block.clone(), input });
    }
    Ok(ready)
}

/// `parallel`: an object keyed like the arms.
pub(crate) async fn parallel(
    chain: &Chain<'_>,
    path: &str,
    arms: &[Arm],
    limit: Option<usize>,
    value: StepValue,
) -> Result<StepValue, FlowError> {
    let ready = branches(chain, arms, &value, |_, arm| format!("{path}/{}", encode(&arm.key))).await?;
    let outputs = all(chain.cx, ready, limit).await?;
    let object: Map<String, Value> =
        arms.iter().zip(outputs).filter_map(|(arm, output)| Some((arm.key.clone(), output.to_option()?))).collect();
    Ok(StepValue::new(Value::Object(object).into()))
}

/// `stepAll`: a list in the arms' order.
pub(crate) async fn step_all(
    chain: &Chain<'_>,
    path: &str,
    arms: &[Arm],
    limit: Option<usize>,
    value: StepValue,
) -> Result<StepValue, FlowError> {
    let ready = branches(chain, arms, &value, |at, _| format!("{path}[{at}]")).await?;
    let outputs = all(chain.cx, ready, limit).await?;
    Ok(StepValue::new(outputs.iter().map(Data::to_json).collect::<Value>().into()))
}

/// `stepAny`: one after another; the first success wins.
pub(crate) async fn step_any(
    chain: &Chain<'_>,
    path: &str,
    arms: &[Arm],
    value: StepValue,
) -> Result<StepValue, FlowError> {
    if arms.is_empty() {
        return Err(aggregate("stepAny called with no blocks", Vec::new()));
    }
    let mut errors = Vec::new();
    let all = Branches::new(CaughtBy::StepAny, arms.len());
    for (at, branch) in branches(chain, arms, &value, |at, _| format!("{path}[{at}]")).await?.into_iter().enumerate() {
        let mut ended =
            run_branches(chain.cx, vec![branch], None, StopAfter::Success, |_| BlockRole::Branch(all.clone(), at))
                .await;
        match ended.pop() {
            Some((_, Ok(output))) => return Ok(output),
            Some((_, Err(error))) if error.is_uncatchable() => return Err(error),
            Some((_, Err(error))) => errors.push((at, error)),
            None => {}
        }
    }
    Err(aggregate("All blocks in stepAny failed", errors))
}

/// `race`: together; the first success wins, and all that started end first. The signals of the others fire then.
pub(crate) async fn race(
    chain: &Chain<'_>,
    path: &str,
    arms: &[Arm],
    limit: Option<usize>,
    value: StepValue,
) -> Result<StepValue, FlowError> {
    if arms.is_empty() {
        return Err(FlowError::plain("race called with no blocks"));
    }
    let ready = branches(chain, arms, &value, |at, _| format!("{path}[{at}]")).await?;
    let mut errors = Vec::new();
    let mut waits = None;
    let all = Branches::new(CaughtBy::Race, arms.len());
    let role = |at| BlockRole::Branch(all.clone(), at);
    for (at, result) in run_branches(chain.cx, ready, limit, StopAfter::Success, role).await {
        match result {
            Ok(output) => return Ok(output),
            // A suspended branch may still win after a resume.
            Err(error) if error.is_suspension() => waits = Some(error),
            Err(error) if error.is_uncatchable() => return Err(error),
            // A race of one block fails with that block's error.
            Err(error) if arms.len() == 1 => return Err(error),
            Err(error) => errors.push((at, error)),
        }
    }
    if let Some(suspension) = waits {
        return Err(suspension);
    }
    match errors.pop() {
        Some((_, only)) if arms.len() == 1 => Err(only),
        last => {
            errors.extend(last);
            Err(aggregate("All blocks in race failed", errors))
        }
    }
}

/// `forEach`: a list in the items' order.
pub(crate) async fn for_each(
    chain: &Chain<'_>,
    segment: &str,
    connector: Option<&Fun>,
    each: &Each,
    limit: Option<usize>,
    value: StepValue,
) -> Result<StepValue, FlowError> {
    let ready = iterations(chain, segment, connector, each, &value, "forEach").await?;
    let outputs = all(chain.cx, ready, limit).await?;
    Ok(StepValue::new(outputs.iter().map(Data::to_json).collect::<Value>().into()))
}

/// Returns a branch for each item of a list. `undefined` and `null` count as an empty list.
pub(crate) async fn iterations(
    chain: &Chain<'_>,
    segment: &str,
    connector: Option<&Fun>,
    each: &Each,
    value: &StepValue,
    name: &str,
) -> Result<Vec<Branch>, FlowError> {
    let list = chain.record_list(chain.connect(connector, value.clone()).await?);
    let items = match list.data.as_value() {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(items)) => items.clone(),
        Some(_) => return Err(FlowError::plain(format!("{name} expected an array input"))),
    };
    let mut ready = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        let item = Data::from(item);
        let (path, block) = chain.block_of(segment, each, &item, index).await?;
        ready.push(Branch { path, block, input: StepValue::new(item) });
    }
    Ok(ready)
}

/// JavaScript's `AggregateError`, with the failures in the order of the list.
fn aggregate(message: &str, mut errors: Vec<(usize, FlowError)>) -> FlowError {
    errors.sort_by_key(|(at, _)| *at);
    let list: Value = errors
        .iter()
        .map(|(_, error)| {
            let mut json = error.to_public_json();
            json["classes"] = error.classes.clone().into();
            json["retryable"] = error.retryable.into();
            json
        })
        .collect();
    FlowError {
        details: Some(serde_json::json!({ "errors": list })),
        gathered: errors.into_iter().map(|(_, error)| error).collect(),
        ..FlowError::new("AggregateError", message)
    }
}
