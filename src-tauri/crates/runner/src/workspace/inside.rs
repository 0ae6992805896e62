//! Questions about the inside of blocks of recorded requests: the code that ran is bundled with probes and replayed
//! with the effects of the log (ARCHITECTURE §8.10).
//!
//! Nothing is written but bundles in the cache. Must not ask a model or the network: a replay does not.

mod at;
mod coverage;
mod handle;
mod print;
mod probed_code;
mod recorded_seq;
mod schedule;
mod step;
mod stops;

pub use at::{InsideAt, Move};
pub use print::PrintQuery;
pub use schedule::Schedule;
pub use step::StepQuery;
pub use stops::{Breakpoint, Stopped, Stops};

pub(super) use probed_code::ProbedCodes;

use std::sync::Arc;

use engine::event::Event;
use script::{Asked, Question};

use super::Workspace;
use crate::core::fault::Fault;
use crate::run::replay::{Replayed, ReplayedCode, replay};
use crate::views::RequestRow;
use probed_code::ProbedCode;
use recorded_seq::RecordedAttempts;

/// What a question found out of one request.
struct Answer {
    replayed: Replayed,
    /// The recorded events.
    recorded: Vec<Event>,
}

impl Workspace {
    /// Replays a request with probes for a question. Attempts are those of the recording.
    fn ask(
        &self,
        row: &RequestRow,
        recorded: Vec<Event>,
        code: &Arc<ProbedCode>,
        question: Question,
        mut asked: Asked,
    ) -> Result<Answer, Fault> {
        self.check_trusted()?;
        let attempts = RecordedAttempts::read(&recorded);
        if let Asked::Trace { of, .. } | Asked::Values { of: Some(of), .. } = &mut asked {
            attempts.name_counted(of)?;
        }
        let bundle = self.probed_bundle(code, question)?;
        // A flow that is gone, or does not load today, can be asked all the same.
        let loaded = self.with_catalogue(|catalogue| catalogue.find(&row.flow)).ok();
        let end_record = loaded.map(|loaded| loaded.end_record.clone());
        let probed = ReplayedCode::Probed { bundle, kind: row.flow.clone(), asked, end_record };
        let input = self.replay_input(row, recorded.clone(), probed)?;
        let mut replayed = replay(&self.dir, input)?;
        let probed = &mut replayed.probed;
        probed.hits.iter_mut().for_each(|hit| attempts.name_recorded(&mut hit.execution));
        probed.stretches.iter_mut().for_each(|stretch| attempts.name_recorded(&mut stretch.execution));
        Ok(Answer { replayed, recorded })
    }
}

/// Says where a replay differs from the recording; what was found before that holds.
fn difference(replayed: &Replayed) -> Option<String> {
    let divergence = replayed.result.divergence.as_ref()?;
    if divergence.found.0["error"]["code"] == "limit_exceeded" {
        let message = divergence.found.0["error"]["message"].as_str().unwrap_or_default();
        return Some(format!(
            "the question was ended by a limit: {message}; what was found before that holds, and --limit ends it sooner"
        ));
    }
    Some(format!(
        "the code that ran does something else today at {} (event {}): packages, prompt files or Flowglass changed \
         since; what was found before that holds",
        divergence.path, divergence.seq
    ))
}
