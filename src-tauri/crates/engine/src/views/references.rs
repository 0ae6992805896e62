//! The earlier events that an event takes values from: whoever reads a part of a log reads these, too.

use super::fork_edits::edited_value;
use super::model_requests::Reference;
use crate::model::effects::EffectKind;
use crate::model::event::{EventKind, Recorded, Seq};

/// The events that an event takes values from itself; each of them may refer to earlier ones again.
pub fn references(kind: &EventKind) -> Vec<Seq> {
    let of = |recorded: &Recorded| match recorded {
        Recorded::Of(seq) => vec![*seq],
        Recorded::Value(_) | Recorded::Undefined => Vec::new(),
    };
    match kind {
        EventKind::RequestStarted { input, .. }
        | EventKind::BlockStarted { input, .. }
        | EventKind::BlockInput { input } => of(input),
        EventKind::RequestFinished { output, .. } | EventKind::BlockFinished { output, .. } => {
            output.as_ref().map(of).unwrap_or_default()
        }
        EventKind::EffectStarted { effect: EffectKind::Model, request: Some(request), .. } => {
            let entries = request.get("messages").and_then(serde_json::Value::as_array).into_iter().flatten();
            let mut seqs: Vec<Seq> = entries.filter_map(|entry| Some(Reference::read(entry)?.of)).collect();
            seqs.dedup();
            seqs
        }
        kind => edited_value(kind).map(of).unwrap_or_default(),
    }
}
