//! Questions about the inside of blocks of recorded requests: the code that ran is bundled with probes and replayed
//! with the effects of the log (ARCHITECTURE §8.10).
//!
//! Nothing is written but bundles in the cache. Must not ask a model or the network: a replay does not.

mod alone;
mod at;
mod coverage;
mod covered;
mod ended_by;
mod executions;
mod first_difference;
mod first_pass;
mod following;
mod handle;
mod line;
mod locals;
mod opened;
mod parts;
mod print;
mod probed_code;
mod recorded_seq;
mod schedule;
mod scopes;
mod step;
mod stops;
mod thrown;
mod trace;

pub use at::{InsideAt, Move};
pub use following::PassProgress;
pub use print::PrintQuery;
pub use schedule::Schedule;
pub use step::StepQuery;
pub use stops::{Breakpoint, Stopped, Stops};

pub(super) use probed_code::ProbedCodes;

use std::sync::Arc;

use engine::event::{Event, EventKind, Seq};
use script::{Asked, Question};
use store::EventQuery;

use super::Workspace;
use crate::core::fault::Fault;
use crate::run::replay::{Replayed, ReplayedCode, Watch, replay};
use crate::views::RequestRow;
use ended_by::{ended_by, went_further};
use parts::Parts;
pub(super) use probed_code::ProbedCode;
use recorded_seq::{RecordedAttempts, RecordedSeq};

/// What a question found out of one request.
struct Answer {
    replayed: Replayed,
    /// The recorded events.
    recorded: Vec<Event>,
    /// What is to be said of the answer: that the run differs from the recording, or may.
    note: Option<String>,
    /// From which event on the run is another one, because what its code is made of has changed since.
    is_another_from: Option<Seq>,
    /// Says which limit of memory or time ended the replay, if one did: then what was found is not all.
    ended_by: Option<String>,
    /// How many executions of blocks ran for it.
    ran: usize,
    /// How many hits there are, whatever the limit; `None` if it is not known.
    total: Option<u64>,
    /// Whether the events of hits and statements are those of the recording already.
    is_recorded: bool,
}

impl Answer {
    /// Returns what maps the events of hits and statements to recorded ones.
    fn numbers(&self) -> RecordedSeq {
        if self.is_recorded {
            RecordedSeq::as_recorded(&self.recorded)
        } else {
            RecordedSeq::new(&self.recorded, &self.replayed.events)
        }
    }
}

impl Workspace {
    /// Answers a question about a request: by the executions that it is about, if they can run by themselves, and else
    /// by a replay of the whole request. Attempts are those of the recording.
    fn ask(
        &self,
        row: &RequestRow,
        recorded: Vec<Event>,
        code: &Arc<ProbedCode>,
        question: Question,
        mut asked: Asked,
    ) -> Result<Answer, Fault> {
        self.check_trusted()?;
        if let Asked::Trace { of, .. } | Asked::Values { of: Some(of), .. } = &mut asked {
            RecordedAttempts::read(&recorded).name_counted(of)?;
        }
        if let Some(answer) = self.ask_alone(row, &recorded, code, &question, &asked)? {
            return Ok(answer);
        }
        self.ask_whole(row, recorded, code, question, asked, Watch::default())
    }

    /// Replays a request with probes for a question. The execution that it names is counted as a replay does.
    fn ask_whole(
        &self,
        row: &RequestRow,
        recorded: Vec<Event>,
        code: &Arc<ProbedCode>,
        question: Question,
        asked: Asked,
        watch: Watch,
    ) -> Result<Answer, Fault> {
        let attempts = RecordedAttempts::read(&recorded);
        let bundle = self.probed_bundle(code, Some(question))?;
        // A flow that is gone, or does not load today, can be asked all the same.
        let loaded = self.with_catalogue(|catalogue| catalogue.find(&row.flow)).ok();
        let end_record = loaded.map(|loaded| loaded.end_record.clone());
        let probed = ReplayedCode::Probed { bundle, kind: row.flow.clone(), asked, end_record };
        let mut input = self.replay_input(row, recorded.clone(), probed)?;
        input.watch = watch;
        let mut replayed = replay(&self.dir, input)?;
        let probed = &mut replayed.probed;
        probed.hits.iter_mut().for_each(|hit| attempts.name_recorded(&mut hit.execution));
        probed.stretches.iter_mut().for_each(|stretch| attempts.name_recorded(&mut stretch.execution));
        let has_changed = !self.is_as_it_ran(code);
        let ended_by = ended_by(&recorded, &replayed.events);
        let note = ended_by.clone().or_else(|| went_further(&recorded, &replayed));
        let note = note.or_else(|| difference(&replayed, has_changed));
        let note = note.or_else(|| has_changed.then(|| format!("{CHANGED}: values may differ")));
        let divergence = replayed.result.first.as_ref().map(|first| first.divergence.seq);
        let is_another_from = divergence.filter(|_| has_changed);
        let ran = replayed.events.iter().filter(|event| matches!(event.kind, EventKind::BlockStarted { .. })).count();
        // A limit may have ended the search.
        let is_whole = !replayed.probed.is_full && ended_by.is_none();
        let total = is_whole.then_some(replayed.probed.hits.len() as u64);
        Ok(Answer { replayed, recorded, note, is_another_from, ended_by, ran, total, is_recorded: false })
    }
}

/// The code of a part of a request, or why nothing can be asked of it.
pub(super) type Known = Result<Arc<ProbedCode>, String>;

impl Workspace {
    /// Returns the parts of a request by the versions of its code, without reading all of its log.
    fn parts_of_request(&self, request: &str) -> Result<Parts, Fault> {
        let query = |kind: &str| EventQuery { kind: Some(kind.to_owned()), ..EventQuery::default() };
        let mut events = self.store.events(request, &query("request_started")).map_err(Fault::internal)?;
        events.extend(self.store.events(request, &query("request_resumed")).map_err(Fault::internal)?);
        self.parts(&events)
    }

    /// Returns the newest code that a request ran.
    pub(super) fn code_of_request(&self, request: &str) -> Result<Known, Fault> {
        let newest = self.parts_of_request(request)?.all.pop();
        Ok(newest.map_or_else(|| Err("it has not begun".to_owned()), |part| part.code))
    }
}

/// What is said where the stored code makes another bundle today.
const CHANGED: &str = "packages, data files, tsconfig.json or the bundler of this program have changed since the \
                       request ran";

/// Says where a replay differs from the recording; what was found before that holds.
fn difference(replayed: &Replayed, has_changed: bool) -> Option<String> {
    let divergence = &replayed.result.first.as_ref()?.divergence;
    if has_changed {
        return Some(format!(
            "{CHANGED}: from {} on (event {}) the code does something else, so what comes then is left out, and values \
             shortly before it may differ, too",
            divergence.path, divergence.seq
        ));
    }
    Some(format!(
        "from {} on (event {}) the run differs from the recording: what the code uses has changed since, an expression \
         changed what it looked at, or the code sees its probes (texts of functions and stacks, depth of recursion)",
        divergence.path, divergence.seq
    ))
}
