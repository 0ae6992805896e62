//! What a request that goes on will take from its log, found out in memory.
//!
//! As a [replay](super::replay) it runs on a thread of its own and writes nothing; unlike one it stops at everything
//! that the log does not answer (see [`engine::plan`]). Must not ask models or the network.

use std::path::Path;
use std::sync::Arc;

use engine::abort::Abort;
use engine::error::FlowError;
use engine::event::Event;
use engine::flow::{Declaration, Flow};
use engine::log::{AppendError, AppendMode, Lease, Log, NoteKind, Record, RequestEvents};
use engine::memory_log::MemoryLog;
use engine::plan::Plan;
use engine::request::{PriorRun, Run, StartRequest};
use engine::scope::{ScopeKey, ScopeKind};
use futures_channel::oneshot;
use serde_json::Value;
use store::Store;

use crate::catalogue::fatal_signals::FlowOnThread;
use crate::catalogue::{LoadedFlow, STACK};
use crate::core::config::Config;
use crate::core::fault::Fault;
use crate::core::progress::{Awaited, run_to_end};
use crate::effects::outside::live;
use crate::run::closed_effects::ClosedEffects;
use crate::run::prepare::{load, prepare};
use crate::run::{PriorEvents, begun_as_part, with_script};

/// What a plan is made from.
pub(crate) struct PlanInput {
    pub(crate) loaded_flow: Arc<LoadedFlow>,
    pub(crate) config: Config,
    pub(crate) asked: StartRequest,
    pub(crate) before: PriorEvents,
    /// All that the request did, also what a fork leaves out.
    pub(crate) recorded: Arc<Vec<Event>>,
    /// What a fork sets.
    pub(crate) set: Vec<SetField>,
    pub(crate) store: Arc<Store>,
}

/// A field of a declared state that a fork sets.
#[derive(Clone, Debug)]
pub(crate) struct SetField {
    /// The place, as it was written.
    pub(crate) text: String,
    pub(crate) scope: ScopeKind,
    pub(crate) field: String,
}

/// A plan, and what else was found out.
pub(crate) struct PlanResult {
    pub(crate) plan: Plan,
    /// Why the request could not go on: its code, or the answer, does not fit the log.
    pub(crate) error: Option<FlowError>,
    /// The places that a fork sets and no schema of the flow declares.
    pub(crate) undeclared: Vec<String>,
}

/// Makes a plan on a thread of its own.
pub(crate) fn plan(workspace: &Path, input: PlanInput) -> Result<PlanResult, Fault> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("plan".to_owned()).stack_size(STACK);
        let thread = thread.spawn_scoped(scope, || carry_out(workspace, input))?;
        thread.join().map_err(|_| Fault::internal("the plan's thread ended without an answer"))?
    })
}

fn carry_out(workspace: &Path, input: PlanInput) -> Result<PlanResult, Fault> {
    let PlanInput { loaded_flow, config, mut asked, mut before, recorded, set, store } = input;
    let _flow = FlowOnThread::on_this_thread(&loaded_flow.end_record);
    let load_time = live(&before.events, config.flow_env()).with_zone(asked.time_zone.clone());
    let mut loaded = load(workspace, &loaded_flow, config.script_limits(), load_time)?;
    let flow = prepare(&mut loaded, &mut asked, &before)?;
    let undeclared = undeclared(&set, &flow);
    if let Some(opening) = before.opening.take() {
        before.events = Arc::new(begun_as_part(&before.events, opening(&asked, &flow)?));
    }
    asked.owner = "plan".to_owned();
    let request = asked.request.clone();
    let log = Arc::new(PlanLog { memory: MemoryLog::after(&request, before.events.to_vec()), store });
    let effects = ClosedEffects::machine(&config);
    let stop = Abort::default();
    let earlier = PriorRun { events: &before.events, prior_status: before.prior_status, answers: &before.answers };
    let run = Run::only_planned(earlier, flow, asked, log.clone(), effects, stop.clone());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let ended = runtime.block_on(async {
        let input = if before.events.is_empty() {
            run.begin().await.map_err(Fault::internal)?
        } else {
            run.begin_resumed(before.answers.clone()).await.map_err(Fault::internal)?
        };
        loaded.attach(&run);
        let work = Box::pin(with_script(run.execute(input), loaded.drive()));
        // What waits for a time, or for what somebody else does, waits for ever here.
        let unblock = || {
            let is_first = !stop.is_set();
            stop.set();
            is_first
        };
        Ok::<_, Fault>(run_to_end(work, Awaited::default(), || false, || run.settle_next(), unblock).await)
    })?;
    run.flush();
    let last = before.events.last().map_or(0, |event| event.seq);
    let planned: Vec<Event> = log.memory.events(&request).into_iter().filter(|event| event.seq > last).collect();
    let error = ended.error.filter(|error| error.parks_request());
    Ok(PlanResult { plan: run.plan(&recorded, &planned), error, undeclared })
}

/// The places whose field no schema of the flow knows, although it has schemas of that state.
fn undeclared(set: &[SetField], flow: &Flow) -> Vec<String> {
    let is_undeclared = |set: &&SetField| {
        let mut schemas = flow.declarations.iter().filter(|declared| declared.scope == set.scope).peekable();
        schemas.peek().is_some()
            && !schemas.any(|Declaration { schema, .. }| {
                let fields = schema.fields();
                schema.is_open() || fields.is_none_or(|fields| fields.iter().any(|known| known.name == set.field))
            })
    };
    set.iter().filter(is_undeclared).map(|set| set.text.clone()).collect()
}

/// The log of a plan: its own writes in memory, on top of what is stored.
struct PlanLog {
    memory: MemoryLog,
    store: Arc<Store>,
}

impl PlanLog {
    /// Puts a record into memory, so that commits find the version that they saw.
    fn bring(&self, scope: &ScopeKey) -> Result<(), AppendError> {
        if !self.memory.has_record(scope) {
            self.memory.set_missing_record(scope, self.store.record(scope)?);
        }
        Ok(())
    }
}

impl Log for PlanLog {
    fn append(
        &self,
        request: &str,
        lease: &Lease,
        events: Vec<Event>,
        mode: AppendMode,
    ) -> oneshot::Receiver<Result<(), AppendError>> {
        let scopes = events.iter().flat_map(|event| event.kind.commits()).map(|commit| commit.scope.clone());
        if let Err(error) = scopes.collect::<Vec<_>>().iter().try_for_each(|scope| self.bring(scope)) {
            let (sender, receiver) = oneshot::channel();
            // A caller that does not wait for the result has dropped the receiver.
            let _ = sender.send(Err(error));
            return receiver;
        }
        self.memory.append(request, lease, events, mode)
    }

    fn set_record(&self, scope: ScopeKey, record: Record) {
        self.memory.set_record(scope, record);
    }

    fn record(&self, scope: &ScopeKey) -> Result<Record, AppendError> {
        self.bring(scope)?;
        self.memory.record(scope)
    }

    fn may_leave_queue(&self, _request: &str) -> Result<bool, AppendError> {
        Ok(true)
    }

    fn own_events(&self, request: &str) -> Result<Vec<Event>, AppendError> {
        self.memory.own_events(request)
    }

    fn session_events(&self, session: &str, before: &str, newest: usize) -> Result<Vec<RequestEvents>, AppendError> {
        self.store.session_events(session, before, newest)
    }

    fn notes(&self, session: &str, before: &str, kind: NoteKind, newest: usize) -> Result<Vec<Value>, AppendError> {
        Log::notes(&*self.store, session, before, kind, newest)
    }
}

#[cfg(test)]
mod tests;
