//! A fast path for state operations whose fields are strings, numbers and booleans: without JSON.
//!
//! Most operations are such, and they are applied synchronously. All others take the normal path, which validates them
//! and reports errors. Must not decide what an operation does.

use std::rc::Rc;

use engine::context::Target;
use engine::json::number;
use engine::operation::Operation;
use rquickjs::object::Filter;
use rquickjs::{Ctx, Function, Object, Type, Value as Js};
use serde_json::{Map, Value};

use crate::vm::Shared;

type Make = fn(Map<String, Value>) -> Operation;

/// Installs `native.patch` and `native.increment`. They return whether the state changed, or nothing if the normal path
/// must be taken.
pub(crate) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, shared: &Rc<Shared>) -> rquickjs::Result<()> {
    let operations: [(&str, Make); 2] =
        [("patch", |fields| Operation::Patch { fields }), ("increment", |by| Operation::Increment { by })];
    for (name, operation) in operations {
        let seen = shared.clone();
        let change = move |token: u32, target: String, fields: Object<'js>, plain: Object<'js>| {
            // Only if no earlier operation is pending, to keep the order, and not for a proxy, whose traps would run.
            let is_question = seen.probe.as_ref().is_some_and(|probe| probe.check(name, token).is_err());
            if is_question
                || !seen.pending_applies.borrow().is_empty()
                || fields.is_proxy()
                || fields.get_prototype()? != plain
            {
                return None;
            }
            let fields = fields_of(&fields, name == "increment")?;
            let contexts = seen.contexts.borrow();
            contexts.get(&token)?.apply_at_once(&Target::parse(&target)?, operation(fields))
        };
        native.set(name, Function::new(ctx.clone(), change)?)?;
    }
    Ok(())
}

/// Returns the fields of a plain object; `None` if any field needs the normal path.
fn fields_of(object: &Object<'_>, only_numbers: bool) -> Option<Map<String, Value>> {
    let mut fields = Map::new();
    for field in object.own_props::<String, Js<'_>>(Filter::new().string().enum_only()) {
        let Ok((name, value)) = field else {
            // A getter threw: clear the exception, the normal path throws it again.
            object.ctx().catch();
            return None;
        };
        let value = match value.type_of() {
            Type::Int => Value::Number(value.as_int()?.into()),
            // The normal path refuses infinities and NaN.
            Type::Float => number(value.as_float().filter(|number| number.is_finite())?),
            _ if only_numbers => return None,
            Type::Bool => Value::Bool(value.as_bool()?),
            // A lone surrogate is not valid UTF-8.
            Type::String => Value::String(value.as_string()?.to_string().ok()?),
            _ => return None,
        };
        fields.insert(name, value);
    }
    Some(fields)
}
