//! Whether the state that arms begin with fits the schemas of the flow: told before the base arm costs anything.
//!
//! The schemas are functions of the author, so the flow is evaluated. Each value is tried once for each version of the
//! code, not once for each arm. Must not write, and must not run a block.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::event::Seq;
use serde_json::Value;

use super::Experiment;
use super::axes::Arm;
use super::variant::Variant;
use crate::catalogue::STACK;
use crate::catalogue::fatal_signals::FlowOnThread;
use crate::core::fault::Fault;
use crate::effects::outside::live;
use crate::run::prepare::load;
use crate::workspace::fork::NewFork;
use crate::workspace::{Edits, Workspace, new_request};

/// A version of the code, and where its forks begin.
type Version = (*const crate::catalogue::LoadedFlow, Seq);

/// A place in state, and a value there.
type Set = (String, Value);

impl Workspace {
    /// Refuses the arms whose edits of state a schema of their code refuses.
    pub(super) fn refuse_edits(
        &self,
        experiment: &Experiment,
        arms: &[Arm],
        variants: &mut [Result<Variant, String>],
    ) -> Result<(), Fault> {
        let mut versions: HashMap<Version, (Variant, Vec<Set>)> = HashMap::new();
        let mut seen: HashSet<(Version, String)> = HashSet::new();
        for (arm, variant) in arms.iter().zip(variants.iter()) {
            let Ok(variant) = variant else { continue };
            for set in &arm.set {
                if seen.insert((version(variant), key(set))) {
                    let (_, sets) = versions.entry(version(variant)).or_insert_with(|| (variant.clone(), Vec::new()));
                    sets.push(set.clone());
                }
            }
        }
        let mut reasons: HashMap<(Version, String), String> = HashMap::new();
        for (version, (variant, sets)) in &versions {
            let refused = self.refused_edits(experiment, variant, sets)?;
            let refused = sets.iter().zip(refused).filter_map(|(set, reason)| Some(((*version, key(set)), reason?)));
            reasons.extend(refused);
        }
        for (arm, variant) in arms.iter().zip(variants) {
            let Ok(known) = variant else { continue };
            let version = version(known);
            if let Some(reason) = arm.set.iter().find_map(|set| reasons.get(&(version, key(set)))) {
                *variant = Err(reason.clone());
            }
        }
        Ok(())
    }

    /// Why a fork cannot begin with each of these values; `None` if it can.
    fn refused_edits(
        &self,
        experiment: &Experiment,
        variant: &Variant,
        sets: &[Set],
    ) -> Result<Vec<Option<String>>, Fault> {
        let Variant { loaded_flow, cut, edits, .. } = variant;
        let point = experiment.point(self, *cut, edits)?;
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("edits".to_owned()).stack_size(STACK);
            let thread = thread.spawn_scoped(scope, || {
                let _flow = FlowOnThread::on_this_thread(&loaded_flow.end_record);
                let load_time = live(&experiment.events, self.config.flow_env());
                let mut loaded = load(&self.dir, loaded_flow, self.config.script_limits(), load_time)?;
                loaded.resolve(&experiment.row.action).map_err(|error| Fault::invalid(error.to_string()))?;
                let flow = loaded.flow.clone().ok_or_else(|| Fault::internal("the file defines no flow"))?;
                let refused = |set: &Set| -> Option<String> {
                    let (point, loaded_flow, answered) = (point.clone(), loaded_flow.clone(), Arc::default());
                    let edits = Edits { output: edits.output.clone(), set: vec![set.clone()], ..Edits::default() };
                    let begun = experiment.script(self, &point, &loaded_flow).and_then(|script| {
                        let fork = NewFork { id: new_request(), loaded_flow, point, answered };
                        let next = self.forking_as(fork, edits, script)?;
                        next.before.opening.map_or(Ok(()), |opening| opening(&next.asked, &flow).map(drop))
                    });
                    begun.err().map(|fault| fault.to_string())
                };
                Ok(sets.iter().map(refused).collect())
            })?;
            thread.join().map_err(|_| Fault::internal("the evaluation of a flow panicked"))?
        })
    }
}

fn version(variant: &Variant) -> Version {
    (Arc::as_ptr(&variant.loaded_flow), variant.cut)
}

fn key((place, value): &Set) -> String {
    format!("{place}={value}")
}
