//! The edits of a fork that hold from its beginning on: other inputs of blocks, other models.
//!
//! They are events of the fork, so a resume and a replay of the fork read them, too (SEMANTICS §10.6).

use std::collections::HashMap;
use std::sync::Arc;

use crate::execution::context::Context;
use crate::model::data::Data;
use crate::model::effects::{EffectKind, ModelCall};
use crate::model::event::{Event, EventKind, ModelEdit, Seq};
use crate::views::edited_block_inputs;

/// The edits of one request.
#[derive(Default)]
pub(crate) struct ForkEdits {
    /// The inputs that it has instead of those that blocks are given, by path.
    pub(crate) block_inputs: HashMap<Arc<str>, (Seq, Data)>,
    /// By the generator's name.
    models: HashMap<String, (Seq, ModelEdit)>,
}

impl ForkEdits {
    /// Reads the edits in a log. Those of a fork's fork come later, and add to the first ones.
    pub(crate) fn of(events: &[Event]) -> ForkEdits {
        let mut models: HashMap<String, (Seq, ModelEdit)> = HashMap::new();
        for event in events {
            if let EventKind::ModelEdited(edit) = &event.kind {
                let known = models.entry(edit.generator.clone()).or_default();
                known.0 = event.seq;
                known.1.model = edit.model.clone().or(known.1.model.take());
                known.1.options.extend(edit.options.clone());
            }
        }
        ForkEdits { block_inputs: edited_block_inputs(events), models }
    }
}

/// The edit of the next model call of a block. None if that call is in the log from before the edit.
fn edit_of<'c>(cx: &'c Context, generator: &str) -> Option<&'c ModelEdit> {
    let (seq, edit) = cx.run.edits.models.get(generator)?;
    let (path, ordinal) = (&cx.frame.path, cx.peek(EffectKind::Model.as_str()));
    let recorded = match &cx.run.effect_log {
        Some(log) => log.effect(path, cx.frame.attempt, EffectKind::Model, ordinal).map(|effect| effect.seq),
        None => cx.run.replay_cache.call(path, ordinal).map(|call| call.ended),
    };
    recorded.is_none_or(|recorded| recorded > *seq).then_some(edit)
}

/// The model that a fork asks in place of the flow's.
pub(crate) fn edited_model(cx: &Context, generator: &str) -> Option<String> {
    edit_of(cx, generator)?.model.clone()
}

/// The call with the options that a fork has in place of the flow's.
pub(crate) fn with_edited_options(cx: &Context, mut call: ModelCall) -> ModelCall {
    let Some(edit) = edit_of(cx, &call.generator) else { return call };
    for (name, value) in &edit.options {
        if matches!(name.as_str(), "maxTokens" | "maxOutputTokens") {
            call.max_tokens = value.as_u64().and_then(|most| u32::try_from(most).ok());
            continue;
        }
        let mut options = call.provider_options.take().unwrap_or_default().as_object().cloned().unwrap_or_default();
        // The last one of a name counts.
        options.shift_remove(name);
        options.insert(name.clone(), value.clone());
        call.provider_options = Some(options.into());
    }
    call
}
