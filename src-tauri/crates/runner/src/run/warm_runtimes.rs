//! Evaluated flows that wait for their next request (ARCHITECTURE §8.3).
//!
//! Evaluating a flow's file costs more than all else that a request needs to begin. Where a process will
//! serve more than one, a thread does it beforehand for each flow that ran lately, and then waits. Every
//! runtime still serves one request only.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use engine::loading::load_effects;
use script::{Limits, Loaded, own_time_zone};
use serde_json::Value;

use crate::catalogue::fatal_signals::FlowOnThread;
use crate::catalogue::{LoadedFlow, STACK};
use crate::effects::outside::live;
use crate::run::{Work, run};

/// How many flows are kept ready: each takes the memory of a runtime.
const MAX_WARM_RUNTIMES: usize = 4;

/// The flows that are ready, the one that ran last at the end.
#[derive(Default)]
pub(crate) struct WarmRuntimes(Mutex<Vec<WarmRuntime>>);

/// A thread that waits with an evaluated version of a file.
struct WarmRuntime {
    loaded_flow: Arc<LoadedFlow>,
    work: Sender<Work>,
}

impl WarmRuntimes {
    /// Gives a request to a thread that has its flow evaluated; gives it back where there is none.
    pub(crate) fn give(&self, work: Work) -> Option<Work> {
        // Its file is to draw what it drew then, and to have the local time that it had.
        let is_of_other_zone = work.job.asked.time_zone.as_ref().is_some_and(|zone| **zone != *own_time_zone());
        if is_of_other_zone || !load_effects(&work.job.before.events).is_empty() {
            return Some(work);
        }
        let bundle = &work.job.loaded_flow.bundle;
        // The same code may have come from other lines.
        let is_same = |idle: &WarmRuntime| {
            let ready = &idle.loaded_flow.bundle;
            let is_of_kind = idle.loaded_flow.flow.kind == work.job.loaded_flow.flow.kind;
            is_of_kind && ready.file == bundle.file && ready.hash == bundle.hash && ready.map == bundle.map
        };
        let mut idle_runtimes = crate::core::sync::lock(&self.0);
        let Some(at) = idle_runtimes.iter().position(is_same) else { return Some(work) };
        // A thread that is gone gives it back.
        idle_runtimes.remove(at).work.send(work).err().map(|unsent| unsent.0)
    }

    /// Lets a thread evaluate a flow that was just begun, for the next request.
    pub(crate) fn prepare(&self, workspace: &Path, loaded_flow: &Arc<LoadedFlow>, limits: Limits, env: Value) {
        let (work, wanted) = channel::<Work>();
        let (workspace, version): (PathBuf, _) = (workspace.to_owned(), loaded_flow.clone());
        // Without what it needs the next request begins as the first one did.
        let Ok(runtime) = crate::run::threads::runtime() else { return };
        let spawned = std::thread::Builder::new().name("ready".to_owned()).stack_size(STACK).spawn(move || {
            let _flow = FlowOnThread::on_this_thread(&version.end_record);
            // What does not load is told by the request that wants it.
            let kind = Some(version.flow.kind.as_str());
            let loaded = Loaded::load(&version.bundle, kind, &workspace, limits, live(&[], env)).ok();
            if let Ok(work) = wanted.recv() {
                // The same code may come from other files by now.
                let _flow = FlowOnThread::on_this_thread(&work.job.loaded_flow.end_record);
                // Nobody else is on this thread: the flow is taken apart at once.
                drop(runtime.block_on(run(work, loaded)));
            }
        });
        // Without a thread the next request begins as the first one did.
        if spawned.is_err() {
            return;
        }
        let mut idle_runtimes = crate::core::sync::lock(&self.0);
        let is_other =
            |idle: &LoadedFlow| idle.bundle.file != loaded_flow.bundle.file || idle.flow.kind != loaded_flow.flow.kind;
        idle_runtimes.retain(|idle| is_other(&idle.loaded_flow));
        if idle_runtimes.len() >= MAX_WARM_RUNTIMES {
            idle_runtimes.remove(0);
        }
        idle_runtimes.push(WarmRuntime { loaded_flow: loaded_flow.clone(), work });
    }
}
