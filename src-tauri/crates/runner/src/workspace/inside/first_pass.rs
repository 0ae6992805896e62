//! The first pass over a request: a replay that finds the coverage of its executions. The result is cached by a key of
//! everything that it depends on.

use std::sync::Arc;

use engine::event::{Event, EventKind, Recorded, RecordedReturn};
use engine::redaction::REDACTED;
use script::{Asked, Execution, Question};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::Workspace;
use super::covered::{Coverage, RecordedCoverage};
use super::following::PassProgress;
use super::probed_code::{ProbedCode, forget_old};
use super::recorded_seq::RecordedAttempts;
use crate::catalogue::loading::keep;
use crate::core::fault::Fault;
use crate::core::ordinary_files;
use crate::views::RequestRow;

/// The maximum number of cached spells. If there are more, the whole request runs again for every question.
const MAX_SPELLS: usize = 2_000_000;

#[derive(Serialize, Deserialize)]
struct Cached {
    /// The key of everything that it depends on.
    of: String,
    /// Absent if a replay of the request behaves differently than recorded.
    coverage: Option<RecordedCoverage>,
}

impl Workspace {
    /// Returns the coverage of a request. `None` if it is uncertain, because the code was changed or a replay differs.
    /// Fails if it is cancelled.
    pub(super) fn covered(
        &self,
        row: &RequestRow,
        events: &[Event],
        code: &Arc<ProbedCode>,
    ) -> Result<Option<Arc<Coverage>>, Fault> {
        let (Some(first), Some(last)) = (events.first(), events.last()) else { return Ok(None) };
        self.check_trusted()?;
        if !self.is_as_it_ran(code) {
            return Ok(None);
        }
        let (version, data) = (script::version(), &self.data);
        let times = (first.at, last.at);
        let of = format!("{version} {} {data} {} {} {} {times:?}", code.hash, row.id, last.seq, events.len());
        if let Some(known) = self.probed.coverages.get(&of) {
            return Ok(known);
        }
        let folder = self.cache().join("coverage");
        let file = folder.join(format!("{}.json", &blake3::hash(of.as_bytes()).to_hex()[..32]));
        let on_disk = || {
            let text = ordinary_files::read_text(&file, ordinary_files::FILE_BYTES).ok()?;
            engine::data::from_json::<Cached>(&text).ok().filter(|cached| cached.of == of)
        };
        let cached = match on_disk() {
            Some(cached) => cached,
            None => {
                let cached = Cached { of: of.clone(), coverage: self.cover(row, events, code)? };
                // Ignore errors: a result that cannot be cached is computed again.
                let _ = keep(&folder, &file, &cached);
                forget_old(&folder);
                cached
            }
        };
        let made = cached.coverage.map(|recorded| Arc::new(Coverage::of(recorded)));
        self.probed.coverages.keep(of, made.clone());
        Ok(made)
    }

    fn cover(
        &self,
        row: &RequestRow,
        events: &[Event],
        code: &Arc<ProbedCode>,
    ) -> Result<Option<RecordedCoverage>, Fault> {
        let (answer, cancel) = self.probed.following.run(events.len() as u64, |watch| {
            self.ask_whole(row, events.to_vec(), code, Question::default(), Asked::Coverage, watch)
        });
        if cancel.is_cancelled() {
            return Err(Fault::refused("the question was cancelled before the request had run again"));
        }
        let mut answer = answer?;
        let probed = std::mem::take(&mut answer.replayed.probed);
        if answer.note.is_some() || answer.replayed.result.first.is_some() || probed.spells.len() > MAX_SPELLS {
            return Ok(None);
        }
        let numbers = answer.numbers();
        let (mut spells, mut last) = (probed.spells, (0, numbers.of(0).0));
        for spell in &mut spells {
            if spell.seq != last.0 {
                last = (spell.seq, numbers.of(spell.seq).0);
            }
            spell.seq = last.1;
        }
        let (attempts, mut ran) = (RecordedAttempts::read(events), probed.ran);
        for ran in &mut ran {
            let mut execution = Execution { path: ran.path.clone(), attempt: ran.attempt };
            attempts.name_recorded(&mut execution);
            ran.attempt = execution.attempt;
        }
        let is_redacted = events.iter().any(|event| is_redacted(&event.kind));
        Ok(Some(RecordedCoverage { ran, spells, is_redacted }))
    }

    /// Sets a follower of the progress of first passes. It gets `None` when a pass has ended.
    pub fn follow_first_pass(&self, follower: impl Fn(Option<PassProgress>) + Send + Sync + 'static) {
        self.probed.following.follow(Arc::new(follower));
    }

    /// Cancels the first passes that run now. Their questions fail.
    pub fn cancel_first_pass(&self) {
        self.probed.following.cancel();
    }

    /// Runs only the blocks that a question is about, if they can run by themselves (SEMANTICS §10.9). Wrong for code
    /// that keeps state in memory between blocks in an unrecognised way.
    pub fn ask_blocks_alone(&self) {
        self.probed.following.be_alone();
    }
}

/// Whether an event has a placeholder for a secret that a block made or wrote. Only a replay of the whole request makes
/// it again.
fn is_redacted(kind: &EventKind) -> bool {
    match kind {
        EventKind::BlockFinished { output: Some(Recorded::Value(value)), .. }
        | EventKind::CallbackReturned { returned: Some(RecordedReturn::Value(value)), .. }
        | EventKind::StateInitialized { state: value, .. } => has_redacted(value),
        EventKind::StateChanged { operation, .. } => has_redacted(&json!(operation)),
        _ => false,
    }
}

fn has_redacted(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(REDACTED),
        Value::Array(values) => values.iter().any(has_redacted),
        Value::Object(fields) => fields.iter().any(|(key, value)| key.contains(REDACTED) || has_redacted(value)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_of_secrets_are_found_at_any_depth() {
        assert!(has_redacted(&json!({ "a": [1, { "token": REDACTED }] })));
        assert!(has_redacted(&json!(format!("Bearer {REDACTED}"))));
        assert!(!has_redacted(&json!({ "redacted": ["no", null, 7] })));
    }
}
