//! Blocks that run inside a block without being a step of it: their paths, and what they may not write.
//!
//! Must not run them.

use super::Context;
use crate::execution::run::role::BlockRole;
use crate::model::error::FlowError;
use crate::model::operation::Operation;
use crate::model::path::{encode, join};
use crate::model::scope::ScopeKey;

impl Context {
    /// Returns the path of a block that a function of this block runs, or that a write of it has caused: numbered from
    /// 0 within the block, and within a callback of it (SEMANTICS §3.2).
    pub(crate) fn inner_path(&self, verb: &str, name: &str, number: Option<usize>) -> String {
        let callback = self.call.as_ref().map(|call| call.name.as_str());
        let number =
            number.unwrap_or_else(|| self.ordinal(&format!("{verb} {name} {}", callback.unwrap_or_default())) as usize);
        path_inside(&self.frame.path, verb, name, callback, number)
    }

    /// Refuses a write to a record that a function around this block has written to and not committed, unless the order
    /// of the two makes no difference: the function's write would be applied after this one, although it was before it.
    pub(super) fn need_no_earlier_write(&self, key: &ScopeKey, operation: &Operation) -> Result<(), FlowError> {
        for frame in self.frame.chain() {
            let BlockRole::Called(call) = &*frame.role.borrow() else { continue };
            let Some(around) = &frame.parent else { continue };
            let pending = call.as_ref().map_or(&around.transaction, |call| &call.transaction).pending(key);
            let is_sum = |one: &Operation| matches!(one, Operation::Increment { .. } | Operation::Push { .. });
            if pending.is_empty() || (is_sum(operation) && pending.iter().all(is_sum)) {
                continue;
            }
            let (inner, outer) = (&self.frame.block.name, &around.block.name);
            let mut error = FlowError::plain(format!(
                "block \"{inner}\" writes to {} \"{}\", which block \"{outer}\" around it has written to before it ran \
                 this one; let \"{outer}\" write after it, or in a block of its own",
                key.kind.as_str(),
                key.id
            ));
            error.code = Some("pending_write".to_owned());
            return Err(error);
        }
        Ok(())
    }
}

/// Returns the path of a block that runs inside another one without being a step of it.
pub(crate) fn path_inside(around: &str, verb: &str, name: &str, callback: Option<&str>, number: usize) -> String {
    let place = callback.map(|callback| format!("{}.", encode(callback))).unwrap_or_default();
    join(around, &format!("{verb}:{}[{place}{number}]", encode(name)))
}
