//! The blocks of an agent with Calls: its own, and those of its ticks, requests, Calls and delegates.
//!
//! All but the agent's are made when they are reached: a delegate may be handed to itself, so they are no tree.

use std::rc::Rc;
use std::sync::Arc;

use engine::flow::{Block, Body, CallAgent, CallPart, ResultCheck};
use engine::written;

/// The agent's own block.
pub fn agent(of: &Rc<CallAgent>) -> Rc<Block> {
    Rc::new(written::block(&of.name, Body::Calls(CallPart::Agent(of.clone()), super::run)))
}

/// One model call and its Calls. It leaves no item: what it comes to is in those of its Calls.
pub(super) fn tick(of: &Rc<CallAgent>) -> Rc<Block> {
    Rc::new(Block { transient: true, ..written::block("tick", Body::Calls(CallPart::Tick(of.clone()), super::run)) })
}

/// The model call of a tick, by the name that mock scripts know.
pub(super) fn request(of: &Rc<CallAgent>, name: &str) -> Rc<Block> {
    Rc::new(Block { transient: true, ..written::block(name, Body::Calls(CallPart::Request(of.clone()), super::run)) })
}

/// One Call, by its tool's name.
pub(super) fn call(of: &Rc<CallAgent>, tool: &str, check: Option<ResultCheck>) -> Rc<Block> {
    Rc::new(written::block(tool, Body::Calls(CallPart::Call(of.clone(), check), super::run)))
}

/// The request that a Call was handed to.
pub(super) fn delegate(of: &Rc<CallAgent>, name: &str) -> Rc<Block> {
    let name: Arc<str> = name.into();
    Rc::new(written::block(&name, Body::Calls(CallPart::Delegate(of.clone(), name.clone()), super::run)))
}
