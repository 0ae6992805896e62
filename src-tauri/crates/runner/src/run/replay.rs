//! A recorded request run once more, in memory, with the code of today and the effects of its log.
//!
//! It writes nothing and asks nothing of the outside: clock, chance, pages and models answer from the log. Records and
//! earlier requests are those that the request saw.

pub(crate) mod comparison;
mod input_of_today;

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::task::Poll;

use engine::abort::Abort;
use engine::alone::Alone;
use engine::effect_log::{EffectLog, SeenRecords};
use engine::effects::SyncEffect;
use engine::event::{Event, EventKind, RequestStatus};
use engine::loading::load_effects;
use engine::log::{AppendError, AppendMode, Lease, Log, NoteKind, Record, RequestEvents};
use engine::memory_log::MemoryLog;
use engine::request::{Run, StartRequest};
use engine::scope::ScopeKey;
use futures_channel::oneshot;
use script::{Asked, Bundle, LoadTime, Loaded, Probed};
use serde_json::Value;
use store::{NoteQuery, Store};

use crate::catalogue::ended::EndRecord;
use crate::catalogue::fatal_signals::FlowOnThread;
use crate::catalogue::{LoadedFlow, STACK};
use crate::core::config::Config;
use crate::core::fault::Fault;
use crate::core::progress::{Awaited, run_to_end};
use crate::run::batch::Cancel;
use crate::run::closed_effects::ClosedEffects;
use crate::run::prepare::{load, prepare};
use crate::run::{PriorEvents, with_script};
use comparison::{Comparison, Expectation, Found};
use input_of_today::input_of_today;

/// What a replay needs.
pub(crate) struct ReplayInput {
    pub(crate) code: ReplayedCode,
    pub(crate) config: Config,
    pub(crate) asked: StartRequest,
    pub(crate) events: Vec<Event>,
    /// What it is expected to do instead of what its events say.
    pub(crate) expectation: Expectation,
    /// Records as they were just before the request.
    pub(crate) records: Vec<(ScopeKey, Record)>,
    pub(crate) seen: SeenRecords,
    pub(crate) store: Arc<Store>,
    /// The block that runs by itself; without it the whole request does. The records are those that it found.
    pub(crate) alone: Option<Alone>,
    pub(crate) watch: Watch,
}

/// Follows a replay while it runs, and cancels it.
#[derive(Clone, Default)]
pub(crate) struct Watch {
    pub(crate) cancel: Cancel,
    /// Called with the newest event that the replay has written.
    pub(crate) progress: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

/// How much longer code with probes may run without yielding.
const PROBED_TIME: u64 = 6;
/// How much more memory code with probes may use.
const PROBED_BYTES: usize = 64 << 20;

/// The code that a replay runs.
pub(crate) enum ReplayedCode {
    /// The code of today.
    Loaded(Arc<LoadedFlow>),
    /// The code that ran, with probes.
    Probed {
        /// It.
        bundle: Arc<Bundle>,
        /// Which of its flows.
        kind: String,
        /// What its probes record.
        asked: Asked,
        /// The flow file of today, whose record says if its code ends the process; `None` if it is gone.
        end_record: Option<Arc<EndRecord>>,
    },
}

/// What a replay did.
pub(crate) struct Replayed {
    /// How it differs from the recording. Of one that its probes ended nothing is compared.
    pub(crate) result: Comparison,
    /// Its events.
    pub(crate) events: Vec<Event>,
    /// What its probes recorded.
    pub(crate) probed: Probed,
    /// Whether it looked at earlier requests of its session.
    pub(crate) saw_earlier_requests: bool,
    /// Whether it asked for an effect that the log does not have.
    pub(crate) asks_new: bool,
    /// Whether it was cancelled before its end: nothing of it is compared.
    pub(crate) is_cancelled: bool,
}

/// Replays a request on a thread of its own and compares what it does with its log.
pub(crate) fn replay(workspace: &Path, input: ReplayInput) -> Result<Replayed, Fault> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("replay".to_owned()).stack_size(STACK);
        let thread = thread.spawn_scoped(scope, || carry_out(workspace, input))?;
        thread.join().map_err(|_| Fault::internal("the replay's thread ended without an answer"))?
    })
}

fn carry_out(workspace: &Path, input: ReplayInput) -> Result<Replayed, Fault> {
    let ReplayInput { code, config, mut asked, events, expectation, records, seen, store, mut alone, watch } = input;
    let end_record = match &code {
        ReplayedCode::Loaded(loaded_flow) => Some(loaded_flow.end_record.clone()),
        ReplayedCode::Probed { end_record, .. } => end_record.clone(),
    };
    let _flow = end_record.as_ref().map(FlowOnThread::on_this_thread);
    let code_of_today = match &code {
        ReplayedCode::Loaded(loaded_flow) => Some(loaded_flow.clone()),
        ReplayedCode::Probed { .. } => None,
    };
    // Not copied: a log may be long.
    let events = Arc::new(events);
    let is_known = PriorEvents { events: events.clone(), ..PriorEvents::default() };
    let load_time = LoadTime::after(load_effects(&events), SyncEffect::placeholder)
        .with_env(config.flow_env())
        .with_secret_names(config.secret_names())
        .with_zone(asked.time_zone.clone())
        .until({
            let cancel = watch.cancel.clone();
            move || cancel.is_cancelled()
        });
    let mut limits = config.script_limits();
    if matches!(code, ReplayedCode::Probed { .. }) {
        limits.yield_ms = limits.yield_ms.saturating_mul(PROBED_TIME);
        limits.memory_bytes = limits.memory_bytes.saturating_add(PROBED_BYTES);
    }
    let mut loaded = match code {
        ReplayedCode::Loaded(loaded_flow) => load(workspace, &loaded_flow, limits, load_time)?,
        ReplayedCode::Probed { bundle, kind, asked, .. } => {
            Loaded::load_probed(&bundle, &kind, workspace, limits, load_time, (asked, alone.is_some()))
                .map_err(|error| Fault::NotLoaded { message: error.to_string() })?
        }
    };
    let flow = prepare(&mut loaded, &mut asked, &is_known)?;
    let action = flow.actions.get(&asked.action);
    let input = code_of_today.and_then(|code| {
        let is_today = |hash: &str| code.bundle.is_of(hash, workspace);
        input_of_today(action?.input_schema.as_ref()?, is_today, &events)
    });
    let mut memory = MemoryLog::default();
    let mut began = events.first().map_or(0, |event| event.at);
    if let Some(alone) = &mut alone {
        alone.run_by(&flow.code_hash);
        // It begins when its block began.
        began = alone.before.last().map_or(began, |event| event.at.max(began));
        memory = MemoryLog::after(&asked.request, alone.before.clone());
    }
    let (cancel, progress) = (watch.cancel, watch.progress);
    let saw_earlier_requests = AtomicBool::default();
    let effect_log = EffectLog::new(&events, seen);
    let clock = effect_log.clock();
    let log = Arc::new(ReplayLog { memory, store, began, clock, saw_earlier_requests, progress });
    for (scope, record) in records {
        log.set_record(scope, record);
    }
    let effects = ClosedEffects::recorded(effect_log.clone(), &config);
    let request = asked.request.clone();
    let stop = Abort::default();
    // It was aborted while it waited for something of which the log has no end.
    let was_aborted = events
        .last()
        .is_some_and(|event| matches!(event.kind, EventKind::RequestFinished { status: RequestStatus::Aborted, .. }));
    let (effects_of_log, aborts) = (effect_log.clone(), stop.clone());
    let run = match &alone {
        None => Run::replay(&events, effects_of_log, flow, asked, log.clone(), effects, aborts),
        Some(alone) => Run::replay_alone(alone, effects_of_log, flow, asked, log.clone(), effects, aborts),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let begun = if alone.is_some() { run.begin_resumed(Vec::new()).await } else { run.begin().await };
        let input = begun.map_err(Fault::internal)?;
        loaded.attach(&run);
        run.accept_answers();
        let work = with_script(run.execute(input), loaded.drive());
        // A recording that was cut off in the middle of an effect has no end of it.
        let is_cut_off = Cell::new(false);
        let is_over = || loaded.is_answered() || is_cut_off.get() || cancel.is_cancelled();
        let work = Box::pin(until_answered(work, is_over));
        let settle = || effect_log.advance();
        let unblock = || {
            let is_to_abort = was_aborted && !stop.is_set();
            // A question without an answer suspends its block when nothing else can run, as in the recorded run.
            if (!is_to_abort && run.stop_waiting()) || loaded.fail_waiting_calls() {
                return true;
            }
            if is_to_abort {
                loaded.abort();
                stop.set();
                return true;
            }
            !is_cut_off.replace(true)
        };
        run_to_end(work, Awaited::default(), || false, settle, unblock).await;
        run.flush();
        Ok::<_, Fault>(())
    })?;
    // Events and values may be long. What ran holds them, too, so it goes before the comparison makes traces of them.
    let replayed = log.memory.take_events(&request);
    let (probed, unrecorded, is_cancelled) = (loaded.probed(), loaded.unrecorded(), cancel.is_cancelled());
    let (missing, questions) = (effect_log.missing(), effect_log.questions());
    let asks_new = missing.is_some();
    drop((run, loaded, effect_log));
    let result = match unrecorded {
        // Of a block alone its caller knows what it should do.
        _ if probed.is_full || alone.is_some() || is_cancelled => Comparison::default(),
        None => {
            let found = Found { events: &replayed, missing, questions, input };
            Comparison::of(&events, &expectation, &found, &config.redaction())
        }
        // What the file does when it is loaded comes before all else.
        Some((kind, ordinal)) => Comparison::at_load(kind, ordinal),
    };
    let saw_earlier_requests = log.saw_earlier_requests.load(Ordering::Relaxed);
    Ok(Replayed { result, events: replayed, probed, saw_earlier_requests, asks_new, is_cancelled })
}

/// Polls the work of a replay until it ends, or its probes have recorded all that was asked for.
async fn until_answered<T>(work: impl Future<Output = T>, is_answered: impl Fn() -> bool) {
    let mut work = std::pin::pin!(work);
    std::future::poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Pending if !is_answered() => Poll::Pending,
        _ => Poll::Ready(()),
    })
    .await;
}

/// The log of a replay: its own writes in memory, and the session as the request found it when it looked.
struct ReplayLog {
    memory: MemoryLog,
    store: Arc<Store>,
    /// When the request began, and the time of the recording: what ended later in the session was not there yet.
    began: i64,
    clock: Arc<AtomicI64>,
    saw_earlier_requests: AtomicBool,
    progress: Option<Arc<dyn Fn(u64) + Send + Sync>>,
}

impl ReplayLog {
    fn now(&self) -> i64 {
        self.clock.load(Ordering::Relaxed).max(self.began)
    }
}

impl Log for ReplayLog {
    fn append(
        &self,
        request: &str,
        lease: &Lease,
        events: Vec<Event>,
        mode: AppendMode,
    ) -> oneshot::Receiver<Result<(), AppendError>> {
        if let (Some(progress), Some(last)) = (&self.progress, events.last()) {
            progress(last.seq);
        }
        self.memory.append(request, lease, events, mode)
    }

    fn set_record(&self, scope: ScopeKey, record: Record) {
        self.memory.set_record(scope, record);
    }

    fn record(&self, scope: &ScopeKey) -> Result<Record, AppendError> {
        self.memory.record(scope)
    }

    fn may_leave_queue(&self, _request: &str) -> Result<bool, AppendError> {
        Ok(true)
    }

    fn own_events(&self, request: &str) -> Result<Vec<Event>, AppendError> {
        self.memory.own_events(request)
    }

    fn session_events(&self, session: &str, before: &str, newest: usize) -> Result<Vec<RequestEvents>, AppendError> {
        self.saw_earlier_requests.store(true, Ordering::Relaxed);
        let mut found = self.store.session_events(session, before, usize::MAX)?;
        let now = self.now();
        found.retain(|(_, events)| events.last().is_some_and(|event| event.at <= now));
        found.drain(..found.len().saturating_sub(newest));
        Ok(found)
    }

    fn notes(&self, session: &str, before: &str, kind: NoteKind, newest: usize) -> Result<Vec<Value>, AppendError> {
        self.saw_earlier_requests.store(true, Ordering::Relaxed);
        let query = NoteQuery { except: Some(before), until: Some(self.now()), newest: Some(newest) };
        Ok(self.store.notes_of(session, kind, query)?.into_iter().map(|note| note.entry).collect())
    }
}

#[cfg(test)]
mod tests;
