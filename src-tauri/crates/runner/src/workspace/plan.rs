//! Plans of a resume, a retry or a fork, made before anything runs.
//!
//! A plan uses the preparation of the real action, so that it is refused for the same reasons.

use std::sync::Arc;

use engine::error::FlowError;
use engine::event::{Event, Seq};
use engine::plan::RunsAgain;
use engine::views::uncertain_effects::may_have_happened;

use super::resume::Next;
use super::{At, Edits, Mock, Resolution, Workspace};
use crate::core::fault::Fault;
use crate::run::plan::{PlanInput, PlanResult, SetField, plan};
use crate::views::{AgainRow, ErrorInfo, MayHaveHappened, PlanRow};

impl Workspace {
    /// Plans a [`resume`](Self::resume). Writes nothing and runs no block.
    /// Without a resolution the plan applies to every answer.
    pub fn plan_resume(&self, request: &str, mock: &Mock, given: Option<Resolution>) -> Result<PlanRow, Fault> {
        let next = self.resuming(request, mock, given)?;
        let recorded = next.before.events.clone();
        self.plan_of(next, recorded, Seq::MAX, Vec::new())
    }

    /// Plans a [`retry`](Self::retry). Writes nothing and runs no block.
    pub fn plan_retry(&self, request: &str, mock: &Mock) -> Result<PlanRow, Fault> {
        let (next, recorded) = self.retrying(request, mock)?;
        self.plan_of(next, Arc::new(recorded), Seq::MAX, Vec::new())
    }

    /// Plans a [`fork`](Self::fork). Writes nothing and runs no block.
    pub fn plan_fork(&self, request: &str, at: &At, edits: Edits, mock: &Mock) -> Result<PlanRow, Fault> {
        let set = self.set_fields(request, &edits);
        let (next, leaves) = self.forking(request, at, edits, mock)?;
        let recorded = next.before.events.clone();
        self.plan_of(next, recorded, leaves, set)
    }

    fn plan_of(&self, next: Next, recorded: Arc<Vec<Event>>, until: Seq, set: Vec<SetField>) -> Result<PlanRow, Fault> {
        let Next { loaded_flow, asked, before, .. } = next;
        let common = &recorded[..recorded.partition_point(|event| event.seq <= until)];
        let may_have_happened = may_have_happened(common).iter().map(MayHaveHappened::from).collect();
        let (config, store) = (self.config.clone(), self.store.clone());
        let input = PlanInput { loaded_flow, config, asked, before, recorded, set, store };
        let PlanResult { plan, error, undeclared } = plan(&self.dir, input)?;
        let row = |block: &RunsAgain| AgainRow {
            path: block.path.to_string(),
            goes_on: block.goes_on,
            models_asked: block.model_calls as u32,
        };
        let again: Vec<AgainRow> = plan.again.iter().map(row).collect();
        let goes_on = again.iter().filter(|block| block.goes_on).count();
        let is_same = plan.new.is_empty() && plan.orphaned.is_empty() && plan.drift.is_empty();
        let paths = |of: &[Arc<str>]| of.iter().map(ToString::to_string).collect::<Vec<_>>();
        Ok(PlanRow {
            from_log: plan.from_log.len() as u32,
            inside_from_log: Some(plan.inside_from_log as u32).filter(|inside| *inside > 0),
            goes_on: Some(goes_on as u32).filter(|blocks| *blocks > 0),
            runs_again: (again.len() - goes_on) as u32,
            models_asked: again.iter().map(|block| block.models_asked).sum(),
            may_ask_more: plan.again.iter().any(|block| block.may_call_more),
            may_have_happened,
            again,
            error: error.as_ref().map(ErrorInfo::from),
            is_refused_answer: error.as_ref().is_some_and(FlowError::is_refused_answer),
            reused: if is_same { Vec::new() } else { paths(&plan.from_log) },
            orphaned: paths(&plan.orphaned),
            new: paths(&plan.new),
            drift: plan.drift,
            undeclared,
        })
    }
}
