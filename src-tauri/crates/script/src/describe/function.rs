//! Lets the engine call an author's function. Arguments and results are passed as JSON text.

use std::rc::{Rc, Weak};
use std::sync::Arc;

use engine::callable::{Arg, Callable, Invocation, Returned};
use engine::context::Context as Cx;
use engine::data::{Data, from_json, parse};
use engine::error::FlowError;
use futures_util::FutureExt;
use futures_util::future::LocalBoxFuture;
use rquickjs::Function;

use crate::describe::registry::Registry;
use crate::vm::calls::{call_and_wait, thrown};
use crate::vm::{CallResult, Vm};

/// A function of the bundle.
pub(crate) struct ScriptFunction {
    pub(crate) vm: Rc<Vm>,
    /// The registry, which owns this function: weak, to avoid a reference cycle.
    pub(crate) registry: Weak<Registry>,
    pub(crate) id: u32,
}

impl Callable for ScriptFunction {
    fn fingerprint(&self) -> Option<Arc<str>> {
        self.registry.upgrade()?.fingerprint(&self.vm, self.id)
    }

    fn call(&self, args: Vec<Arg>, invocation: Invocation) -> LocalBoxFuture<'static, Result<Returned, FlowError>> {
        let cx = Cx::of(&invocation);
        let (vm, registry, id) = (self.vm.clone(), self.registry.clone(), self.id);
        async move {
            let registry = registry.upgrade().ok_or_else(|| FlowError::plain("the script ended"))?;
            let args = encode(&args);
            let answer = call_and_wait(&vm, cx, |host, call, token| {
                host.get::<_, Function>("call")?.call::<_, ()>((call, id, token, args))
            });
            decode(&vm, &registry, answer.await?)
        }
        .boxed_local()
    }
}

fn encode(args: &[Arg]) -> String {
    let mut text = String::from("[");
    for (at, arg) in args.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        match arg {
            Arg::Data(data) => match data.as_value() {
                None => text.push_str("[0]"),
                Some(value) => {
                    text.push_str("[1,");
                    text.push_str(&value.to_string());
                    text.push(']');
                }
            },
            Arg::Error(error) => text.push_str(&format!("[2,{}]", error.to_host_json())),
        }
    }
    text.push(']');
    text
}

pub(crate) fn decode(vm: &Rc<Vm>, registry: &Rc<Registry>, answer: CallResult) -> Result<Returned, FlowError> {
    match answer {
        CallResult::Undefined => Ok(Returned::Data(Data::UNDEFINED)),
        CallResult::Value(json) => {
            let value = parse(&json).map_err(|error| FlowError::validation(error.to_string(), None))?;
            Ok(Returned::Data(value.into()))
        }
        CallResult::Block(json) => registry.block_from_factory(vm, &json).map(Returned::Block),
        CallResult::Blocks(json) => registry.blocks_from_factory(vm, &json).map(Returned::Blocks),
        CallResult::Model(json) => {
            let wire = from_json(&json).map_err(|error| FlowError::plain(error.to_string()))?;
            Ok(Returned::Model(registry.instance(vm, wire)))
        }
        CallResult::Error(json) => Err(thrown(vm, &json)),
        CallResult::NeverSettles(error) => Err(error),
    }
}
