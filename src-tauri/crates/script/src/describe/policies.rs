//! Concurrency policies: from the SDK's descriptions to the engine's types.

use std::rc::Rc;

use engine::concurrency::{Concurrency, Key, Policy};
use engine::data::from_json;
use engine::error::FlowError;
use rquickjs::Function;
use serde::Deserialize;
use serde_json::Value;

use crate::vm::Vm;
use crate::vm::calls::thrown;

/// An action's policy as the SDK describes it.
#[derive(Deserialize)]
pub(crate) struct WireConcurrency {
    policy: Policy,
    key: WireKey,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum WireKey {
    Session,
    User,
    /// A function of the bundle.
    Custom(u32),
}

impl WireConcurrency {
    pub(crate) fn build(self, vm: &Rc<Vm>) -> Concurrency {
        let key = match self.key {
            WireKey::Session => Key::Session,
            WireKey::User => Key::User,
            WireKey::Custom(id) => {
                let vm = vm.clone();
                Key::Custom(Rc::new(move |caller| ask(&vm, id, caller)))
            }
        };
        Concurrency { policy: self.policy, key }
    }
}

/// Calls a key function. It runs for no block, because the request does not exist yet.
fn ask(vm: &Rc<Vm>, id: u32, caller: &Value) -> Result<Option<String>, FlowError> {
    #[derive(Deserialize)]
    struct Wire {
        key: Option<String>,
        #[serde(default, deserialize_with = "engine::json::exact")]
        error: Option<Value>,
    }
    let caller = caller.to_string();
    let answer = vm.enter(|_, host| host.get::<_, Function>("concurrencyKey")?.call::<_, String>((id, caller)))?;
    let answer: Wire = from_json(&answer).map_err(|error| FlowError::plain(error.to_string()))?;
    match answer.error {
        Some(error) => Err(thrown(vm, &error.to_string())),
        None => Ok(answer.key),
    }
}
