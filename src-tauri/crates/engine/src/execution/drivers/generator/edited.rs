//! The model and the options that a fork asks in place of the flow's (SEMANTICS §10.6).

use serde_json::Map;

use crate::execution::ctx::Context;
use crate::model::effects::{EffectKind, ModelCall};
use crate::model::event::ModelEdit;

/// The edit of the next model call of a block. None if that call is in the log from before the edit.
fn edit_of(cx: &Context, generator: &str) -> Option<ModelEdit> {
    if cx.run.edits.has_no_models() {
        return None;
    }
    let (path, ordinal) = (&cx.frame.path, cx.peek(EffectKind::Model.as_str()));
    let recorded = match &cx.run.effect_log {
        Some(log) => log.effect(path, cx.frame.attempt, EffectKind::Model, ordinal).map(|effect| effect.seq),
        None => cx.run.replay_cache.call(path, ordinal).map(|call| call.ended),
    };
    cx.run.edits.of_call(path, generator, recorded, &cx.run.flow)
}

/// The model that a fork asks in place of the flow's.
pub(crate) fn edited_model(cx: &Context, generator: &str) -> Option<String> {
    edit_of(cx, generator)?.model
}

/// The call with the options that a fork has in place of the flow's.
pub(crate) fn with_edited_options(cx: &Context, mut call: ModelCall) -> ModelCall {
    let Some(edit) = edit_of(cx, &call.generator) else { return call };
    for (name, value) in &edit.options {
        if matches!(name.as_str(), "maxTokens" | "maxOutputTokens") {
            call.max_tokens = value.as_u64().and_then(|most| u32::try_from(most).ok());
            continue;
        }
        let options = call.provider_options.take().unwrap_or_default();
        let mut options: Map<_, _> = options.as_object().cloned().unwrap_or_default();
        // The last one of a name counts.
        options.shift_remove(name);
        options.insert(name.clone(), value.clone());
        call.provider_options = Some(options.into());
    }
    call
}
