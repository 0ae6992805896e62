//! The facade: one method for each thing a person can ask of a workspace.

mod abort;
mod agents;
pub(crate) mod answers;
mod block;
#[cfg(test)]
mod block_tests;
mod check;
mod checkpoints;
mod clear;
mod client;
pub(crate) mod code;
mod comparisons;
mod damage;
mod differences;
mod dispatch;
mod experiment;
pub(crate) mod expiry;
mod export_file;
pub(crate) mod export_format;
mod fitting;
mod flows;
mod follow;
pub(crate) mod foreign;
mod fork;
pub(crate) mod inside;
mod instances;
mod items;
mod journal;
mod known_samples;
mod listed;
#[cfg(test)]
mod lost_job_tests;
mod model_calls;
mod moving;
mod news;
mod open_views;
pub(crate) mod otlp;
mod payloads;
mod plan;
mod queries;
mod read_only;
mod records;
mod replay;
mod request_view;
mod resume;
mod rows;
pub(crate) mod runs;
mod search;
mod settings;
mod settings_file;
mod starting;
mod synthetic;
mod totals;
mod traces;
mod tree;
mod trigger;
mod trusted;
mod verify;
mod view_items;
mod why;
pub(crate) mod worker;
mod writers;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use engine::event::RequestStatus;
use serde_json::Value;
use store::{DataPlace, Liveness, LockedBy, OnBusy, Options, Owners, Store};
use tokio::sync::watch;

use crate::catalogue::trust::Consent;
use crate::catalogue::watch::Watching;
use crate::catalogue::{Catalogue, mock_file};
use crate::core::config::{Config, Durability};
use crate::core::fault::Fault;
use crate::core::notice::{Notice, Notices};
use crate::core::sync::lock;
use crate::effects::outside::now_ms;
use crate::models::mock_script::MockScript;
use crate::run::not_accepted::NotAccepted;
use crate::run::owner::{Lock, Locks};
use crate::run::threads::Pool;
use crate::run::warm_runtimes::WarmRuntimes;
use crate::run::{Job, OnExit, Running, start};
use crate::views::*;

use abort::{Runs, Stop};
use read_only::{Opened, open_data, unwritable};
use resume::Next;

pub use answers::{Answered, Resolution};
pub use dispatch::DispatchEnd;
pub use experiment::{
    Budget, Continuation, CulpritQuery, CulpritSearch, ModelsBy, ParameterAxis, PromptField, PromptText, Score,
    SetAxis, Trial, TryQuery,
};
pub use fork::Edits;
pub use inside::{Breakpoint, InsideAt, Move, PassProgress, PrintQuery, Schedule, StepQuery, Stopped, Stops};
pub use trigger::TriggerOptions;
pub use verify::VerifyQuery;

/// How to open a workspace.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The folder with the flows.
    pub dir: PathBuf,
    /// The database; `.flowglass/flowglass.db` in the folder when absent.
    pub data: Option<DataPlace>,
    /// Whether a named database must be there already: who only reads makes none at a mistyped path.
    pub existing: bool,
    /// What a commit survives; the configuration's word when absent.
    pub durability: Option<Durability>,
    /// Whether keys may go to the addresses that `flowglass.json` names (ARCHITECTURE §6.6).
    pub trust: bool,
    /// Who says that flows of this folder may be loaded and run.
    pub consent: Consent,
    /// Whether flows that ran are kept ready for their next request, as whoever serves many of them wants.
    pub keep_ready: bool,
    /// The program whose [`BUNDLE_COMMAND`](crate::BUNDLE_COMMAND) bundles flows, so that a parser that ends abnormally
    /// ends a child; in this process when absent.
    pub bundler: Option<PathBuf>,
    /// Called when another process keeps the database locked for long; the wait goes on.
    pub on_busy: Option<fn(LockedBy)>,
    /// Hears of an event that cannot be read any more and is left out of what is shown: the request, the event's
    /// number, and what is wrong.
    pub on_damaged: Option<fn(&str, u64, &str)>,
    /// Hears that the database cannot be written to and is only read.
    pub on_read_only: Option<fn(&str)>,
}

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The flow's kind.
    pub flow: String,
    /// The action's name; of an internal or a task entry its name or its address.
    pub action: String,
    /// Whether it is an entry that only a dispatcher reaches.
    pub internal: bool,
    /// Who asks.
    pub user: String,
    /// The conversation; a new one-shot session when absent.
    pub session: Option<String>,
    /// The team.
    pub project: Option<String>,
    /// The request's id; a new one when absent.
    pub request: Option<String>,
    /// The action's input; `None` is `undefined`.
    pub input: Option<Value>,
    /// Which mock script answers models.
    pub mock: Mock,
}

/// Whether models are mocked, and by which script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mock {
    /// Real models.
    #[default]
    Off,
    /// As the request had it before; real models for a new one.
    Inherit,
    /// The script beside the flow.
    Beside,
    /// This script.
    File(PathBuf),
}

/// Where in a request's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum At {
    /// After this event.
    Seq(u64),
    /// Just after the block at this path finished.
    Path(String),
}

/// An open workspace. Shared by every window and thread of the process.
pub struct Workspace {
    dir: PathBuf,
    data: DataPlace,
    config: Config,
    /// Whether flows of this folder may be loaded and run.
    trusted: bool,
    trust: bool,
    keep_ready: bool,
    warm_runtimes: WarmRuntimes,
    pool: Pool,
    store: Arc<Store>,
    /// Why the database is only read, where it is.
    unwritable: Option<Fault>,
    locks: Locks,
    /// The database's file, as notices name it.
    name: Arc<str>,
    catalogue: Mutex<Catalogue>,
    /// The program that bundles flows.
    bundler: Option<PathBuf>,
    /// Held by whoever loads flows.
    loads: flows::Loads,
    running: Arc<Mutex<Runs>>,
    tokens: AtomicU64,
    /// What this process writes.
    written: news::Written,
    notices: Notices,
    views: open_views::Views,
    comparisons: comparisons::Comparisons,
    payloads: payloads::PayloadCache,
    probed: inside::ProbedCodes,
    verdicts: verify::Verdicts,
    known_samples: known_samples::KnownSamples,
    watching: Watching,
    /// What dispatchers have started, until somebody waits for it.
    dispatched: Mutex<VecDeque<Running>>,
    /// For dispatchers, which must not keep the workspace open.
    itself: OnceLock<Weak<Workspace>>,
}

impl Workspace {
    /// Opens a folder and its database. Flows are loaded when they are first asked for.
    pub fn open(options: OpenOptions) -> Result<Arc<Workspace>, Fault> {
        let dir = folder(&options.dir)?;
        let config = settings_file::read(&dir)?;
        let data = options.data.clone().unwrap_or_else(|| default_data(&dir).into());
        let notices = Notices::default();
        let name: Arc<str> = data.to_string().into();
        // Where they are is known when the database is open; until then nobody can tell who lives.
        let found: Arc<OnceLock<Locks>> = Arc::default();
        let locks = found.clone();
        let durability = options.durability.or(config.durability).unwrap_or(Durability::Process);
        let settings = Options {
            durability: match durability {
                Durability::Process => store::Durability::Process,
                Durability::Power => store::Durability::Power,
                Durability::Each => store::Durability::Each,
                Durability::Scratch => store::Durability::Scratch,
            },
            create: options.data.is_none() || !options.existing,
            owners: Owners::new(move |owner| locks.get().map_or(Liveness::Unknown, |locks| locks.liveness_now(owner))),
            on_busy: on_busy(options.on_busy, Some((notices.clone(), name.clone()))),
            on_damaged: damage::listener(options.on_damaged),
            time_zone: Some(script::own_time_zone()),
            ..Options::default()
        };
        let refusal = trusted::refusal(options.consent, &dir, &config);
        let Opened { store, unwritable } = open_data(&data, &options, settings, refusal.as_ref())?;
        // Jobs have their locks beside the real file; an empty database in place of none has no jobs.
        let locks = Locks::of(&store, &data).map_err(Fault::internal)?;
        let locks = found.get_or_init(|| locks).clone();
        let workspace = Arc::new(Workspace {
            trusted: refusal.is_none(),
            dir,
            data,
            config,
            trust: options.trust,
            keep_ready: options.keep_ready,
            warm_runtimes: WarmRuntimes::default(),
            pool: Pool::new(),
            store: Arc::new(store),
            unwritable,
            locks,
            name,
            catalogue: Mutex::default(),
            bundler: options.bundler,
            loads: flows::Loads::default(),
            running: Arc::default(),
            tokens: AtomicU64::default(),
            written: news::Written::default(),
            notices,
            views: open_views::Views::default(),
            comparisons: comparisons::Comparisons::default(),
            payloads: payloads::PayloadCache::default(),
            probed: inside::ProbedCodes::default(),
            verdicts: verify::Verdicts::default(),
            known_samples: known_samples::KnownSamples::default(),
            watching: Watching::default(),
            dispatched: Mutex::default(),
            itself: OnceLock::default(),
        });
        let _ = workspace.itself.set(Arc::downgrade(&workspace)); // Nobody else has it yet.
        workspace.follow_database();
        tracing::info!(dir = %workspace.dir.display(), data = %workspace.data, "workspace opened");
        Ok(workspace)
    }

    /// Refuses a folder that cannot be a workspace, because it is not there or is a file.
    pub fn check_folder(dir: &std::path::Path) -> Result<(), Fault> {
        folder(dir).map(drop)
    }

    /// What the window shows of the workspace.
    pub fn row(&self) -> Result<WorkspaceRow, Fault> {
        Ok(WorkspaceRow {
            dir: self.dir.display().to_string(),
            name: self.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            data_file: self.data.to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            users: self.store.users().map_err(Fault::internal)?,
            projects: self.store.projects().map_err(Fault::internal)?,
            is_trusted: self.is_trusted(),
            hosts: self.config.hosts(),
            unwritable: self.why_only_read(),
        })
    }

    /// Follows the files: a change is told as [`Notice::Flows`].
    pub fn watch_files(self: &Arc<Self>) -> Result<(), Fault> {
        let (notices, name) = (self.notices.clone(), self.name.clone());
        self.watching.begin(&self.dir, move || notices.tell(&Notice::Flows { workspace: name.clone() }))
    }

    /// Hears notices until [`unlisten`](Self::unlisten).
    pub fn listen(&self, listener: impl Fn(&Notice) + Send + Sync + 'static) -> u64 {
        self.notices.listen(Arc::new(listener))
    }

    /// Stops hearing.
    pub fn unlisten(&self, id: u64) {
        self.notices.unlisten(id);
    }

    fn start(&self, next: Next) -> Result<Running, NotAccepted> {
        let Next { loaded_flow, mut asked, script: mock, before, calls } = next;
        let (is_sample, dispatching) = (calls.is_some(), calls.clone());
        let (stop, abort) = watch::channel(false);
        let id = asked.request.to_string();
        let job_lock = self.lock()?;
        asked.owner = job_lock.owner();
        let token = self.tokens.fetch_add(1, Ordering::Relaxed);
        lock(&self.running).insert(token, Stop { request: id, sender: stop });
        let running = self.running.clone();
        self.written.begin(&asked.request, &asked.session, token);
        let (written, notices, workspace) = (self.written.clone(), self.notices.clone(), self.name.clone());
        let request = asked.request.clone();
        let on_exit = OnExit::new({
            let request = request.clone();
            move || {
                drop(lock(&running).remove(&token));
                if let Some((session, seq)) = written.end(&request, token) {
                    news::tell(&notices, &workspace, (&request, &session), seq, RequestStatus::Interrupted);
                }
            }
        });
        let job = Job {
            workspace: self.dir.clone(),
            loaded_flow: loaded_flow.clone(),
            asked,
            mock,
            calls,
            before,
            config: self.config.clone(),
            trust: self.trust,
            log: self.store.clone(),
            keep_code: self.keep_code(&loaded_flow),
            dispatcher: self.dispatcher(dispatching),
            abort,
            lock: job_lock,
            late: {
                let store = Arc::downgrade(&self.store);
                Box::new(move |late| late.keep_trying(store))
            },
            halted: {
                let (notices, workspace, request) = (self.notices.clone(), self.name.clone(), request.clone());
                Box::new(move |message| {
                    let (request_id, message) = (request.to_string(), message.to_owned());
                    notices.tell(&Notice::Halted { workspace, request_id, message });
                })
            },
            on_exit,
        };
        let running = start(job, &self.warm_runtimes, &self.pool)?;
        // The code of a sample is not that of the next request.
        if self.keep_ready && !is_sample {
            self.warm_runtimes.prepare(&self.dir, &loaded_flow, self.config.script_limits(), self.config.flow_env());
        }
        Ok(running)
    }

    fn mock_of(&self, mock: &Mock, flow: &str) -> Result<(Option<MockScript>, Option<String>), Fault> {
        let (path, origin) = match mock {
            Mock::Off | Mock::Inherit => return Ok((None, None)),
            Mock::Beside => {
                let path = mock_file(&self.dir.join(flow));
                let origin = path.strip_prefix(&self.dir).unwrap_or(&path).display().to_string();
                if !path.is_file() {
                    // A flow without generators needs no script.
                    return Ok((Some(MockScript::empty(&origin)), Some(origin)));
                }
                (path, origin)
            }
            // By its full path: a resume may be asked for from another folder.
            Mock::File(file) => {
                let path = std::fs::canonicalize(file).unwrap_or_else(|_| file.clone());
                (path.clone(), path.display().to_string())
            }
        };
        Ok((Some(MockScript::read(&path, &origin)?), Some(origin)))
    }

    /// A lock for a job that is about to run.
    fn lock(&self) -> Result<Lock, Fault> {
        self.locks.take().map_err(|error| unwritable(&self.data, self.locks.folder(), &error))
    }
}

/// A workspace's folder by its full path.
fn folder(dir: &std::path::Path) -> Result<PathBuf, Fault> {
    let full = std::fs::canonicalize(dir)
        .map_err(|error| Fault::invalid(format!("workspace {} cannot be opened: {error}", dir.display())))?;
    if full.is_dir() { Ok(full) } else { Err(Fault::invalid(format!("workspace {} is not a folder", full.display()))) }
}

/// Where a workspace has its database unless another is named.
fn default_data(dir: &std::path::Path) -> PathBuf {
    dir.join(".flowglass/flowglass.db")
}

/// Who hears that another process keeps the database locked.
fn on_busy(tell: Option<fn(LockedBy)>, notices: Option<(Notices, Arc<str>)>) -> OnBusy {
    OnBusy::new(move |locked_by| {
        tracing::warn!(?locked_by, "another process keeps the database locked");
        tell.into_iter().for_each(|tell| tell(locked_by));
        if let Some((notices, workspace)) = &notices {
            notices.tell(&Notice::Busy { workspace: workspace.clone() });
        }
    })
}

/// An id for a request that nothing has yet.
pub fn new_request() -> String {
    format!("req_{}", crate::effects::outside::new_id().simple())
}

/// `ephemeral_<ms>_<hex>` (SEMANTICS §1.1).
fn new_session() -> String {
    let tail = uuid::Uuid::new_v4().simple().to_string();
    format!("ephemeral_{}_{}", now_ms(), &tail[..6])
}
