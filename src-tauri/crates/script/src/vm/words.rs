//! Node's words for errors that the runtime made, asked for by the SDK where an author's code meets an error.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use engine::error::Location;
use rquickjs::{Ctx, Function, Object};

use crate::bundle::callsite::of_thrown;
use crate::bundle::trace::Trace;
use crate::vm::Shared;

/// How many answers are kept: a loop may catch the same error again and again.
const MAX_KNOWN: usize = 64;

/// Installs `native.explain`, which returns Node's message for an error's class, message and stack; nothing if the
/// runtime did not make the error, or no better words are known.
pub(crate) fn install<'js>(ctx: &Ctx<'js>, native: &Object<'js>, shared: &Rc<Shared>) -> rquickjs::Result<()> {
    let seen = shared.clone();
    let known: RefCell<HashMap<[String; 3], Option<String>>> = RefCell::default();
    let explain = move |class: String, message: String, stack: String| {
        let error = [class, message, stack];
        if let Some(told) = known.borrow().get(&error) {
            return told.clone();
        }
        let [class, message, stack] = &error;
        let told = seen.trace.explained(stack, message, std::slice::from_ref(class)).map(|(message, _)| message);
        let mut known = known.borrow_mut();
        if known.len() >= MAX_KNOWN {
            known.clear();
        }
        known.insert(error, told.clone());
        told
    };
    native.set("explain", Function::new(ctx.clone(), explain)?)
}

/// Returns the message and the place of what a file threw while it loaded: `Name: message`, then the stack.
pub(crate) fn at_load(trace: &Trace, code: &str, thrown: &str) -> (String, Option<Location>) {
    let (message, stack) = thrown.split_once('\n').unwrap_or((thrown, ""));
    let (class, said) = message.split_once(": ").unwrap_or(("Error", message));
    let classes = [class.to_owned(), "Error".to_owned()];
    match trace.explained(stack, said, &classes) {
        Some((told, Some(place))) => (format!("{class}: {told}"), Some(place)),
        Some((told, None)) => (format!("{class}: {told}"), of_thrown(trace, code, stack, said, &classes)),
        None => (message.to_owned(), of_thrown(trace, code, stack, said, &classes)),
    }
}

/// Returns a thrown value that is no error as text: its JSON, or what it is.
pub(crate) fn without_error(value: &rquickjs::Value<'_>) -> String {
    let ctx = value.ctx();
    let json = ctx.json_stringify(value.clone());
    if json.is_err() {
        // What its `toJSON` threw.
        ctx.catch();
    }
    let json = json.ok().flatten().and_then(|json| json.to_string().ok());
    json.unwrap_or_else(
        || if value.is_undefined() { "undefined".to_owned() } else { format!("a {}", value.type_name()) },
    )
}
