//! Experiments that go on: what is stored of them, and what is left to do.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::ExperimentRow as Stored;

use super::plan::{CheckedArms, LeftOfArm};
use super::report::Sample;
use super::sample::Begun;
use super::{Budget, Experiment, Score, TryQuery};
use crate::core::fault::Fault;
use crate::models::call_meter::Spent;
use crate::run::batch::Cancel;
use crate::views::{ExperimentView, LeftToDo, StoppedBy, TryPlan, TryProgress};
use crate::workspace::Workspace;

/// What is stored of an experiment besides its samples and its spending.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct StoredBody {
    pub(super) query: TryQuery,
    /// Why arms could not be run, by their numbers.
    pub(super) errors: Vec<(u32, String)>,
    pub(super) stopped: Option<StoppedBy>,
    /// Written by versions that stored the spending here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) spent: Option<Spent>,
    /// Written by versions that did not store `spent`.
    pub(super) unlogged: Spent,
}

impl StoredBody {
    pub(super) fn of(stored: &Stored) -> Result<StoredBody, Fault> {
        engine::json::from_value(stored.body.clone())
            .map_err(|error| Fault::internal(format!("experiment \"{}\" cannot be read: {error}", stored.id)))
    }

    pub(super) fn to_json(&self) -> Result<Value, Fault> {
        serde_json::to_value(self).map_err(Fault::internal)
    }
}

/// An experiment that is about to go on.
struct GoingOn {
    stored: Stored,
    body: StoredBody,
    query: TryQuery,
    is_scored_anew: bool,
}

/// An experiment that can go on: its request was read and its code evaluated, once for its plan and to go on.
pub struct Continuation {
    going_on: GoingOn,
    experiment: Experiment,
    checked: CheckedArms,
}

impl Workspace {
    /// Goes on with an experiment: runs the samples that are missing, and scores those that have no score. A score or a
    /// budget that is given takes the place of the one it was begun with; `samples` may be more than before.
    pub fn go_on_trying(
        &self,
        id: &str,
        changed: &TryQuery,
        cancel: &Cancel,
        progress: impl FnMut(TryProgress),
    ) -> Result<ExperimentView, Fault> {
        self.check_may_experiment()?;
        self.run_continuation(&self.continuation(id, changed)?, cancel, progress)
    }

    /// As [`go_on_trying`](Self::go_on_trying), with an experiment that was checked. Refused if another process has
    /// changed it since.
    pub fn run_continuation(
        &self,
        Continuation { going_on, experiment, .. }: &Continuation,
        cancel: &Cancel,
        progress: impl FnMut(TryProgress),
    ) -> Result<ExperimentView, Fault> {
        self.check_may_experiment()?;
        let GoingOn { stored, body, query, is_scored_anew } = going_on;
        if self.stored_experiment(&experiment.id)?.body != stored.body {
            let id = &experiment.id;
            return Err(Fault::refused(format!(
                "experiment \"{id}\" was changed meanwhile, perhaps by another process that goes on with it: try again"
            )));
        }
        let (query, body) = (query.clone(), body.clone());
        let body = StoredBody { query, errors: Vec::new(), stopped: None, ..body }.to_json()?;
        self.store.put_experiment(&Stored { body, ..stored.clone() }).map_err(Fault::internal)?;
        if *is_scored_anew {
            self.store.clear_scores(&experiment.id).map_err(Fault::internal)?;
        }
        self.carry_out(experiment, cancel, progress)
    }

    /// Prepares an experiment to go on, or refuses one that cannot. Writes and runs nothing.
    pub fn continuation(&self, id: &str, changed: &TryQuery) -> Result<Continuation, Fault> {
        let going_on = self.going_on(id, changed)?;
        let spending = self.spending_of(id, &going_on.body)?;
        let experiment = self.experiment_of(id.to_owned(), going_on.query.clone(), spending)?;
        let checked = self.check_query(&experiment)?;
        Ok(Continuation { going_on, experiment, checked })
    }

    /// What is left to do of an experiment, and what that will take. Writes and runs nothing.
    pub fn plan_going_on(&self, id: &str, changed: &TryQuery) -> Result<TryPlan, Fault> {
        self.plan_continuation(&self.continuation(id, changed)?)
    }

    /// As [`plan_going_on`](Self::plan_going_on), of an experiment that was checked.
    pub fn plan_continuation(
        &self,
        Continuation { going_on, experiment, checked }: &Continuation,
    ) -> Result<TryPlan, Fault> {
        let GoingOn { query, is_scored_anew, .. } = going_on;
        let known = self.store.samples(&experiment.id).map_err(Fault::internal)?;
        let known: HashMap<(u32, u32), Sample> =
            known.into_iter().map(|one| ((one.0.arm, one.0.number), one)).collect();
        let left_of = |arm: u32| {
            let mut left = LeftOfArm::default();
            for number in 1..=query.samples() {
                let (row, request) =
                    known.get(&(arm, number)).map_or((None, None), |(row, of)| (Some(row), of.as_ref()));
                let status = request.map(|request| self.request_row(request.clone()).status);
                let has_score = row.is_some_and(|row| row.score.is_some()) && !*is_scored_anew;
                match status.map(|status| (status, Begun::of(status))) {
                    None => left.begins += 1,
                    Some((_, Begun::Stopped)) => left.continues += 1,
                    Some((_, Begun::Runs)) => {}
                    Some((status, Begun::Ended)) => {
                        left.scores += u32::from(query.score.is_some() && !has_score && Begun::is_over(status));
                    }
                }
            }
            left
        };
        let mut plan = self.plan_of_experiment(experiment, checked, &left_of);
        let spent = self.meter_of(experiment)?.spent();
        plan.notes.extend(in_budget(experiment, spent));
        let can_run = |at: usize| checked.get(at).is_none_or(|(_, variant)| variant.is_ok());
        let mut left = LeftToDo::default();
        for (_, (number, _)) in experiment.arms.iter().enumerate().filter(|(at, _)| can_run(*at)) {
            let LeftOfArm { begins, continues, scores } = left_of(*number);
            left.to_begin += begins;
            left.to_continue += continues;
            left.to_score += scores;
        }
        plan.left = Some(left);
        Ok(plan)
    }

    /// Reads an experiment and what it is to be changed to.
    fn going_on(&self, id: &str, changed: &TryQuery) -> Result<GoingOn, Fault> {
        let stored = self.stored_experiment(id)?;
        let body = StoredBody::of(&stored)?;
        let mut query = body.query.clone();
        let is_other = |score: &Score| Some(score) != query.score.as_ref();
        let is_scored_anew = changed.score.as_ref().is_some_and(is_other);
        query.score = changed.score.clone().or(query.score);
        query.budget = changed.budget.or(query.budget);
        query.jobs = changed.jobs.or(query.jobs);
        query.samples = query.samples().max(changed.samples);
        Ok(GoingOn { stored, body, query, is_scored_anew })
    }

    pub(super) fn stored_experiment(&self, id: &str) -> Result<Stored, Fault> {
        let found = self.store.experiment(id).map_err(Fault::internal)?;
        found.ok_or_else(|| Fault::not_found(format!("unknown experiment \"{id}\"")))
    }
}

/// How much of a budget was spent before, and what is left of it.
fn in_budget(Experiment { query, .. }: &Experiment, spent: Spent) -> Option<String> {
    let left = |most: f64, spent: f64| (most - spent).max(0.0);
    Some(match query.budget? {
        Budget::Calls(most) => {
            let left = most.saturating_sub(spent.calls);
            format!("{} of the {most} model calls of the budget were made before; {left} are left", spent.calls)
        }
        Budget::Tokens(most) => {
            let left = left(most.into(), spent.tokens);
            format!("{:.0} of the {most} tokens of the budget were used before; {left:.0} are left", spent.tokens)
        }
        Budget::Usd(most) => {
            let left = left(most, spent.usd);
            format!("{:.4} of the {most} US dollars of the budget were spent before; {left:.4} are left", spent.usd)
        }
    })
}
