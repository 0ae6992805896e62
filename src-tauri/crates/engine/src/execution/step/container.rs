//! The `container` item of a sequencer or a router: what it shows is shown inside of it
//! (SEMANTICS §7.5).
//!
//! The item is added when the block has its input, and done when the block ends. An abort leaves it in progress. A
//! block that goes on after an interruption goes on with the item that it had opened. It must not fail the block; only
//! a `label` or `metadata` function that throws does.

use serde_json::{Map, Value};

use crate::execution::ctx::Context;
use crate::execution::run::frame::OpenedContainer;
use crate::execution::step::callback::resolve_value;
use crate::model::data::Data;
use crate::model::error::FlowError;
use crate::model::event::EventKind;
use crate::model::flow::Block;
use crate::model::item::{ItemStatus, NewItem};
use crate::model::step_value::StepValue;

/// Adds the block's container, if it has one.
pub(crate) async fn open(cx: &Context, block: &Block, input: &Data) -> Result<(), FlowError> {
    let Some(container) = &block.container else { return Ok(()) };
    if !block.can_contain_items() {
        return Ok(());
    }
    let at = cx.run.effects.now_ms();
    let mut payload = Map::new();
    payload.insert("blockName".to_owned(), (&*block.name).into());
    if let Some(component) = &container.component {
        payload.insert("component".to_owned(), component.as_str().into());
    }
    for (field, given) in [("label", &container.label), ("metadata", &container.metadata)] {
        let Some(given) = given else { continue };
        let value = resolve_value(cx, field, given, input).await?;
        if !value.is_null() {
            payload.insert(field.to_owned(), value);
        }
    }
    let item = NewItem::plain("container", ItemStatus::InProgress, payload);
    let known = cx.frame.items_of_earlier_runs.borrow_mut().next(&item).filter(|known| !known.is_done);
    let opened = match known {
        Some(known) => {
            cx.record(EventKind::ItemUpdated { of: known.seq, patch: item.payload });
            OpenedContainer { seq: known.seq, at: known.at }
        }
        None => {
            let mut item = item;
            item.payload.insert("startedAt".to_owned(), at.into());
            OpenedContainer { seq: cx.record(EventKind::ItemAdded { item }), at }
        }
    };
    cx.frame.container.set(Some(opened));
    Ok(())
}

/// Ends the block's container, if it was opened.
pub(crate) fn close(cx: &Context, result: &Result<StepValue, FlowError>) {
    let Some(opened) = cx.frame.container.get() else { return };
    let now = cx.run.effects.now_ms();
    let mut patch = Map::new();
    patch.insert("completedAt".to_owned(), now.into());
    patch.insert("duration".to_owned(), Value::from(now - opened.at));
    let status = match result {
        Ok(_) => ItemStatus::Completed,
        Err(error) => {
            patch.insert("error".to_owned(), serde_json::json!({ "message": error.message }));
            ItemStatus::Failed
        }
    };
    cx.record(EventKind::ItemDone { of: opened.seq, status, patch });
}
