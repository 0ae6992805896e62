//! A request on its thread: the script, the engine and the outside joined together.
//!
//! One thread and one QuickJS runtime per request; nothing leaks from one request to the next.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use engine::abort::Abort;
use engine::callable::Issue;
use engine::concurrency::Caller;
use engine::data::Data;
use engine::effects::ModelCall;
use engine::error::FlowError;
use engine::event::{Event, EventKind, RequestStatus};
use engine::log::Log;
use engine::request::{Asked, Run};
use futures_util::{FutureExt, select_biased};
use script::{Limits, Loaded};
use tokio::sync::watch;

use crate::catalogue::{Good, STACK};
use crate::config::Config;
use crate::fault::{Detail, Fault};
use crate::mock::{MockModels, MockScript};
use crate::owner::Wish;
use crate::progress::run_to_end;
use crate::world::World;

/// How long evidence may wait for a step boundary before it is flushed (decision 13).
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
    pub(crate) ended: mpsc::Receiver<Ended>,
}

impl Running {
    /// Waits for its end.
    pub fn wait(self) -> Result<Ended, Fault> {
        self.ended.recv().map_err(|_| Fault::internal("the request's thread ended without an answer"))
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

/// What a thread needs to run a request.
pub(crate) struct Job {
    pub(crate) workspace: PathBuf,
    pub(crate) good: Arc<Good>,
    pub(crate) asked: Asked,
    pub(crate) mock: Option<MockScript>,
    pub(crate) config: Config,
    /// Whether the configuration's addresses may get keys.
    pub(crate) trust: bool,
    /// The events of the request so far, when it is taken up again; none for a new one.
    pub(crate) before: Vec<Event>,
    pub(crate) log: Arc<dyn Log>,
    pub(crate) abort: watch::Receiver<bool>,
    /// Where another process asks to abort it.
    pub(crate) wish: Wish,
    /// Called when the thread is done with the request.
    pub(crate) gone: Box<dyn FnOnce() + Send>,
}

/// Starts a request. Fails, with nothing written, when the flow does not load or the input breaks
/// its schema.
pub(crate) fn start(job: Job) -> Result<Running, Fault> {
    let (accepted, verdict) = mpsc::channel();
    let (finished, ended) = mpsc::channel();
    let request_id = job.asked.request.to_string();
    let session_id = job.asked.session.to_string();
    std::thread::Builder::new()
        .name(format!("run {request_id}"))
        .stack_size(STACK)
        .spawn(move || run(job, accepted, finished))?;
    verdict.recv().map_err(|_| Fault::internal("the request's thread ended before it began"))??;
    Ok(Running { request_id, session_id, ended })
}

fn run(job: Job, accepted: mpsc::Sender<Result<(), Fault>>, finished: mpsc::Sender<Ended>) {
    let Job { workspace, good, mut asked, mock, config, trust, before, log, mut abort, wish, gone } = job;
    let prepared = prepare(&workspace, &good, config.script_limits(), &mut asked, before.is_empty());
    let (loaded, flow) = match prepared {
        Ok(ready) => ready,
        Err(fault) => {
            gone();
            // The caller waits for this verdict; if it is gone, nobody does.
            let _ = accepted.send(Err(fault));
            return;
        }
    };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            gone();
            let _ = accepted.send(Err(Fault::internal(error)));
            return;
        }
    };
    let mock = mock.map(MockModels::new);
    if let Some(mock) = &mock {
        mock.skip(&recorded_calls(&before));
    }
    let effects = Rc::new(World::new(mock, &config, trust));
    let awaited = effects.awaited();
    let stop = Abort::default();
    let run = Run::after(&before, flow, asked, log, effects, stop.clone());
    let result = runtime.block_on(async {
        let input = if before.is_empty() { run.begin().await? } else { run.take_up().await? };
        let _ = accepted.send(Ok(()));
        let work = Box::pin(with_script(run.execute(input), loaded.drive()));
        let is_committing = || run.recorder.is_committing();
        let mut work = Box::pin(run_to_end(work, awaited, is_committing, || loaded.give_up()).fuse());
        let mut tick = Box::pin(flush(run.clone()).fuse());
        let mut watching = Box::pin(stop_when_told(&mut abort, &wish, &loaded, stop).fuse());
        loop {
            select_biased! {
                ended = work => return Ok(ended),
                () = tick => {}
                () = watching => {}
            }
        }
    });
    drop(wish);
    let ended = match result {
        Ok(ended) => Ended { status: ended.status, output: ended.output, error: ended.error },
        Err(error) => {
            gone();
            let fault = match error {
                engine::log::AppendError::Exists => {
                    Fault::refused(format!("request id \"{}\" is already in use", run.request))
                }
                engine::log::AppendError::OutOfOrder { .. } => {
                    Fault::refused(format!("request \"{}\" was just taken up by another process", run.request))
                }
                engine::log::AppendError::Busy { holder } => busy(&run.asked, &holder),
                other => Fault::internal(other),
            };
            let _ = accepted.send(Err(fault));
            return;
        }
    };
    gone();
    // Somebody who started the request without waiting for it has dropped the receiver.
    let _ = finished.send(ended);
}

fn prepare(
    workspace: &std::path::Path,
    good: &Good,
    limits: Limits,
    asked: &mut Asked,
    is_new: bool,
) -> Result<(Loaded, Rc<engine::flow::Flow>), Fault> {
    let loaded = Loaded::load(&good.bundle, workspace, limits)
        .map_err(|error| Fault::NotLoaded { message: error.to_string() })?;
    let flow = loaded.flow.clone().ok_or_else(|| Fault::internal("the file defines no flow"))?;
    let action = flow
        .actions
        .get(&asked.action)
        .ok_or_else(|| Fault::not_found(format!("flow \"{}\" has no action \"{}\"", flow.kind, asked.action)))?;
    // What an older request claims was decided when it was accepted.
    if let Some(concurrency) = action.concurrency.as_ref().filter(|_| is_new) {
        asked.claim = concurrency.claim(caller(&flow.kind, asked)).map_err(|error| {
            Fault::refused(format!("the concurrency key of action \"{}\" could not be found: {error}", asked.action))
        })?;
    }
    // The recorded input of an older request was parsed when it was accepted.
    if let Some(schema) = action.input_schema.as_ref().filter(|_| is_new) {
        let given = asked.input != Data::UNDEFINED;
        asked.input =
            schema.parse(&asked.input).map_err(|issues| refused_input(&flow.kind, &asked.action, issues, given))?;
    }
    Ok((loaded, flow))
}

fn caller<'a>(flow: &'a str, asked: &'a Asked) -> Caller<'a> {
    Caller {
        flow,
        action: &asked.action,
        // A session made for this request alone is shared with no other.
        session: (!asked.ephemeral).then_some(&*asked.session),
        user: &asked.user,
        project: asked.project.as_deref(),
    }
}

/// The model calls that were answered before, in order.
fn recorded_calls(events: &[Event]) -> Vec<ModelCall> {
    let calls = events.iter().filter_map(|event| match &event.kind {
        EventKind::EffectRecorded { effect, request: Some(request), .. } if effect == "model" => {
            serde_json::from_value(request.clone()).ok()
        }
        _ => None,
    });
    calls.collect()
}

fn refused_input(flow: &str, action: &str, issues: Vec<Issue>, given: bool) -> Fault {
    let shown =
        issues
            .iter()
            .map(|issue| {
                if issue.path.is_empty() { issue.message.clone() } else { format!("{}: {}", issue.path, issue.message) }
            })
            .collect::<Vec<_>>()
            .join("; ");
    Fault::Invalid {
        message: match given {
            true => format!("the input does not fit action \"{action}\" of flow \"{flow}\": {shown}"),
            false => {
                format!("action \"{action}\" of flow \"{flow}\" needs an input ({shown}); give it as JSON with --input")
            }
        },
        details: issues.into_iter().map(|issue| Detail { path: issue.path, message: issue.message }).collect(),
    }
}

fn busy(asked: &Asked, holder: &str) -> Fault {
    Fault::refused(format!(
        "request \"{holder}\" runs, and action \"{}\" does not run beside it (concurrency policy \"reject\"): wait for \
         its end, or abort it with `flowglass abort {holder}`",
        asked.action
    ))
}

/// The engine's work, and the script's answers to it beside.
async fn with_script<T>(work: impl Future<Output = T>, drive: impl Future<Output = ()>) -> T {
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

/// Stops the request when this process is told to, or finds another one's wish.
async fn stop_when_told(told: &mut watch::Receiver<bool>, wish: &Wish, loaded: &Loaded, stop: Abort) {
    let wished = async {
        while !wish.is_there() {
            tokio::time::sleep(LOOK).await;
        }
    };
    select_biased! {
        told = Box::pin(told.wait_for(|stop| *stop).fuse()) => {
            // Nobody can tell any more; the wish of another process still counts.
            if told.is_err() {
                std::future::pending::<()>().await;
            }
        }
        () = Box::pin(wished.fuse()) => {}
    }
    loaded.abort();
    stop.set();
}
