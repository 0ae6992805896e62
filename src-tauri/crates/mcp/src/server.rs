//! The server: tools and resources by the Model Context Protocol.
//!
//! Calls run on threads of their own, a few at once, so that a long one holds up no other. Must not interpret what a
//! tool is asked.

use std::sync::{Arc, Mutex, PoisonError};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, Implementation,
    ListResourceTemplatesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer, ServerInitializeError};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use runner::{Fault, Workspace};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::answer::{Answer, Page, clean, hidden_text};
use crate::arguments::{Arguments, Refused, without_long_words};
use crate::begun::Begun;
use crate::door::{Door, STACK};
use crate::stdio::Lines;
use crate::{compare, diff, find, look, print, resources, run, tool_list, why};

/// Calls that run at the same time; more wait.
const AT_ONCE: usize = 4;
/// How long requests may take to end after their client has gone.
const GRACE: std::time::Duration = std::time::Duration::from_secs(2);

/// Opens the workspace.
type Open = dyn Fn() -> Result<Arc<Workspace>, Fault> + Send + Sync;

/// The workspace of a server: opened by the first call that needs it, so that a client is greeted although the
/// database is locked, and told so by each call.
pub(crate) struct Source {
    open: Box<Open>,
    opened: Mutex<Option<Arc<Workspace>>>,
}

impl Source {
    pub(crate) fn new(open: impl Fn() -> Result<Arc<Workspace>, Fault> + Send + Sync + 'static) -> Arc<Source> {
        Arc::new(Source { open: Box::new(open), opened: Mutex::default() })
    }

    fn workspace(&self) -> Result<Arc<Workspace>, Fault> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(workspace) = &*opened {
            return Ok(workspace.clone());
        }
        Ok(opened.insert((self.open)()?).clone())
    }
}

/// The server of one client.
#[derive(Clone)]
pub(crate) struct Server {
    source: Arc<Source>,
    begun: Begun,
    places: Arc<Semaphore>,
}

impl Server {
    pub(crate) fn new(source: Arc<Source>) -> Self {
        Server { source, begun: Begun::default(), places: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Runs a call on a thread of its own.
    async fn run<T: Send + 'static>(
        &self,
        context: RequestContext<RoleServer>,
        call: impl FnOnce(Door) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let cancelled = context.ct.clone();
        let place = tokio::select! {
            () = cancelled.cancelled() => return Err(Refused("cancelled before it began".to_owned())),
            place = self.places.clone().acquire_owned() => place,
        };
        let (source, begun) = (self.source.clone(), self.begun.clone());
        let is_cancelled = Arc::new({
            let cancelled = cancelled.clone();
            move || cancelled.is_cancelled()
        });
        let running = tokio::task::spawn_blocking(move || {
            let _place = place;
            call(Door { workspace: source.workspace()?, begun, is_cancelled })
        });
        // A panic has said on standard error what it was; the server lives on.
        running.await.unwrap_or_else(|_| Err(Refused("this call ended abnormally; others still work".to_owned())))
    }

    /// Stops what its client waited for, without waiting for its end.
    fn stop_begun(&self) {
        for id in self.begun.ids() {
            if let Ok(workspace) = self.source.workspace() {
                workspace.stop(&id);
            }
        }
    }

    /// Aborts what its client waited for, and waits until that has ended, but not for long.
    async fn abort_begun(&self) {
        for id in self.begun.ids() {
            // One that has just ended needs no abort.
            let _ = self.source.workspace().map(|workspace| workspace.abort(&id));
        }
        let until = tokio::time::Instant::now() + GRACE;
        while !self.begun.ids().is_empty() && tokio::time::Instant::now() < until {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
}

/// Refuses to answer from a database that is no longer there.
fn check_database(door: &Door) -> Result<(), Refused> {
    match door.workspace.removed_database() {
        None => Ok(()),
        Some(file) => Err(Refused(format!(
            "{} was removed or replaced since this server was started: start the server again to read what is there \
             now",
            file.display()
        ))),
    }
}

fn tool(name: &str, door: &Door, arguments: Map<String, Value>) -> Result<CallToolResult, Refused> {
    check_database(door)?;
    let mut arguments = Arguments::new(arguments);
    let page = Page::read(&mut arguments)?;
    let answer: Result<Answer, Refused> = match name {
        "find" => find::find(door, arguments, page),
        "look" => look::look(door, arguments, page),
        "diff" => diff::diff(door, arguments, page),
        "why" => why::why(door, arguments, page),
        "print" => print::print(door, arguments, page),
        "run" => run::run(door, arguments, page),
        "compare" => compare::compare(door, arguments, page),
        _ => Err(Refused(format!("there is no tool of this name; the tools are {}", tool_list::NAMES.join(", ")))),
    };
    let answer = Answer { unset_variables: door.workspace.missing_secrets(), ..answer? };
    Ok(answer.fit(page, &|value| hidden(door, value)))
}

/// Values of secrets that flows have recorded are hidden, as in every other door.
fn hidden(door: &Door, value: Value) -> Value {
    door.workspace.hide_cut_secrets(door.workspace.hide_secrets(value))
}

/// A call that was not carried out, so that the model reads why.
fn refused(Refused(message): Refused) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(clean(&without_long_words(&message)))])
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("flowglass", env!("CARGO_PKG_VERSION")))
            .with_instructions(tool_list::INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tool_list::tools()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tool_list::tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let CallToolRequestParams { name, arguments, .. } = request;
        let called = self.run(context, move |door| {
            let called = tool(&name, &door, arguments.unwrap_or_default());
            called.map_err(|Refused(message)| Refused(hidden_text(&|value| hidden(&door, value), message)))
        });
        let called = called.await;
        Ok(called.unwrap_or_else(refused).into())
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let uri = request.uri.clone();
        let read = self.run(context, move |door| {
            check_database(&door)?;
            resources::read(&door, &uri)
        });
        let read = read.await;
        match read {
            Ok(result) => Ok(result.into()),
            Err(Refused(message)) => {
                let message = clean(&without_long_words(&message));
                Err(ErrorData::new(ErrorCode::INVALID_PARAMS, message, None))
            }
        }
    }
}

/// What serves clients: one thread for messages, and one for each call that runs.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Fault> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().thread_stack_size(STACK).build();
    runtime.map_err(|error| Fault::Internal { message: format!("the server cannot start: {error}") })
}

/// Serves one client on standard input and output until its input ends. `open` opens the workspace when a call needs
/// it.
pub fn serve_stdio(open: impl Fn() -> Result<Arc<Workspace>, Fault> + Send + Sync + 'static) -> Result<(), Fault> {
    let runtime = runtime()?;
    let source = Source::new(open);
    // A workspace owns a runtime itself, which must not be dropped inside of another one: not by the server.
    let _held = source.clone();
    let server = Server::new(source);
    let (ending, stopping) = (server.clone(), server.clone());
    let served = runtime.block_on(async {
        let served = match server.serve(Lines::new(move || stopping.stop_begun())).await {
            Ok(served) => served.waiting().await.map(drop).map_err(|error| error.to_string()),
            // A client that goes away before it has said anything wanted nothing, and that is no failure.
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(error.to_string()),
        };
        ending.abort_begun().await;
        served
    });
    // A call that still runs belongs to a client that has gone.
    runtime.shutdown_background();
    served.map_err(|error| Fault::Internal { message: format!("the server ended: {error}") })
}
