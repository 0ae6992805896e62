//! The edits of a fork that hold from its beginning on: other inputs of blocks, other models.
//!
//! They are events of the fork, so a resume and a replay of the fork read them, too (SEMANTICS §10.6).

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::model::data::Data;
use crate::model::event::{BlockKind, Event, ModelEdit, Seq};
use crate::model::flow::Flow;
use crate::model::path::{is_at_or_inside, without_indices};
use crate::views::fork_edits::{ForkEdit, edited_block_inputs};
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
        let models = events.iter().enumerate().filter_map(|(at, event)| match ForkEdit::of(event)? {
            ForkEdit::Model(edit) => Some(EditedModel {
                seq: event.seq,
                edit: edit.clone(),
                under_way: under_way(&events[..at]).into_keys().cloned().collect(),
                is_ambiguous: OnceCell::new(),
            }),
            _ => None,
        });
        ForkEdits { block_inputs: edited_block_inputs(events), models: models.collect() }
    }

    /// Returns whether no model is edited.
    pub(crate) fn has_no_models(&self) -> bool {
        self.models.is_empty()
    }

    /// Returns the edit of a model call of a block, whose end is event `recorded` if the log has it: none if that is
    /// from before the edit.
    pub(crate) fn of_call(
        &self,
        path: &Arc<str>,
        generator: &str,
        recorded: Option<Seq>,
        flow: &Flow,
    ) -> Option<ModelEdit> {
        let mut found: Option<ModelEdit> = None;
        for edited in &self.models {
            if recorded.is_none_or(|recorded| recorded > edited.seq) && edited.holds_for(path, generator, flow) {
                let known = found.get_or_insert_default();
                known.model = edited.edit.model.clone().or(known.model.take());
                known.options.extend(edited.edit.options.clone());
            }
        }
        found
    }
}

impl EditedModel {
    /// Whether a block at a path asks the other model: it began after the edit, and is the generator that is meant.
    fn holds_for(&self, path: &Arc<str>, generator: &str, flow: &Flow) -> bool {
        if self.edit.generator != generator || self.under_way.contains(path) {
            return false;
        }
        let Some(place) = &self.edit.at else { return true };
        let is_ambiguous = self.is_ambiguous.get_or_init(|| {
            let blocks = flow.blocks();
            let same = blocks.iter().filter(|block| *block.name == *generator);
            same.filter(|block| block.kind() == BlockKind::Generator).count() > 1
        });
        !is_ambiguous || is_at_or_inside(&without_indices(path), &without_indices(place))
    }
}
