//! A change of state whose fields are texts, numbers and truths, taken from JavaScript without JSON between.
//!
//! Most changes are such, and each is made while its flow waits. Whatever is not exactly that is left alone,
//! and goes the way on which it is looked at, refused and explained. It must not decide what a change does.

use std::rc::Rc;

use engine::context::Target;
use engine::json::number;
use engine::operation::Operation;
use rquickjs::object::Filter;
use rquickjs::{Ctx, Function, Object, Type, Value as Js};
use serde_json::{Map, Value};

use crate::vm::Shared;

type Make = fn(Map<String, Value>) -> Operation;

/// Makes `native.patch` and `native.increment`: they answer whether the state changed, or nothing where the
/// change has to go the other way.
pub(crate) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, shared: &Rc<Shared>) -> rquickjs::Result<()> {
    let operations: [(&str, Make); 2] =
        [("patch", |fields| Operation::Patch { fields }), ("increment", |by| Operation::Increment { by })];
    for (name, operation) in operations {
        let seen = shared.clone();
        let change = move |token: u32, target: String, fields: Object<'js>, plain: Object<'js>| {
            // In the order they were asked for: not past one that waits. And a proxy's prototype is its flow's to tell.
            if !seen.open.borrow().is_empty() || fields.is_proxy() || fields.get_prototype()? != plain {
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

/// The fields of an object without a class of its own.
fn fields_of(object: &Object<'_>, only_numbers: bool) -> Option<Map<String, Value>> {
    let mut fields = Map::new();
    for field in object.own_props::<String, Js<'_>>(Filter::new().string().enum_only()) {
        let Ok((name, value)) = field else {
            // What a getter threw is thrown again on the other way.
            object.ctx().catch();
            return None;
        };
        let value = match value.type_of() {
            Type::Int => Value::Number(value.as_int()?.into()),
            // What is not finite is refused on the other way.
            Type::Float => number(value.as_float().filter(|number| number.is_finite())?),
            _ if only_numbers => return None,
            Type::Bool => Value::Bool(value.as_bool()?),
            // Half of a surrogate pair is no text of ours.
            Type::String => Value::String(value.as_string()?.to_string().ok()?),
            _ => return None,
        };
        fields.insert(name, value);
    }
    Some(fields)
}
