//! The driver of routers: a function chooses the block that runs, a declared route or one that `validateRoute` accepts
//! (SEMANTICS §2.6).

use std::rc::Rc;

use serde_json::Value;

use crate::execution::ctx::Context;
use crate::execution::step::block::run_block;
use crate::execution::step::callback;
use crate::model::callable::{Arg, Fun, Returned};
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::EventKind;
use crate::model::flow::Block;
use crate::model::path::{encode, join};
use crate::model::step_value::StepValue;

/// Runs the block that a router's function chooses.
pub(crate) async fn run(
    cx: &Context,
    (routes, execute, validate): (&[Rc<Block>], &Fun, Option<&Fun>),
    input: StepValue,
) -> Result<StepValue, FlowError> {
    let chosen = callback::call_choosing(cx, "execute", execute, vec![input.argument()], routes).await?;
    let route = checked(cx, routes, validate, chosen, &input.data).await?;
    cx.run.replay_cache.check_route(&cx.frame.path, &route.name)?;
    cx.record(EventKind::RouteDecided { route: route.name.to_string() });
    let path = join(&cx.frame.path, &format!("route:{}", encode(&route.name)));
    run_block(cx.run.clone(), route, Some(cx.frame.clone()), path, input).await
}

/// Returns the block that a router's function chose, or an error where it may not be chosen.
async fn checked(
    cx: &Context,
    routes: &[Rc<Block>],
    validate: Option<&Fun>,
    chosen: Returned,
    input: &Data,
) -> Result<Rc<Block>, FlowError> {
    let name = &cx.frame.block.name;
    let invalid = |what: String| FlowError::plain(format!("Router \"{name}\" selected {what}"));
    let Returned::Block(block) = chosen else {
        let chosen = chosen.into_data()?.as_value().map_or_else(|| "undefined".to_owned(), Value::to_string);
        let names = routes.iter().map(|route| &*route.name).collect::<Vec<_>>().join(", ");
        return Err(invalid(format!("no route: execute must return one of its blocks ({names}), not {chosen}")));
    };
    let known = match validate {
        Some(validate) => {
            let args = vec![Arg::Data(Value::String(block.name.to_string()).into()), Arg::Data(input.clone())];
            callback::call(cx, "validateRoute", validate, args).await?.into_data()?.is_truthy()
        }
        None => routes.iter().any(|route| Rc::ptr_eq(route, &block) || route.name == block.name),
    };
    if known {
        return Ok(block);
    }
    Err(invalid(format!("invalid route \"{}\". Route must be one of declared candidates.", block.name)))
}
