//! The facade: one method for each thing a person can ask of a workspace.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use engine::data::Data;
use engine::event::{Event, EventKind, RequestStatus};
use engine::request::Asked;
use engine::views::blocks::{BlockView, blocks};
use engine::views::items::{Audience, items};
use engine::views::{Events, diff};
use serde_json::Value;
use store::{EventQuery, Options, RequestQuery, SessionQuery, Store};
use tokio::sync::watch;

use crate::catalogue::{Catalogue, FlowRow, Good, mock_file};
use crate::config::{Config, Durability};
use crate::fault::Fault;
use crate::mock::MockScript;
use crate::notice::{Notice, Notices};
use crate::owner::Owner;
use crate::run::{Job, Running, start};
use crate::views::*;
use crate::watch::{Watch, watch};
use crate::world::now_ms;

/// How to open a workspace.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// The folder with the flows.
    pub dir: PathBuf,
    /// The database; `.flowglass/flowglass.db` in the folder when absent.
    pub data: Option<PathBuf>,
    /// What a commit survives; the configuration's word when absent.
    pub durability: Option<Durability>,
}

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// The flow's kind.
    pub flow: String,
    /// The action's name.
    pub action: String,
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
    data: PathBuf,
    config: Config,
    store: Arc<Store>,
    owner: Owner,
    catalogue: Mutex<Option<Catalogue>>,
    running: Arc<Mutex<HashMap<String, watch::Sender<bool>>>>,
    notices: Notices,
    watching: Mutex<Option<Watch>>,
}

impl Workspace {
    /// Opens a folder and its database. Flows are loaded when they are first asked for.
    pub fn open(options: OpenOptions) -> Result<Arc<Workspace>, Fault> {
        let dir = std::fs::canonicalize(&options.dir).map_err(|error| {
            Fault::invalid(format!("workspace {} cannot be opened: {error}", options.dir.display()))
        })?;
        if !dir.is_dir() {
            return Err(Fault::invalid(format!("workspace {} is not a folder", dir.display())));
        }
        let config = Config::read(&dir)?;
        let data = options.data.unwrap_or_else(|| dir.join(".flowglass/flowglass.db"));
        let durability = options.durability.or(config.durability).unwrap_or(Durability::Process);
        let store = Store::open(&data, Options {
            durability: match durability {
                Durability::Process => store::Durability::Process,
                Durability::Power => store::Durability::Power,
            },
            create: true,
        })
        .map_err(open_fault)?;
        let owner = Owner::new(&data.parent().unwrap_or(&dir).join("run"))?;
        let workspace = Arc::new(Workspace {
            dir,
            data,
            config,
            store: Arc::new(store),
            owner,
            catalogue: Mutex::default(),
            running: Arc::default(),
            notices: Notices::default(),
            watching: Mutex::default(),
        });
        workspace.forward_commits();
        Ok(workspace)
    }

    /// Turns commits into notices, for as long as the workspace lives.
    fn forward_commits(self: &Arc<Self>) {
        let notices = self.notices.clone();
        let running = self.running.clone();
        let sessions: Mutex<HashMap<Arc<str>, Arc<str>>> = Mutex::default();
        self.store.listen(move |committed: &store::Committed| {
            let mut sessions = lock(&sessions);
            let mut status = RequestStatus::InProgress;
            for event in committed.events.iter() {
                match &event.kind {
                    EventKind::RequestStarted { session, .. } => {
                        sessions.insert(committed.request.clone(), session.clone());
                    }
                    EventKind::RequestFinished { status: ended, .. } => status = *ended,
                    _ => {}
                }
            }
            let session = sessions.get(&committed.request).cloned().unwrap_or_default();
            if status.is_terminal() {
                sessions.remove(&committed.request);
                lock(&running).remove(&*committed.request);
            }
            notices.tell(&Notice::Request {
                request_id: committed.request.to_string(),
                session_id: session.to_string(),
                seq: committed.events.last().map_or(0, |event| event.seq),
                status,
            });
        });
    }

    /// What the window shows of the workspace itself.
    pub fn row(&self) -> Result<WorkspaceRow, Fault> {
        Ok(WorkspaceRow {
            dir: self.dir.display().to_string(),
            name: self.dir.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            data_file: self.data.display().to_string(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            users: self.store.users().map_err(Fault::internal)?,
            projects: self.store.projects().map_err(Fault::internal)?,
        })
    }

    /// All flows, up to date with their files.
    pub fn flows(&self) -> Result<Vec<FlowRow>, Fault> {
        self.with_catalogue(|catalogue| Ok(catalogue.rows(&self.dir)))
    }

    fn with_catalogue<R>(&self, read: impl FnOnce(&Catalogue) -> Result<R, Fault>) -> Result<R, Fault> {
        let mut slot = lock(&self.catalogue);
        let mut catalogue = slot.take().unwrap_or_default();
        let cache = self.data.parent().unwrap_or(&self.dir).join("cache");
        let result = catalogue
            .refresh(&self.dir, self.config.flows.as_deref(), &cache, self.config.script_limits())
            .and_then(|()| read(&catalogue));
        *slot = Some(catalogue);
        result
    }

    /// Follows the files: a change is told as [`Notice::Flows`].
    pub fn watch_files(self: &Arc<Self>) -> Result<(), Fault> {
        let notices = self.notices.clone();
        *lock(&self.watching) = Some(watch(std::slice::from_ref(&self.dir), move || notices.tell(&Notice::Flows))?);
        Ok(())
    }

    /// Hears notices until [`unlisten`](Self::unlisten).
    pub fn listen(&self, listener: impl Fn(&Notice) + Send + Sync + 'static) -> u64 {
        self.notices.listen(Arc::new(listener))
    }

    /// Stops hearing.
    pub fn unlisten(&self, id: u64) {
        self.notices.unlisten(id);
    }

    /// The text of a flow file, by its path in the workspace.
    pub fn source(&self, file: &str) -> Result<String, Fault> {
        let path = std::fs::canonicalize(self.dir.join(file)).map_err(|error| Fault::not_found(format!("{file}: {error}")))?;
        if !path.starts_with(&self.dir) {
            return Err(Fault::refused(format!("{file} is outside the workspace")));
        }
        std::fs::read_to_string(path).map_err(|error| Fault::not_found(format!("{file}: {error}")))
    }

    /// Starts an action. Nothing is written when it is refused.
    pub fn run(&self, options: RunOptions) -> Result<Running, Fault> {
        if options.user.trim().is_empty() {
            return Err(Fault::invalid(format!("Flow \"{}\" requires a userId: name one with --user", options.flow)));
        }
        let good = self.with_catalogue(|catalogue| catalogue.find(&options.flow))?;
        let actions = good.flow.as_ref().map(|flow| flow.actions.as_slice()).unwrap_or_default();
        if !actions.iter().any(|action| action.name == options.action) {
            let names: Vec<&str> = actions.iter().map(|action| action.name.as_str()).collect();
            return Err(Fault::not_found(format!(
                "flow \"{}\" has no action \"{}\"; there are: {}",
                options.flow,
                options.action,
                names.join(", ")
            )));
        }
        let ephemeral = options.session.is_none();
        let session = options.session.clone().unwrap_or_else(new_session);
        if let Some(known) = self.store.session(&session).map_err(Fault::internal)?
            && known.user != options.user
        {
            return Err(Fault::refused(format!(
                "session \"{session}\" belongs to user \"{}\", not to \"{}\"",
                known.user, options.user
            )));
        }
        let request = options.request.clone().unwrap_or_else(|| format!("req_{}", uuid::Uuid::now_v7().simple()));
        if request.contains(':') || request.trim().is_empty() {
            return Err(Fault::invalid(format!("request id \"{request}\" must not be empty or contain \":\"")));
        }
        if self.store.request(&request).map_err(Fault::internal)?.is_some() {
            return Err(Fault::refused(format!("request id \"{request}\" is already in use")));
        }
        let (mock, origin) = self.mock_of(&options.mock, &good.bundle.file)?;
        let asked = Asked {
            request: request.into(),
            action: options.action,
            input: Data::from(options.input),
            session: session.into(),
            ephemeral,
            user: options.user.into(),
            project: options.project.map(Into::into),
            mock: origin,
            owner: self.owner.name().to_owned(),
            retry_of: None,
        };
        self.start(good, asked, mock, Vec::new())
    }

    /// Goes on with an interrupted or failed request: what it finished is not run again.
    pub fn resume(&self, request: &str, mock: &Mock) -> Result<Running, Fault> {
        let (row, events) = self.log_of(request)?;
        if !matches!(row.status, RequestStatus::Interrupted | RequestStatus::Failed | RequestStatus::Aborted) {
            let status = row.status.as_str();
            return Err(Fault::refused(format!(
                "request \"{request}\" is {status}; only an interrupted, aborted or failed one can be resumed"
            )));
        }
        let Some(EventKind::RequestStarted { input, session, user, project, ephemeral, mock: recorded, retry_of, .. }) =
            events.first().map(|event| &event.kind)
        else {
            return Err(Fault::internal(format!("request \"{request}\" has no first event")));
        };
        let good = self.with_catalogue(|catalogue| catalogue.find(&row.flow))?;
        // The model mode is the request's own unless another script is named (decision 19).
        let mode = match (mock, recorded) {
            (Mock::Off, Some(origin)) => match mock_file(&self.dir.join(&good.bundle.file)) == self.dir.join(origin) {
                true => Mock::Beside,
                false => Mock::File(self.dir.join(origin)),
            },
            (mode, _) => mode.clone(),
        };
        let (script, origin) = self.mock_of(&mode, &good.bundle.file)?;
        let asked = Asked {
            request: request.into(),
            action: row.action.clone(),
            input: Data::from(Events::new(&events).value(input).cloned()),
            session: session.clone(),
            ephemeral: *ephemeral,
            user: user.clone(),
            project: project.clone(),
            mock: origin,
            owner: self.owner.name().to_owned(),
            retry_of: retry_of.clone(),
        };
        self.start(good, asked, script, events)
    }

    fn start(&self, good: Arc<Good>, asked: Asked, mock: Option<MockScript>, before: Vec<Event>) -> Result<Running, Fault> {
        let (stop, abort) = watch::channel(false);
        let id = asked.request.to_string();
        lock(&self.running).insert(id.clone(), stop);
        let running = self.running.clone();
        start(Job {
            workspace: self.dir.clone(),
            good,
            asked,
            mock,
            before,
            limits: self.config.script_limits(),
            log: self.store.clone(),
            abort,
            gone: Box::new(move || drop(lock(&running).remove(&id))),
        })
    }

    fn mock_of(&self, mock: &Mock, flow: &str) -> Result<(Option<MockScript>, Option<String>), Fault> {
        let (path, origin) = match mock {
            Mock::Off => return Ok((None, None)),
            Mock::Beside => {
                let path = mock_file(&self.dir.join(flow));
                let origin = path.strip_prefix(&self.dir).unwrap_or(&path).display().to_string();
                if !path.is_file() {
                    // A flow without generators needs no script.
                    return Ok((Some(MockScript::default()), Some(origin)));
                }
                (path, origin)
            }
            Mock::File(file) => (file.clone(), file.display().to_string()),
        };
        Ok((Some(MockScript::read(&path)?), Some(origin)))
    }

    /// Stops a request that this process runs.
    pub fn abort(&self, request: &str) -> Result<RequestStatus, Fault> {
        let row = self.request(request)?;
        match lock(&self.running).get(request) {
            Some(stop) => {
                // The thread that listens may have ended a moment ago; then there is nothing to stop.
                let _ = stop.send(true);
                Ok(row.status)
            }
            None => Err(Fault::refused(format!("request \"{request}\" is {}; only a running one can be aborted", row.status.as_str()))),
        }
    }

    /// Sessions, newest first.
    pub fn sessions(&self, query: SessionQuery) -> Result<Vec<SessionRow>, Fault> {
        let rows = self.store.sessions(&query).map_err(Fault::internal)?;
        Ok(rows.into_iter().map(|row| self.session_row(row)).collect())
    }

    /// Requests, newest first.
    pub fn requests(&self, query: RequestQuery) -> Result<Vec<RequestRow>, Fault> {
        if let Some(session) = &query.session {
            self.session(session)?;
        }
        let rows = self.store.requests(&query).map_err(Fault::internal)?;
        Ok(rows.into_iter().map(|row| self.request_row(row)).collect())
    }

    /// One request's row.
    pub fn request(&self, request: &str) -> Result<RequestRow, Fault> {
        let row = self.store.request(request).map_err(Fault::internal)?;
        row.map(|row| self.request_row(row)).ok_or_else(|| Fault::not_found(format!("unknown request \"{request}\"")))
    }

    fn session(&self, session: &str) -> Result<SessionRow, Fault> {
        let row = self.store.session(session).map_err(Fault::internal)?;
        row.map(|row| self.session_row(row)).ok_or_else(|| Fault::not_found(format!("unknown session \"{session}\"")))
    }

    /// A request whole: its row, its input and output, every block with payloads.
    pub fn show(&self, request: &str) -> Result<Shown, Fault> {
        let (row, events) = self.log_of(request)?;
        let view = Events::new(&events);
        let blocks = blocks(view, !row.status.is_terminal());
        let input = events.first().and_then(|event| match &event.kind {
            EventKind::RequestStarted { input, .. } => view.value(input),
            _ => None,
        });
        let output = events.last().and_then(|event| match &event.kind {
            EventKind::RequestFinished { output: Some(output), .. } => view.value(output),
            _ => None,
        });
        Ok(Shown {
            input: json(input),
            output: json(output),
            blocks: blocks
                .iter()
                .map(|block| ShownBlock {
                    row: BlockRow::new(&row.id, block),
                    input: json(block.input),
                    output: json(block.output),
                })
                .collect(),
            request: row,
        })
    }

    /// The rows of a request's timeline that began or ended after an event (0: all).
    pub fn timeline(&self, request: &str, after: u64) -> Result<Timeline, Fault> {
        let (row, events) = self.log_of(request)?;
        let blocks = blocks(Events::new(&events), !row.status.is_terminal());
        let ended = row.status.is_terminal();
        let is_news = |block: &&BlockView<'_>| {
            block.seq_start > after || block.seq_end.is_some_and(|end| end > after) || (block.seq_end.is_none() && (ended || block.changes + block.items > 0))
        };
        Ok(Timeline {
            seq: events.last().map_or(0, |event| event.seq),
            blocks: blocks.iter().filter(is_news).map(|block| BlockRow::new(&row.id, block)).collect(),
            request: row,
        })
    }

    /// Everything about one execution of a block.
    pub fn block(&self, request: &str, instance: &str) -> Result<BlockDetail, Fault> {
        let (row, events) = self.log_of(request)?;
        let view = Events::new(&events);
        let all = blocks(view, !row.status.is_terminal());
        let block = all
            .iter()
            .find(|block| format!("{request}:{}:{}", block.path, block.attempt) == instance)
            .ok_or_else(|| Fault::not_found(format!("request \"{request}\" has no block \"{instance}\"")))?;
        let own = |event: &&Event| event.path.as_deref() == Some(&*block.path) && event.attempt == block.attempt;
        let id: Arc<str> = row.id.as_str().into();
        let items = items(&id, view)
            .into_iter()
            .filter(|item| item.provenance.block_instance_id == instance)
            .map(ItemRow::from)
            .collect();
        let logs = events
            .iter()
            .filter(own)
            .filter_map(|event| match &event.kind {
                EventKind::Logged { level, text } => Some(LogLine { level: level.clone(), text: text.clone(), at: event.at }),
                _ => None,
            })
            .collect();
        let mut changes = Vec::new();
        for scope in self.scopes_of(request)? {
            let writes: Vec<u64> = events
                .iter()
                .filter(own)
                .filter(|event| matches!(&event.kind, EventKind::StateChanged { scope: written, .. } if *written == scope))
                .map(|event| event.seq)
                .collect();
            let Some(first) = writes.first().copied() else { continue };
            let (from, to) = match scope.kind.is_durable() {
                // Durable writes come into force together, with the block's last event.
                true => (block.seq_end.map_or(first, |end| end - 1), block.seq_end.unwrap_or(first)),
                false => (first - 1, writes.last().copied().unwrap_or(first)),
            };
            for mut change in self.scope_diff(&scope, request, from, request, to)? {
                change.seq = writes.last().copied();
                change.by = Some(block.path.to_string());
                changes.push(change);
            }
        }
        Ok(BlockDetail { block: BlockRow::new(&row.id, block), input: json(block.input), output: json(block.output), items, changes, logs })
    }

    /// Raw events of a request, oldest first.
    pub fn events(&self, request: &str, query: EventQuery) -> Result<Vec<EventRow>, Fault> {
        self.request(request)?;
        let events = self.store.events(request, &query).map_err(Fault::internal)?;
        Ok(events.iter().map(|event| EventRow::new(request, event)).collect())
    }

    /// The items of a request or a session, as an audience sees them, oldest first.
    pub fn items(&self, session: Option<&str>, request: Option<&str>, audience: Audience) -> Result<Vec<ItemRow>, Fault> {
        let requests = match (session, request) {
            (_, Some(request)) => vec![self.request(request)?.id],
            (Some(session), None) => {
                self.session(session)?;
                let query = RequestQuery { session: Some(session.to_owned()), ..RequestQuery::default() };
                let mut rows = self.store.requests(&query).map_err(Fault::internal)?;
                rows.reverse();
                rows.into_iter().map(|row| row.id).collect()
            }
            (None, None) => return Err(Fault::invalid("name a session or a request")),
        };
        let mut all = Vec::new();
        for request in requests {
            let events = self.store.events(&request, &EventQuery::default()).map_err(Fault::internal)?;
            let id: Arc<str> = request.into();
            for item in items(&id, Events::new(&events)) {
                if audience.sees(&item) {
                    all.push(ItemRow::from(item));
                }
            }
        }
        Ok(all)
    }

    /// Every scope's state at an instant of a request; its newest instant when `at` is absent.
    pub fn state_at(&self, request: &str, at: Option<&At>) -> Result<StateView, Fault> {
        let seq = self.seq_at(request, at)?;
        let query = EventQuery { from: Some(seq), to: Some(seq), ..EventQuery::default() };
        let at = self.store.events(request, &query).map_err(Fault::internal)?.first().map(|event| event.at);
        let mut view = StateView { seq: Some(seq), at, ..StateView::default() };
        for scope in self.scopes_of(request)? {
            let record = self.store.state_at(&scope, request, seq).map_err(Fault::internal)?;
            let name = put_state(&mut view, &scope, Json(record.state.to_json()));
            view.versions.insert(name, record.version);
        }
        Ok(view)
    }

    /// The newest state of a session, a user or a project.
    pub fn record_state(&self, scope: engine::scope::ScopeKey) -> Result<StateView, Fault> {
        if !self.store.exists(&scope).map_err(Fault::internal)? {
            return Err(Fault::not_found(format!("unknown {} \"{}\"", scope.kind.as_str(), scope.id)));
        }
        let record = engine::log::Log::record(&*self.store, &scope).map_err(Fault::internal)?;
        let mut view = StateView::default();
        let name = put_state(&mut view, &scope, Json(record.state.to_json()));
        view.versions.insert(name, record.version);
        Ok(view)
    }

    /// The differences of every scope between two instants, of one request or of two.
    pub fn diff(&self, request: &str, from: Option<&At>, to: Option<&At>, with: Option<&str>) -> Result<Vec<Change>, Fault> {
        let other = with.unwrap_or(request);
        let from = match (from, with) {
            (Some(at), _) => self.seq_at(request, Some(at))?,
            // Two requests are compared at their ends; one request from its beginning.
            (None, Some(_)) => self.seq_at(request, None)?,
            (None, None) => 1,
        };
        let to = self.seq_at(other, to)?;
        let mut changes = Vec::new();
        let mut scopes = self.scopes_of(request)?;
        if with.is_some() {
            scopes.retain(|scope| scope.kind.is_durable());
        }
        for scope in scopes {
            changes.extend(self.scope_diff(&scope, request, from, other, to)?);
        }
        if with.is_none() {
            self.name_writers(request, from, to, &mut changes)?;
        }
        Ok(changes)
    }

    fn scope_diff(&self, scope: &engine::scope::ScopeKey, request: &str, from: u64, other: &str, to: u64) -> Result<Vec<Change>, Fault> {
        let old = self.store.state_at(scope, request, from).map_err(Fault::internal)?;
        let new = self.store.state_at(scope, other, to).map_err(Fault::internal)?;
        let instance = matches!(scope.kind, engine::scope::ScopeKind::Sequencer | engine::scope::ScopeKind::Block)
            .then(|| scope.id.to_string());
        Ok(diff::diff(Some(&old.state.to_json()), Some(&new.state.to_json()))
            .into_iter()
            .map(|difference| Change::new(scope.kind.as_str(), instance.clone(), difference))
            .collect())
    }

    /// Who wrote each changed path last: the newest operation that touches its top-level field.
    fn name_writers(&self, request: &str, from: u64, to: u64, changes: &mut [Change]) -> Result<(), Fault> {
        if changes.is_empty() {
            return Ok(());
        }
        let query = EventQuery { to: Some(to), kind: Some("state_changed".to_owned()), ..EventQuery::default() };
        let events = self.store.events(request, &query).map_err(Fault::internal)?;
        let empty = engine::state::State::default();
        for change in changes {
            let field = change.path.split(['.', '[']).next().unwrap_or_default();
            let writer = events.iter().rev().find(|event| match &event.kind {
                EventKind::StateChanged { scope, operation, .. } => {
                    let same = scope.kind.as_str() == change.scope
                        && change.instance_id.as_ref().is_none_or(|id| **id == *scope.id);
                    same && (operation.touched(&empty).contains(&field)
                        || matches!(operation, engine::operation::Operation::Set { .. }))
                }
                _ => false,
            });
            if let Some(event) = writer.filter(|event| event.seq > from || change.seq.is_none()) {
                change.seq = Some(event.seq);
                change.by = event.path.as_ref().map(ToString::to_string);
            }
        }
        Ok(())
    }

    /// Sizes and counts of the database.
    pub fn stats(&self) -> Result<Stats, Fault> {
        let stats = self.store.stats().map_err(Fault::internal)?;
        Ok(Stats {
            bytes: stats.bytes,
            events: stats.events,
            items: stats.items,
            sessions: stats.sessions,
            requests: stats.requests,
            payload_bytes: stats.payload_bytes,
            unique_payload_bytes: stats.unique_payload_bytes,
        })
    }

    /// Follows a request's committed events until it ends, from its first.
    pub fn follow(&self, request: &str, mut each: impl FnMut(EventRow)) -> Result<(), Fault> {
        let (sender, news) = std::sync::mpsc::channel();
        let wanted = request.to_owned();
        let id = self.listen(move |notice| {
            if let Notice::Request { request_id, .. } = notice
                && *request_id == wanted
            {
                // The follower may have seen the end already.
                let _ = sender.send(());
            }
        });
        let mut seen = 0;
        let result = loop {
            let query = EventQuery { from: Some(seen + 1), ..EventQuery::default() };
            let events = match self.store.events(request, &query) {
                Ok(events) => events,
                Err(error) => break Err(Fault::internal(error)),
            };
            let ended = events.iter().any(|event| matches!(event.kind, EventKind::RequestFinished { .. }));
            for event in &events {
                seen = event.seq;
                each(EventRow::new(request, event));
            }
            if ended || !lock(&self.running).contains_key(request) && events.is_empty() {
                break Ok(());
            }
            // A lost notice costs a tenth of a second, never an event.
            let _ = news.recv_timeout(std::time::Duration::from_millis(100));
        };
        self.unlisten(id);
        result
    }

    fn log_of(&self, request: &str) -> Result<(RequestRow, Vec<Event>), Fault> {
        let row = self.request(request)?;
        let events = self.store.events(request, &EventQuery::default()).map_err(Fault::internal)?;
        Ok((row, events))
    }

    fn scopes_of(&self, request: &str) -> Result<Vec<engine::scope::ScopeKey>, Fault> {
        self.store.scopes_of(request).map_err(Fault::internal)
    }

    fn seq_at(&self, request: &str, at: Option<&At>) -> Result<u64, Fault> {
        let last = self.request(request)?.last_seq;
        match at {
            None => Ok(last),
            Some(At::Seq(seq)) if *seq <= last => Ok(*seq),
            Some(At::Seq(seq)) => Err(Fault::not_found(format!("request \"{request}\" has {last} events, not {seq}"))),
            Some(At::Path(path)) => {
                let query = EventQuery { kind: Some("block_finished".to_owned()), ..EventQuery::default() };
                let events = self.store.events(request, &query).map_err(Fault::internal)?;
                let found = events.iter().rev().find(|event| event.path.as_deref() == Some(path));
                found.map(|event| event.seq).ok_or_else(|| {
                    Fault::not_found(format!("no block finished at path \"{path}\" in request \"{request}\""))
                })
            }
        }
    }

    fn request_row(&self, row: store::RequestRow) -> RequestRow {
        let unfinished = matches!(row.status, RequestStatus::InProgress | RequestStatus::Queued);
        let status = match unfinished && !self.owner.is_alive(&row.owner) {
            true => RequestStatus::Interrupted,
            false => row.status,
        };
        RequestRow {
            id: row.id,
            session_id: row.session,
            flow: row.flow,
            action: row.action,
            user_id: row.user,
            project_id: row.project,
            status,
            started_at: row.started_at,
            finished_at: row.finished_at,
            duration_ms: row.finished_at.map(|end| end - row.started_at),
            retry_of: row.retry_of,
            error: row.error.as_ref().map(ErrorInfo::from),
            mock: row.mock.is_some(),
            last_seq: row.last_seq,
        }
    }

    fn session_row(&self, row: store::SessionRow) -> SessionRow {
        let unfinished = matches!(row.last_status, RequestStatus::InProgress | RequestStatus::Queued);
        let last_status = match unfinished && !self.owner.is_alive(&row.last_owner) {
            true => RequestStatus::Interrupted,
            false => row.last_status,
        };
        SessionRow {
            id: row.id,
            flow: row.flow,
            user_id: row.user,
            project_id: row.project,
            title: row.title,
            requests: row.requests,
            items: row.items,
            last_status,
            created_at: row.created_at,
            updated_at: row.updated_at,
            forked_from: row.forked_from,
        }
    }
}

fn put_state(view: &mut StateView, scope: &engine::scope::ScopeKey, state: Json) -> String {
    use engine::scope::ScopeKind;
    match scope.kind {
        ScopeKind::Request => view.request = Some(state),
        ScopeKind::Session => view.session = Some(state),
        ScopeKind::User => view.user = Some(state),
        ScopeKind::Project => view.project = Some(state),
        ScopeKind::Sequencer | ScopeKind::Block => {
            view.sequencers.insert(scope.id.to_string(), state);
            return scope.id.to_string();
        }
    }
    scope.kind.as_str().to_owned()
}

fn json(value: Option<&Value>) -> Option<Json> {
    value.cloned().map(Json)
}

/// `ephemeral_<ms>_<hex>`, as seed 000 shows it.
fn new_session() -> String {
    let tail = uuid::Uuid::new_v4().simple().to_string();
    format!("ephemeral_{}_{}", now_ms(), &tail[..6])
}

fn open_fault(error: store::OpenError) -> Fault {
    match error {
        newer @ store::OpenError::Newer { .. } => Fault::refused(newer.to_string()),
        other => Fault::internal(other),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

