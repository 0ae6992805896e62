//! Views of experiments, from their stored data and the logs of their samples.

use std::collections::{HashMap, HashSet};

use engine::event::RequestStatus;
use store::ExperimentRow as Stored;

use super::axes::Arm;
use super::going_on::StoredBody;
use super::report::by_arm;
use super::sample::Begun;
use super::scores::{ScoreKind, arm_view, beside_base, summary};
use super::{BASE, ModelsBy};
use crate::core::fault::Fault;
use crate::views::{ArmSummary, ArmView, ExperimentRow, ExperimentView, SampleView, StoppedBy};
use crate::workspace::Workspace;
use crate::workspace::known_samples::OriginalRun;

impl Workspace {
    /// The experiments, newest first.
    pub fn experiments(&self, limit: u64, offset: u64) -> Result<Vec<ExperimentRow>, Fault> {
        let stored = self.store.experiments(limit, offset).map_err(Fault::internal)?;
        let row = |stored: Stored| {
            let query = StoredBody::of(&stored)?.query;
            let arms = query.arms()?;
            let samples = self.store.count_samples(&stored.id, &Begun::NOT_ENDED).map_err(Fault::internal)? as u32;
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

    /// The results of an experiment so far.
    pub fn experiment(&self, id: &str) -> Result<ExperimentView, Fault> {
        let stored = self.stored_experiment(id)?;
        self.view_of_experiment(&stored)
    }

    pub(super) fn view_of_experiment(&self, stored: &Stored) -> Result<ExperimentView, Fault> {
        let StoredBody { query, errors, stopped, .. } = StoredBody::of(stored)?;
        let own = query.arms()?;
        let has_base = !own.iter().all(Arm::is_base);
        let rows = self.store.samples(&stored.id).map_err(Fault::internal)?;
        let gone = rows.iter().filter(|(_, request)| request.is_none()).count();
        let mut samples = by_arm(rows);
        let errors: HashMap<u32, String> = errors.into_iter().rev().collect();
        let original = self.original_of(&stored.request)?;
        let is_mock = original.as_ref().is_some_and(|original| match query.models_by {
            ModelsBy::AsRecorded => original.row.mock,
            ModelsBy::Real => false,
            ModelsBy::Mock | ModelsBy::MockFile(_) => true,
        });
        let mut view = |number: u32, id: &str, arm: &Arm| -> Result<ArmView, Fault> {
            let mut found = Vec::new();
            for (row, request) in samples.remove(&number).unwrap_or_default() {
                let (Some(_), Some(request)) = (&original, request) else { continue };
                found.push(self.sample_view(&row, self.request_row(request), original.as_ref())?);
            }
            let error = errors.get(&number).cloned();
            let has_ended = |sample: &&SampleView| Begun::of(sample.status) == Begun::Ended;
            let ended: HashSet<u32> = found.iter().filter(has_ended).map(|sample| sample.number).collect();
            let missing: Vec<u32> = (1..=query.samples()).filter(|number| !ended.contains(number)).collect();
            let started: HashSet<u32> = found.iter().map(|sample| sample.number).collect();
            let not_started = missing.iter().copied().filter(|number| !started.contains(number)).collect();
            Ok(ArmView { error, missing, not_started, ..arm_view(id, arm, found) })
        };
        let base = if has_base { Some(view(BASE, "base", &Arm::default())?) } else { None };
        let mut arms = Vec::new();
        for (number, arm) in (1..).zip(&own) {
            arms.push(view(number, &number.to_string(), arm)?);
        }
        let mut base =
            base.or_else(|| arms.first().cloned()).unwrap_or_else(|| arm_view("base", &Arm::default(), Vec::new()));
        let kind = ScoreKind::of(query.score.as_ref(), arms.iter().chain([&base]).flat_map(|arm| &arm.samples));
        for arm in arms.iter_mut().chain([&mut base]) {
            arm.summary = summary(&arm.samples, kind, &|values| self.known_samples.interval_of(values));
        }
        if has_base {
            for arm in &mut arms {
                arm.summary.beside_base = beside_base(arm, &base, kind, is_mock);
            }
        }
        let all: Vec<&ArmView> = arms.iter().chain(has_base.then_some(&base)).collect();
        let there: u32 = all.iter().map(|arm| arm.summary.n + arm.summary.waiting).sum();
        let missing = (all.len() as u32 * query.samples()).saturating_sub(there);
        let samples = all.iter().flat_map(|arm| &arm.samples);
        let running = samples.filter(|sample| Begun::of(sample.status) == Begun::Runs).count() as u32;
        let is_unscored = |sample: &SampleView| {
            Begun::is_over(sample.status) && sample.score.is_none() && sample.score_error.is_none()
        };
        let ended = all.iter().flat_map(|arm| &arm.samples).filter(|sample| is_unscored(sample)).count() as u32;
        let unscored = if query.score.is_some() { ended } else { 0 };
        let mut notes = notes(&base, is_mock, query.samples());
        notes.extend(self.why_base_differs(&base, original.as_ref())?);
        if running > 0 {
            notes.push(format!("{running} of the missing samples are being run, perhaps by another process"));
        } else if gone > 0 {
            let samples = if gone == 1 { "1 sample was".to_owned() } else { format!("{gone} samples were") };
            notes.push(format!("{samples} deleted or never begun"));
        }
        Ok(ExperimentView {
            id: stored.id.clone(),
            request_id: stored.request.clone(),
            is_request_gone: original.is_none(),
            at: query.at.clone(),
            started_at: stored.at,
            base,
            arms,
            // An experiment cannot continue without its request.
            stopped: stopped
                .filter(|_| missing + unscored > 0)
                .or_else(|| (missing > running && errors.is_empty()).then_some(StoppedBy::Cancelled))
                .filter(|_| original.is_some()),
            missing,
            unscored,
            notes,
        })
    }

    /// A note on the base arm: why its samples differ from the request, as far as that is known.
    fn why_base_differs(&self, base: &ArmView, original: Option<&OriginalRun>) -> Result<Option<String>, Fault> {
        let Some(original) = original else {
            let note = "the request was deleted, so its samples are not compared with it";
            return Ok(Some(note.to_owned()));
        };
        let ArmSummary { n, differing, .. } = &base.summary;
        if *differing == 0 {
            return Ok(None);
        }
        let sample = base.samples.iter().find(|sample| sample.differs.output || sample.differs.state);
        let row = sample.map(|sample| self.store.request(&sample.request_id).map_err(Fault::internal)).transpose()?;
        let facts = row.flatten().map(|row| self.facts(self.request_row(row), Some(original))).transpose()?;
        let is_edited = facts.is_some_and(|facts| facts.codes.iter().any(|code| !original.codes.contains(code)));
        let status = original.row.status;
        let why = match status {
            _ if is_edited => "its code was edited since the request ran, and samples run the code of today".to_owned(),
            RequestStatus::Completed => "the flow differs by itself".to_owned(),
            RequestStatus::Failed => "the request failed, which a sample need not do".to_owned(),
            _ => format!("the request is {}, and samples go on to their end", status.as_str()),
        };
        let differ = if *n == 1 { "sample differs" } else { "samples differ" };
        Ok(Some(format!("with nothing changed, {differing} of {n} {differ} from the request: {why}")))
    }
}

/// Notes that a reader of an experiment needs.
fn notes(base: &ArmView, is_mock: bool, samples: u32) -> Vec<String> {
    let mut notes = Vec::new();
    if is_mock && samples > 1 {
        notes.push(
            "models are mocked, so every sample of an arm gets the same answers; one sample is enough unless the flow \
             itself draws random values or reads the clock"
                .to_owned(),
        );
    }
    if base.summary.waiting > 0 {
        notes.push("samples wait for an answer that the request was given: no approval is carried over".to_owned());
    }
    notes
}
