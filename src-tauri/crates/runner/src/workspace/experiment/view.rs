//! Experiments as they are shown: read from what is stored of them, and from the logs of their samples.

use store::{ExperimentRow as Stored, SampleRow};

use super::axes::Arm;
use super::report::{arm_view, beside_base, by_arm};
use super::sample::Begun;
use super::{BASE, ModelsBy, StoredBody};
use crate::core::fault::Fault;
use crate::views::{ArmSummary, ArmView, ExperimentRow, ExperimentView, StoppedBy};
use crate::workspace::Workspace;

impl Workspace {
    /// The experiments, newest first.
    pub fn experiments(&self, limit: u64, offset: u64) -> Result<Vec<ExperimentRow>, Fault> {
        let stored = self.store.experiments(limit, offset).map_err(Fault::internal)?;
        let row = |stored: Stored| {
            let query = StoredBody::of(&stored)?.query;
            let arms = query.arms()?;
            let known = self.store.samples(&stored.id).map_err(Fault::internal)?;
            let has_ended = |row: &SampleRow| {
                self.store.request(&row.request).ok().flatten().is_some_and(|row| Begun::of(row.status) == Begun::Ended)
            };
            let samples = known.iter().filter(|row| has_ended(row)).count() as u32;
            let sampled = arms.len() as u32 + u32::from(!arms.iter().all(Arm::is_base));
            Ok(ExperimentRow {
                id: stored.id,
                flow: self.request(&stored.request).ok().map(|row| row.flow),
                request_id: stored.request,
                started_at: stored.at,
                axes: arms.first().map(|arm| arm.axes().keys().cloned().collect()).unwrap_or_default(),
                arms: arms.len() as u32,
                samples,
                wanted: sampled * query.samples(),
                at: query.at,
            })
        };
        stored.into_iter().map(row).collect()
    }

    /// What an experiment has found so far.
    pub fn experiment(&self, id: &str) -> Result<ExperimentView, Fault> {
        let stored = self.stored_experiment(id)?;
        self.view_of_experiment(&stored)
    }

    pub(super) fn view_of_experiment(&self, stored: &Stored) -> Result<ExperimentView, Fault> {
        let StoredBody { query, errors, stopped } = StoredBody::of(stored)?;
        let own = query.arms()?;
        let has_base = !own.iter().all(Arm::is_base);
        let mut samples = by_arm(self.store.samples(&stored.id).map_err(Fault::internal)?);
        let original = self.read_run(&stored.request)?;
        let is_mock = original.as_ref().is_some_and(|read| match query.models_by {
            ModelsBy::AsRecorded => read.row.mock,
            ModelsBy::Real => false,
            ModelsBy::Mock | ModelsBy::MockFile(_) => true,
        });
        let mut view = |number: u32, id: &str, arm: &Arm| -> Result<ArmView, Fault> {
            let mut found = Vec::new();
            for row in samples.remove(&number).unwrap_or_default() {
                let Some(original) = &original else { continue };
                found.extend(self.sample_view(&row, &original.end)?);
            }
            let error = errors.iter().find(|(of, _)| *of == number).map(|(_, error)| error.clone());
            Ok(ArmView { error, ..arm_view(id, arm, found) })
        };
        let base = if has_base { Some(view(BASE, "base", &Arm::default())?) } else { None };
        let mut arms = Vec::new();
        for (number, arm) in (1..).zip(&own) {
            arms.push(view(number, &number.to_string(), arm)?);
        }
        let base =
            base.or_else(|| arms.first().cloned()).unwrap_or_else(|| arm_view("base", &Arm::default(), Vec::new()));
        if has_base {
            for arm in &mut arms {
                arm.summary.beside_base = beside_base(arm, &base, is_mock);
            }
        }
        let all: Vec<&ArmView> = arms.iter().chain(has_base.then_some(&base)).collect();
        let there: u32 = all.iter().map(|arm| arm.summary.n + arm.summary.waiting).sum();
        let missing = (all.len() as u32 * query.samples()).saturating_sub(there);
        let samples = all.iter().flat_map(|arm| &arm.samples);
        let running = samples.filter(|sample| Begun::of(sample.status) == Begun::Runs).count() as u32;
        let mut notes = notes(&base, original.is_none(), is_mock, query.samples());
        if running > 0 {
            notes.push(format!("{running} of the missing samples are being run, perhaps by another process"));
        }
        Ok(ExperimentView {
            id: stored.id.clone(),
            request_id: stored.request.clone(),
            at: query.at.clone(),
            started_at: stored.at,
            base,
            arms,
            stopped: stopped
                .filter(|_| missing > 0)
                .or_else(|| (missing > running && errors.is_empty()).then_some(StoppedBy::Cancelled)),
            missing,
            notes,
        })
    }
}

/// What one must know to read an experiment.
fn notes(base: &ArmView, is_gone: bool, is_mock: bool, samples: u32) -> Vec<String> {
    let mut notes = Vec::new();
    if is_gone {
        notes.push("the request was deleted, so its samples are not compared with it".to_owned());
    }
    if is_mock && samples > 1 {
        notes.push(
            "models are mocked, so every sample of an arm gets the same answers; one sample is enough unless the flow \
             itself draws random values"
                .to_owned(),
        );
    }
    let ArmSummary { n, waiting, differing, .. } = &base.summary;
    if *differing > 0 {
        notes.push(format!(
            "with nothing changed, {differing} of {n} {} from the request: the flow differs by itself",
            if *n == 1 { "sample differs" } else { "samples differ" }
        ));
    }
    if *waiting > 0 {
        notes.push("samples wait for an answer that the request was given: no approval is carried over".to_owned());
    }
    notes
}
