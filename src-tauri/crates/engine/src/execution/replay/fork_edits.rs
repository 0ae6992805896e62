//! The edits of a fork that hold from its beginning on: other inputs of blocks, other models.
//!
//! They are events of the fork, so a resume and a replay of the fork read them, too (SEMANTICS §10.6).

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Map;

use crate::execution::context::Context;
use crate::model::data::Data;
use crate::model::effects::{EffectKind, ModelCall};
use crate::model::event::{BlockKind, Event, EventKind, ModelEdit, Seq};
use crate::model::path::{is_at_or_inside, without_indices};
use crate::views::edited_block_inputs;
use crate::views::under_way::under_way;

/// The edits of one request.
#[derive(Default)]
pub(crate) struct ForkEdits {
    /// The inputs that it has instead of those that blocks are given, by path.
    pub(crate) block_inputs: HashMap<Arc<str>, (Seq, Data)>,
    /// Those of a fork's fork come later, and add to the first ones.
    models: Vec<EditedModel>,
}

/// Another model, and where it is asked.
struct EditedModel {
    seq: Seq,
    edit: ModelEdit,
    /// The blocks that had begun before the fork: they go on with the model that they have.
    under_way: HashSet<Arc<str>>,
    /// Whether several generators of the flow have the name.
    is_ambiguous: OnceCell<bool>,
}

impl ForkEdits {
    /// Reads the edits in a log.
    pub(crate) fn of(events: &[Event]) -> ForkEdits {
        let models = events.iter().enumerate().filter_map(|(at, event)| match &event.kind {
            EventKind::ModelEdited(edit) => Some(EditedModel {
                seq: event.seq,
                edit: edit.clone(),
                under_way: under_way(&events[..at]).into_keys().cloned().collect(),
                is_ambiguous: OnceCell::new(),
            }),
            _ => None,
        });
        ForkEdits { block_inputs: edited_block_inputs(events), models: models.collect() }
    }
}

impl EditedModel {
    /// Whether a block at a path asks the other model: it began after the edit, and is the generator that is meant.
    fn holds_for(&self, cx: &Context, generator: &str) -> bool {
        let path = &cx.frame.path;
        if self.edit.generator != generator || self.under_way.contains(path) {
            return false;
        }
        let Some(place) = &self.edit.at else { return true };
        let is_ambiguous = self.is_ambiguous.get_or_init(|| {
            let blocks = cx.run.flow.blocks();
            let same = blocks.iter().filter(|block| *block.name == *generator);
            same.filter(|block| block.kind() == BlockKind::Generator).count() > 1
        });
        !is_ambiguous || is_at_or_inside(&without_indices(path), &without_indices(place))
    }
}

/// The edit of the next model call of a block. None if that call is in the log from before the edit.
fn edit_of(cx: &Context, generator: &str) -> Option<ModelEdit> {
    if cx.run.edits.models.is_empty() {
        return None;
    }
    let (path, ordinal) = (&cx.frame.path, cx.peek(EffectKind::Model.as_str()));
    let recorded = match &cx.run.effect_log {
        Some(log) => log.effect(path, cx.frame.attempt, EffectKind::Model, ordinal).map(|effect| effect.seq),
        None => cx.run.replay_cache.call(path, ordinal).map(|call| call.ended),
    };
    let mut found: Option<ModelEdit> = None;
    for edited in &cx.run.edits.models {
        if recorded.is_none_or(|recorded| recorded > edited.seq) && edited.holds_for(cx, generator) {
            let known = found.get_or_insert_default();
            known.model = edited.edit.model.clone().or(known.model.take());
            known.options.extend(edited.edit.options.clone());
        }
    }
    found
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
