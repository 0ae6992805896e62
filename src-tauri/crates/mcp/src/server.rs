//! The server: tools and resources by the Model Context Protocol.
//!
//! Calls run on threads of their own, a few at once, so that a long one holds up no other. Must not interpret what a
//! tool is asked.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, Implementation,
    ListResourceTemplatesResult, ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams,
    ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use runner::{Fault, Workspace};
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::answer::{Answer, Page, clean};
use crate::arguments::{Arguments, Refused};
use crate::{compare, diff, find, look, print, resources, run, tool_list, why};

/// Calls that run at the same time; more wait.
const AT_ONCE: usize = 4;
/// A recorded value is read, printed and dropped by its depth.
const STACK: usize = 64 << 20;

/// What a tool may use.
#[derive(Clone)]
pub(crate) struct Door {
    pub(crate) workspace: Arc<Workspace>,
    /// Whether flows may be run for the client.
    pub(crate) may_run: bool,
    /// Whether the client has cancelled the call.
    pub(crate) is_cancelled: Arc<dyn Fn() -> bool + Send + Sync>,
}

/// The server of one client.
#[derive(Clone)]
pub(crate) struct Server {
    workspace: Arc<Workspace>,
    may_run: bool,
    places: Arc<Semaphore>,
}

impl Server {
    /// `may_run` says whether a person lets this client run flows.
    pub(crate) fn new(workspace: Arc<Workspace>, may_run: bool) -> Self {
        Server { workspace, may_run, places: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Runs a call on a thread of its own.
    async fn run<T: Send + 'static>(
        &self,
        context: RequestContext<RoleServer>,
        call: impl FnOnce(Door) -> Result<T, Refused> + Send + 'static,
    ) -> Result<T, Refused> {
        let place = self.places.clone().acquire_owned().await;
        let cancelled = context.ct.clone();
        let (workspace, may_run) = (self.workspace.clone(), self.may_run);
        let door = Door { workspace, may_run, is_cancelled: Arc::new(move || cancelled.is_cancelled()) };
        let running = tokio::task::spawn_blocking(move || {
            let _place = place;
            call(door)
        });
        // A panic has said on standard error what it was; the server lives on.
        running.await.unwrap_or_else(|_| Err(Refused("this call ended abnormally; others still work".to_owned())))
    }
}

fn tool(name: &str, door: &Door, arguments: Map<String, Value>) -> Result<CallToolResult, Refused> {
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
    Ok(answer?.fit(page))
}

/// A call that was not carried out, so that the model reads why.
fn refused(Refused(message): Refused) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(clean(&message))])
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
        let called = self.run(context, move |door| tool(&name, &door, arguments.unwrap_or_default())).await;
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
        let read = self.run(context, move |door| resources::read(&door, &uri)).await;
        match read {
            Ok(result) => Ok(result.into()),
            Err(Refused(message)) => Err(ErrorData::new(ErrorCode::INVALID_PARAMS, clean(&message), None)),
        }
    }
}

/// What serves clients: one thread for messages, and one for each call that runs.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime, Fault> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().thread_stack_size(STACK).build();
    runtime.map_err(|error| Fault::Internal { message: format!("the server cannot start: {error}") })
}

/// Serves one client on standard input and output until its input ends.
pub fn serve_stdio(workspace: Arc<Workspace>) -> Result<(), Fault> {
    let runtime = runtime()?;
    // A workspace owns a runtime itself, which must not be dropped inside of another one: not by the server.
    let _held = workspace.clone();
    // The settings of a client name the folder, and a repository can bring settings along.
    let may_run = workspace.is_trusted_by_person();
    let server = Server::new(workspace, may_run);
    runtime.block_on(async {
        // A client that goes away before it has said anything wanted nothing, and that is no failure.
        if let Ok(served) = server.serve(rmcp::transport::stdio()).await {
            let _ = served.waiting().await;
        }
    });
    // A call that still runs belongs to a client that has gone.
    runtime.shutdown_background();
    Ok(())
}
