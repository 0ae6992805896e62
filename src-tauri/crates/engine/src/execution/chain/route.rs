//! Validation of a router's choice: a declared route, or one that `validateRoute` accepts (SEMANTICS §2.6).

use std::rc::Rc;

use serde_json::Value;

use crate::execution::callback;
use crate::execution::context::Context;
use crate::model::callable::{Arg, Returned};
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::flow::Block;

/// Returns the block that a router's function chose, or an error where it may not be chosen.
pub(crate) async fn checked(
    cx: &Context,
    routes: &[Rc<Block>],
    validate: Option<&crate::model::callable::Fun>,
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
