//! Who catches a failure: decided when a block fails, from the frames around it, and recorded with its end
//! (SEMANTICS §5.4), so that readers of the log need not infer it from what ran afterwards.

use std::rc::Rc;

use crate::execution::run::frame::Frame;
use crate::execution::run::role::BlockRole;
use crate::model::error::FlowError;
use crate::model::event::CaughtBy;

/// Returns who catches the failure with which a block ends, if anyone does.
pub(crate) fn caught_by(frame: &Rc<Frame>, error: &FlowError) -> Option<CaughtBy> {
    if error.is_uncatchable() {
        return None;
    }
    if frame.block.handler_after(error).is_some() {
        return Some(CaughtBy::Rescue);
    }
    let (mut frame, mut error) = (frame.clone(), error.clone());
    loop {
        let role = frame.role.borrow().clone();
        match &role {
            BlockRole::Background => return Some(CaughtBy::Background),
            BlockRole::Hook => return Some(CaughtBy::Hook),
            BlockRole::Called(_) => return Some(CaughtBy::Function),
            BlockRole::Tool(_) if error.name != "LimitError" => return Some(CaughtBy::Tool),
            BlockRole::Branch(branches, at) => {
                if branches.fail(*at) {
                    return Some(branches.by);
                }
                // A race of one block fails with that block's error.
                if branches.by != CaughtBy::Race || branches.count > 1 {
                    error = FlowError::new("AggregateError", "");
                }
            }
            BlockRole::Plain | BlockRole::Tool(_) | BlockRole::Rescue => {}
        }
        let parent = frame.parent.clone()?;
        // A handler does not catch its own failure.
        if !matches!(role, BlockRole::Rescue) && parent.block.handler_of(&error).is_some() {
            return Some(CaughtBy::Rescue);
        }
        frame = parent;
    }
}
