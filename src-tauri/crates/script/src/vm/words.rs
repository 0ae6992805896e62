//! Node's messages for errors of the runtime. The SDK requests them when an author's code sees an error.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use engine::error::Location;
use rquickjs::{Ctx, Function, Object};

use crate::bundle::callsite::of_thrown;
use crate::bundle::trace::Trace;
use crate::vm::Shared;

/// How many messages are cached, because a loop may catch the same error repeatedly.
const MAX_KNOWN: usize = 64;

/// Installs `native.explain`, which returns Node's message for an error's class, message and stack. It returns nothing
/// if the error is not from the runtime, or no better message is known.
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

/// A value that a script threw, as text.
pub(crate) struct Thrown {
    /// `Name: message`, or another value as text; a message may have several lines.
    pub(crate) said: String,
    /// The stack; empty if there is none.
    pub(crate) stack: String,
}

impl From<String> for Thrown {
    fn from(said: String) -> Thrown {
        Thrown { said, stack: String::new() }
    }
}

impl Thrown {
    /// Converts a caught error.
    pub(crate) fn of(caught: rquickjs::CaughtError<'_>) -> Thrown {
        match caught {
            rquickjs::CaughtError::Exception(exception) => {
                let name: String = exception.as_object().get("name").unwrap_or_else(|_| "Error".to_owned());
                let message = exception.message().unwrap_or_default();
                Thrown { said: format!("{name}: {message}"), stack: exception.stack().unwrap_or_default() }
            }
            rquickjs::CaughtError::Value(value) => match value.as_string().and_then(|text| text.to_string().ok()) {
                Some(text) => text.into(),
                None => format!("it threw {}", without_error(&value)).into(),
            },
            rquickjs::CaughtError::Error(error) => error.to_string().into(),
        }
    }

    /// The message without the prefix `Error: `.
    pub(crate) fn message(&self) -> &str {
        self.said.trim_start_matches("Error: ")
    }
}

/// Returns the message and position of an error that a file threw while it loaded.
pub(crate) fn at_load(trace: &Trace, code: &str, thrown: &Thrown) -> (String, Option<Location>) {
    let (message, stack) = (thrown.said.as_str(), thrown.stack.as_str());
    let (class, said) = message.split_once(": ").unwrap_or(("Error", message));
    let classes = [class.to_owned(), "Error".to_owned()];
    match trace.explained(stack, said, &classes) {
        Some((told, Some(place))) => (format!("{class}: {told}"), Some(place)),
        Some((told, None)) => (format!("{class}: {told}"), of_thrown(trace, code, stack, said, &classes)),
        None => (message.to_owned(), of_thrown(trace, code, stack, said, &classes)),
    }
}

/// Returns a thrown value that is not an error as text: its JSON, or its type.
pub(crate) fn without_error(value: &rquickjs::Value<'_>) -> String {
    let ctx = value.ctx();
    let json = ctx.json_stringify(value.clone());
    if json.is_err() {
        // Clears the error that its `toJSON` threw.
        ctx.catch();
    }
    let json = json.ok().flatten().and_then(|json| json.to_string().ok());
    json.unwrap_or_else(
        || if value.is_undefined() { "undefined".to_owned() } else { format!("a {}", value.type_name()) },
    )
}
