//! Reactions to written resources: blocks of `reactTo` (SEMANTICS §4.10).
//!
//! They run when the write is in force: after the block, or the callback, that wrote has ended and committed, and
//! before what comes next. Which are due is recorded with that end, so that a resume runs those that had not ended.
//! Must not decide what changed: that is for the context's writes.

use serde_json::{Map, json};

use crate::execution::ctx::{Context, path_inside};
use crate::execution::run::role::BlockRole;
use crate::execution::step::block::run_block_as;
use crate::model::error::FlowError;
use crate::model::event::EventKind;
use crate::model::item::{ItemStatus, NewItem};
use crate::model::resource::due::DueReaction;
use crate::model::step_value::StepValue;

/// How deep reactions may cause each other.
const MAX_DEPTH: usize = 16;
/// How many reactions one run of a request may have.
const MAX_REACTIONS: u32 = 1_000;

/// The segment of a reaction, before its block's name.
const VERB: &str = "react";

/// Runs due reactions one after another inside a block that has written, or whose `callback` has. The first failure
/// ends them.
pub(crate) async fn run(cx: &Context, callback: Option<&str>, due: Vec<DueReaction>) -> Result<(), FlowError> {
    for (number, reaction) in due.into_iter().enumerate() {
        let found = cx.resources().into_iter().find_map(|resource| {
            let is_it = resource.scope == reaction.scope && *resource.accessor == *reaction.accessor;
            let mut blocks = resource.reactions.iter().map(|one| one.block.clone());
            blocks.find(|block| is_it && *block.name == *reaction.block)
        });
        let Some(block) = found else {
            let text = format!(
                "the reaction \"{}\" to resource \"{}\" was due, and the flow of today has none",
                reaction.block, reaction.accessor
            );
            cx.record(EventKind::Noted { text });
            continue;
        };
        let depth = cx.frame.path.split('/').filter(|segment| segment.starts_with(&format!("{VERB}:"))).count();
        let count = cx.run.reactions_run.get() + 1;
        cx.run.reactions_run.set(count);
        if depth >= MAX_DEPTH || count > MAX_REACTIONS {
            cx.record(cascade(&reaction, depth));
            return Ok(());
        }
        let path = path_inside(&cx.frame.path, VERB, &block.name, callback, number);
        let (run, parent) = (cx.run.clone(), Some(cx.frame.clone()));
        run_block_as(run, block, parent, path, StepValue::new(reaction.change.into()), BlockRole::Plain).await?;
    }
    Ok(())
}

/// The item that tells of reactions without an end.
fn cascade(reaction: &DueReaction, depth: usize) -> EventKind {
    let message = format!(
        "Reactions to resource \"{}\" cause each other ({depth} deep); \"{}\" did not run. A `when` that stops \
         the chain ends this.",
        reaction.accessor, reaction.block
    );
    let payload = Map::from_iter([
        ("message".to_owned(), json!(message)),
        ("code".to_owned(), json!("reactive_cascade_exceeded")),
    ]);
    EventKind::ItemAdded { item: NewItem::plain("error", ItemStatus::Failed, payload) }
}
