//! A request on its way: the script, the engine and the outside joined together.
//!
//! One QuickJS runtime per request, which never leaves its thread; nothing leaks from one request to the next.

mod aborted_code;
pub(crate) mod batch;
mod closed_effects;
mod example;
mod live_answers;
pub(crate) mod not_accepted;
pub(crate) mod on_accept;
pub(crate) mod owner;
pub(crate) mod plan;
pub(crate) mod prepare;
pub(crate) mod replay;
pub(crate) mod synthetic;
pub(crate) mod threads;
pub(crate) mod unstored_ends;
pub(crate) mod warm_runtimes;

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use engine::abort::Abort;
use engine::data::Data;
use engine::error::FlowError;
use engine::event::{Event, RequestStatus};
use engine::flow::Flow;
use engine::log::{AppendError, AppendMode, Lease, Log};
use engine::request::{PriorRun, Run, StartRequest};
use engine::suspension::Resolved;
use engine::views::uncertain_effects::OpenEffect;
use futures_util::{FutureExt, select_biased};
use script::Loaded;
use tokio::sync::watch;
use tracing::Instrument;

use crate::catalogue::LoadedFlow;
use crate::core::config::Config;
use crate::core::fault::Fault;
use crate::core::progress::run_to_end;
use crate::effects::outside::{Dispatcher, World, live};
use crate::models::call_meter::SampleCalls;
use crate::models::mock_script::{MockModels, MockScript, recorded_calls};
use crate::run::aborted_code::code_is_over;
use crate::run::live_answers::take_answers;
use crate::run::not_accepted::NotAccepted;
use crate::run::on_accept::OnAccept;
use crate::run::owner::{AbortFlag, Lock};
use crate::run::prepare::{load, prepare};
use crate::run::threads::Pool;
use crate::run::unstored_ends::Late;
use crate::run::warm_runtimes::WarmRuntimes;

/// How long evidence may wait for a step boundary before it is flushed (ARCHITECTURE §2.4).
const FLUSH: Duration = Duration::from_millis(16);
/// How often a request looks for another process's wish to abort it.
const LOOK: Duration = Duration::from_millis(50);

/// A request that was accepted.
#[derive(Debug)]
pub struct Running {
    /// Its id.
    pub request_id: String,
    /// Its session.
    pub session_id: String,
    /// What may have happened outside before it was taken up, and is made again.
    pub open_effects: Vec<OpenEffect>,
    pub(crate) ended: mpsc::Receiver<Ended>,
}

impl Running {
    /// Waits for its end.
    pub fn wait(self) -> Result<Ended, Fault> {
        self.ended.recv().map_err(|_| Fault::internal("the request's thread ended without an answer"))
    }

    /// Waits for its end, but not longer than so. `None` if it still runs.
    pub fn wait_at_most(&mut self, time: Duration) -> Result<Option<Ended>, Fault> {
        match self.ended.recv_timeout(time) {
            Ok(ended) => Ok(Some(ended)),
            Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                Err(Fault::internal("the request's thread ended without an answer"))
            }
        }
    }
}

/// How a request ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// `completed`, `failed`, `aborted`; `interrupted` when the storage failed under it.
    pub status: RequestStatus,
    /// What came out.
    pub output: Data,
    /// What failed it.
    pub error: Option<FlowError>,
}

/// The earlier part of a request.
pub(crate) struct PriorEvents {
    /// Its events; none of a new request. Forks of one request share them until they begin.
    pub(crate) events: Arc<Vec<Event>>,
    /// How it stands.
    pub(crate) prior_status: RequestStatus,
    /// The answers that it is taken up with.
    pub(crate) answers: Vec<Resolved>,
    /// Whether the input was parsed by its schema already.
    pub(crate) is_parsed: bool,
    /// A block that the code must still have, because something of it is edited.
    pub(crate) needs_block: Option<Arc<str>>,
    /// Makes the first events of a request that begins as a part of another.
    pub(crate) opening: Option<Opening>,
}

/// See [`PriorEvents::opening`].
pub(crate) type Opening = Box<dyn FnOnce(&StartRequest, &Flow) -> Result<Vec<Event>, Fault> + Send>;

impl Default for PriorEvents {
    fn default() -> Self {
        PriorEvents {
            events: Arc::default(),
            prior_status: RequestStatus::Interrupted,
            answers: Vec::new(),
            is_parsed: false,
            needs_block: None,
            opening: None,
        }
    }
}

/// What a thread needs to run a request.
pub(crate) struct Job {
    pub(crate) workspace: PathBuf,
    pub(crate) loaded_flow: Arc<LoadedFlow>,
    pub(crate) asked: StartRequest,
    pub(crate) mock: Option<MockScript>,
    /// What counts its model calls, if it is a sample of an experiment.
    pub(crate) calls: Option<SampleCalls>,
    pub(crate) config: Config,
    /// Whether the configuration's addresses may get keys.
    pub(crate) trust: bool,
    /// What the request did before, when it is taken up again.
    pub(crate) before: PriorEvents,
    pub(crate) log: Arc<dyn Log>,
    /// Keeps the code that runs, when the request is accepted.
    pub(crate) keep_code: OnAccept,
    /// Starts what dispatchers send.
    pub(crate) dispatcher: Dispatcher,
    pub(crate) abort: watch::Receiver<bool>,
    /// Says that it lives, and where another process asks to abort it.
    pub(crate) lock: Lock,
    /// Takes an end that the storage did not.
    pub(crate) late: Box<dyn FnOnce(Late) + Send>,
    /// Told what happened, where the database takes no more of the request.
    pub(crate) halted: Box<dyn FnOnce(&str) + Send>,
    /// Told when nothing runs the request any more.
    pub(crate) on_exit: OnExit,
}

/// Calls back when nothing runs a request any more, however that came: by its end, by a panic, or because
/// there was no thread for it.
#[derive(Default)]
pub(crate) struct OnExit(Option<Box<dyn FnOnce() + Send>>);

impl OnExit {
    pub(crate) fn new(tell: impl FnOnce() + Send + 'static) -> OnExit {
        OnExit(Some(Box::new(tell)))
    }
}

impl Drop for OnExit {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(|tell| tell());
    }
}

/// A request on its way to the thread that runs it.
pub(crate) struct Work {
    pub(crate) job: Job,
    accepted: mpsc::Sender<Result<(), NotAccepted>>,
    finished: mpsc::Sender<Ended>,
}

/// Starts a request, on the thread that has its flow ready or on one of the pool. Fails, with nothing written,
/// when the flow does not load or the input breaks its schema.
pub(crate) fn start(job: Job, warm_runtimes: &WarmRuntimes, pool: &Pool) -> Result<Running, NotAccepted> {
    let (accepted, verdict) = mpsc::channel();
    let (finished, ended) = mpsc::channel();
    let request_id = job.asked.request.to_string();
    let session_id = job.asked.session.to_string();
    if let Some(work) = warm_runtimes.give(Work { job, accepted, finished }) {
        pool.give(work)?;
    }
    verdict.recv().map_err(|_| Fault::internal("the request's thread ended before it began"))??;
    Ok(Running { request_id, session_id, open_effects: Vec::new(), ended })
}

/// Runs a request; `loaded` is its flow, where that was evaluated beforehand. Gives the flow back, for whoever
/// has the time to take it apart: nobody who waits for the request's end should wait for that.
pub(crate) async fn run(work: Work, mut loaded: Option<Loaded>) -> Option<Loaded> {
    let Work { mut job, accepted, finished } = work;
    let on_exit = std::mem::take(&mut job.on_exit);
    let halted = std::mem::replace(&mut job.halted, Box::new(|_| {}));
    // Whoever hears of the end may close the database at once: nothing here holds it open any more.
    let began = Instant::now();
    let span = tracing::info_span!("request", id = %job.asked.request, action = %job.asked.action);
    let result = carry_out(job, &mut loaded, &accepted).instrument(span.clone()).await;
    let ms = began.elapsed().as_millis() as u64;
    span.in_scope(|| match &result {
        Ok(ended) => tracing::info!(status = ended.status.as_str(), ms, "request ended"),
        Err(fault) => tracing::warn!(ms, %fault, "request refused"),
    });
    if let Ok(Ended { error: Some(error), .. }) = &result
        && error.is_storage()
    {
        halted(&error.message);
    }
    drop(on_exit);
    // Who is gone, or started the request without waiting for it, does not hear.
    match result {
        Ok(ended) => drop(finished.send(ended)),
        Err(fault) => drop(accepted.send(Err(fault))),
    }
    loaded
}

/// Runs a request to its end, if it was accepted.
async fn carry_out(
    job: Job,
    loaded: &mut Option<Loaded>,
    accepted: &mpsc::Sender<Result<(), NotAccepted>>,
) -> Result<Ended, NotAccepted> {
    let Job {
        workspace,
        loaded_flow,
        mut asked,
        mock,
        calls,
        config,
        trust,
        mut before,
        log,
        keep_code,
        dispatcher,
        mut abort,
        lock,
        late,
        halted: _,
        on_exit: _,
    } = job;
    let (wish, answers) = (lock.abort_flag(), lock.answers());
    let loaded = match loaded {
        Some(loaded) => loaded,
        None => loaded.insert(load(
            &workspace,
            &loaded_flow,
            config.script_limits(),
            live(&before.events, config.flow_env()).with_zone(asked.time_zone.clone()),
        )?),
    };
    let flow = prepare(loaded, &mut asked, &before)?;
    let code = keep_code.now();
    if let Some(opening) = before.opening.take() {
        let (id, lease) = (asked.request.clone(), Lease::first(asked.owner.as_str()));
        let own = opening(&asked, &flow)?;
        let written = log.append(&id, &lease, own.clone(), AppendMode::Committed);
        written.await.map_err(|_| Fault::internal("the store is closed"))?.map_err(Fault::of_append)?;
        before.events = Arc::new(begun_as_part(&before.events, own));
    }
    let mock = mock.map(MockModels::new);
    if let Some(mock) = &mock {
        mock.skip(&recorded_calls(&before.events));
    }
    let world = World::new(mock, &config, trust).sending(dispatcher);
    let effects = Rc::new(match calls {
        Some(calls) => world.metered(calls),
        None => world,
    });
    let awaited = effects.awaited();
    let stop = Abort::default();
    loaded.stop_when(code_is_over(abort.clone(), stop.clone()));
    let earlier = PriorRun { events: &before.events, prior_status: before.prior_status, answers: &before.answers };
    let run = Run::after(earlier, flow, asked, log, effects, stop.clone());
    let result = async {
        let input = if before.events.is_empty() {
            run.begin().await?
        } else {
            run.begin_resumed(std::mem::take(&mut before.answers)).await?
        };
        drop(code);
        // It may wait for long, and many may wait at once.
        drop(before);
        loaded.attach(&run);
        // The caller waits for this verdict; if it is gone, nobody does.
        let _ = accepted.send(Ok(()));
        let work = Box::pin(with_script(run.execute(input), loaded.drive()));
        let is_committing = || run.recorder.is_committing();
        let settle = || run.settle_next();
        let unblock = || run.stop_waiting() || loaded.fail_waiting_calls();
        let mut work = Box::pin(run_to_end(work, awaited, is_committing, settle, unblock).fuse());
        let mut tick = Box::pin(flush(run.clone()).fuse());
        run.accept_answers();
        let mut answering = Box::pin(take_answers(run.clone(), answers).fuse());
        let mut watching = Box::pin(stop_when_asked(&mut abort, &wish, loaded, stop).fuse());
        loop {
            select_biased! {
                ended = work => return Ok(ended),
                () = tick => {}
                () = answering => {}
                () = watching => {}
            }
        }
    }
    .await;
    let events = run.recorder.unwritten();
    if !events.is_empty() {
        late(Late { request: run.request.clone(), lease: run.recorder.lease().clone(), events });
    }
    let refused = match result {
        Ok(ended) => return Ok(Ended { status: ended.status, output: ended.output, error: ended.error }),
        Err(AppendError::Exists) => Fault::refused(format!("request id \"{}\" is already in use", run.request)),
        Err(AppendError::NotYours { session, user }) => not_yours(&session, &user, &run.start.user),
        Err(AppendError::Fenced { .. } | AppendError::OutOfOrder { .. }) => {
            return Err(NotAccepted::taken_up(&run.request));
        }
        Err(AppendError::Busy { holder }) => busy(&run.start, &holder),
        Err(other) => Fault::of_append(other),
    };
    Err(refused.into())
}

/// The log of a request that has just begun as a part of another: its first event, those that both have in common, and
/// the rest of its own. Only what is in common is copied.
pub(crate) fn begun_as_part(common: &[Event], own: Vec<Event>) -> Vec<Event> {
    let mut own = own.into_iter();
    let first = own.next();
    let rest: Vec<Event> = own.collect();
    let until = rest.first().map_or(0, |event| event.seq);
    let common = &common[..common.partition_point(|event| event.seq < until)];
    let common = common.iter().filter(|event| event.seq > 1);
    first.into_iter().chain(common.cloned()).chain(rest).collect()
}

/// A session that is somebody else's.
pub(crate) fn not_yours(session: &str, owner: &str, user: &str) -> Fault {
    Fault::refused(format!("session \"{session}\" belongs to user \"{owner}\", not to \"{user}\""))
}

fn busy(asked: &StartRequest, holder: &str) -> Fault {
    Fault::refused(format!(
        "request \"{holder}\" runs, and action \"{}\" does not run beside it (concurrency policy \"reject\"): wait for \
         its end, or abort it with `flowglass abort {holder}`",
        asked.action
    ))
}

/// The engine's work, and the script's answers to it beside.
pub(crate) async fn with_script<T>(work: impl Future<Output = T>, drive: impl Future<Output = ()>) -> T {
    let (mut work, mut drive) = (Box::pin(work.fuse()), Box::pin(drive.fuse()));
    loop {
        select_biased! {
            ended = work => return ended,
            () = drive => {}
        }
    }
}

async fn flush(run: Rc<Run>) {
    loop {
        tokio::time::sleep(FLUSH).await;
        run.flush();
    }
}

/// Stops the request when this process is told to, finds another one's wish, or has lost it to another one.
async fn stop_when_asked(aborted: &mut watch::Receiver<bool>, wish: &AbortFlag, loaded: &Loaded, stop: Abort) {
    let aborted = async {
        // Where nobody can tell any more, the wish of another process still counts.
        if aborted.wait_for(|stop| *stop).await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let wished = async {
        while !wish.is_there() {
            tokio::time::sleep(LOOK).await;
        }
    };
    select_biased! {
        () = Box::pin(aborted.fuse()) => {}
        () = Box::pin(wished.fuse()) => {}
        // Somebody else owns the request now.
        () = Box::pin(stop.wait().fuse()) => {}
    }
    loaded.abort();
    stop.set();
}
