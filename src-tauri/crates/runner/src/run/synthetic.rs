//! Synthetic requests of any shape and size, made from a seed: for benches, for the window's tests, and to see what a
//! long run looks like.
//!
//! The real engine runs a synthetic flow and the real store writes it, so a flow could have written this log. Only the
//! time is simulated: it passes quickly, and models answer at once. Readers of the log must not be able to distinguish
//! it from a real request.

mod pace;
mod plan;
mod settled;

use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;

use engine::abort::Abort;
use engine::data::Data;
use engine::event::RequestStatus;
use engine::log::{AppendError, Log};
use engine::request::{Run, StartRequest};
use engine::written::flow;
use fastrand::Rng;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::catalogue::STACK;
use crate::core::fault::Fault;
use crate::effects::outside::now_ms;
use pace::Pace;
use plan::Plan;

/// The shape of a synthetic request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// Some of everything.
    #[default]
    Mixed,
    /// One long chain of handlers.
    Chain,
    /// Nested sequencers.
    Tree,
    /// Parallel branches.
    Fanout,
    /// Loops.
    Loop,
    /// Models and their tools.
    Chat,
    /// A chain that changes its session's state at every step.
    State,
    /// A `forEach` over up to 200,000 entries.
    Wide,
    /// Up to 300 sequencers, each inside the previous one.
    Nest,
    /// Up to 5,000 parallel branches, each with a block of its own.
    Branches,
    /// One answer of a model that streams a kilobyte with each event.
    Stream,
}

impl Shape {
    /// Every shape, in the order of lists for people.
    pub const ALL: [Shape; 11] = [
        Shape::Mixed,
        Shape::Chain,
        Shape::Tree,
        Shape::Fanout,
        Shape::Loop,
        Shape::Chat,
        Shape::State,
        Shape::Wide,
        Shape::Nest,
        Shape::Branches,
        Shape::Stream,
    ];

    /// The name as given and printed.
    pub fn as_str(self) -> &'static str {
        match self {
            Shape::Mixed => "mixed",
            Shape::Chain => "chain",
            Shape::Tree => "tree",
            Shape::Fanout => "fanout",
            Shape::Loop => "loop",
            Shape::Chat => "chat",
            Shape::State => "state",
            Shape::Wide => "wide",
            Shape::Nest => "nest",
            Shape::Branches => "branches",
            Shape::Stream => "stream",
        }
    }
}

/// The synthetic requests to write.
#[derive(Clone, Debug)]
pub struct Synthetic {
    /// The approximate number of events of each request.
    pub events: u64,
    /// How many requests, each in a session of its own.
    pub requests: u32,
    /// The same seed makes the same requests.
    pub seed: u64,
    /// Their shape.
    pub shape: Shape,
    /// Events per second, written live with the current time. If absent, all are written at once, in the past.
    pub rate: Option<u32>,
    /// With a rate: how many events are written before the rate applies.
    pub at_once: u64,
}

/// The result of a synthesis.
#[derive(Clone, Debug, Serialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub struct Synthesized {
    /// The ids of the requests.
    pub requests: Vec<String>,
    /// The total number of their events.
    #[specta(type = specta_typescript::Number)]
    pub events: u64,
}

/// Writes synthetic requests. Stops at the first that cannot be written.
pub(crate) fn synthesize(log: &Arc<dyn Log>, owner: &str, wanted: &Synthetic) -> Result<Synthesized, Fault> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name("synthetic".to_owned()).stack_size(STACK);
        let thread = thread.spawn_scoped(scope, || write_all(log, owner, wanted))?;
        thread.join().map_err(|_| Fault::internal("the thread that makes up requests ended without an answer"))?
    })
}

fn write_all(log: &Arc<dyn Log>, owner: &str, wanted: &Synthetic) -> Result<Synthesized, Fault> {
    let mut written = Synthesized { requests: Vec::new(), events: 0 };
    for nth in 0..wanted.requests {
        let id = format!("synthetic-{}-{}-{nth}", wanted.shape.as_str(), wanted.seed);
        written.events += write(log, owner, wanted, nth, &id)?;
        written.requests.push(id);
    }
    Ok(written)
}

/// Returns the number of events of the request.
fn write(log: &Arc<dyn Log>, owner: &str, wanted: &Synthetic, nth: u32, id: &str) -> Result<u64, Fault> {
    let mut chance = Rng::with_seed(wanted.seed.wrapping_mul(1_000_003).wrapping_add(u64::from(nth)));
    let root = Plan::new(chance.fork(), wanted.events).root(wanted.shape);
    let asked = StartRequest {
        request: id.into(),
        action: "run".to_owned(),
        input: Data::from(json!({ "question": plan::sentence(&mut chance), "seed": wanted.seed })),
        session: format!("{id}-session").into(),
        ephemeral: false,
        user: "synthetic".into(),
        project: None,
        mock: None,
        owner: owner.to_owned(),
        retry_of: None,
        trigger: None,
        dispatched_by: None,
        claim: None,
        fork: None,
        isolated: Default::default(),
        time_zone: None,
    };
    // The last one ends about now, and each began some time before the next.
    let length = wanted.events as i64 * pace::USUAL_MS;
    let began = now_ms() - length - i64::from(wanted.requests - 1 - nth) * (length + 60_000);
    let pieces = if wanted.shape == Shape::Stream { wanted.events.saturating_sub(plan::AROUND_A_STREAM) } else { 0 };
    let began = wanted.rate.is_none().then_some(began);
    let world = Rc::new(Pace::new(began, pieces, chance));
    let log = Arc::new(settled::Settled::new(log.clone(), wanted.rate, wanted.at_once));
    let run = Run::new(Rc::new(flow("synthetic", &root)), asked, log, world, Abort::default());
    let ended = futures_executor::block_on(async {
        let input = run.begin().await?;
        let mut execution = pin!(run.execute(input));
        // Write streamed pieces here, because nothing else does so while a model is answering.
        let ended = poll_fn(|cx| {
            let state = execution.as_mut().poll(cx);
            if state.is_pending() {
                run.flush();
            }
            state
        });
        Ok(ended.await)
    });
    match ended {
        Ok(ended) if ended.status == RequestStatus::Completed => Ok(run.recorder.last()),
        Ok(ended) => Err(Fault::internal(format!(
            "the made-up request \"{id}\" ended {}: {}",
            ended.status.as_str(),
            ended.error.map_or_else(|| "nobody knows why".to_owned(), |error| error.message)
        ))),
        Err(AppendError::Exists) => {
            Err(Fault::refused(format!("request id \"{id}\" is already in use: another --seed makes other requests")))
        }
        Err(error) => Err(Fault::internal(error)),
    }
}
