//! The answers that identical calls of samples with one number share. Must not know of a budget.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::effects::{Listener, ModelDelta, ModelReply};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::core::sync::lock;

/// Who asks what: the number of the sample, the call, and how often the sample has made that call before.
pub(super) type AskedBy = (u32, blake3::Hash, u32);

/// An answer that identical calls share.
#[derive(Clone)]
pub(crate) struct Answered {
    pub(crate) reply: ModelReply,
    /// How long it took from the first call to the answer.
    pub(crate) took: Duration,
}

/// The answers by who asked first.
#[derive(Default)]
pub(super) struct SharedAnswers(Mutex<HashMap<AskedBy, Arc<OnceCell<Answered>>>>);

impl SharedAnswers {
    /// The answer to a call: there, on its way, or still to be asked for.
    pub(super) fn of(&self, asked: AskedBy) -> Arc<OnceCell<Answered>> {
        lock(&self.0).entry(asked).or_default().clone()
    }

    /// Keeps an answer that was given before. The first one of a call counts.
    pub(super) fn keep(&self, asked: AskedBy, answered: Answered) {
        if let Entry::Vacant(vacant) = lock(&self.0).entry(asked) {
            vacant.insert(Arc::new(OnceCell::new_with(Some(answered))));
        }
    }
}

/// Sends a complete reply to the listener.
pub(super) fn send_whole(listener: Option<&Listener>, reply: &ModelReply) {
    let Some(listener) = listener else { return };
    reply.reasoning.iter().for_each(|text| listener(ModelDelta::Reasoning(text.clone())));
    reply.text.iter().for_each(|text| listener(ModelDelta::Text(text.clone())));
}

/// The hash of what a model is asked.
pub(crate) fn hash_of(call: &Value) -> blake3::Hash {
    blake3::hash(call.to_string().as_bytes())
}
