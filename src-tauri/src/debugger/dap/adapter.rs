//! What the editor asks for, by the name of the request; and how a recording is opened.

use std::path::PathBuf;

use engine::event::RequestStatus;
use runner::{Fault, InsideAt, RequestQuery, Workspace};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::session::{Direction, Session};
use super::Opener;
use super::frames::Frame;
use super::types::{Capabilities, ExceptionFilter, InitializeArguments, LaunchArguments};
use super::variables::Container;
use super::wire::{Event, Request};

/// The body of a response, or the error message.
pub(super) type Answer = Result<Option<Value>, String>;

/// The adapter between an editor and a session.
pub(super) struct Adapter<'o> {
    open: Opener<'o>,
    /// What the editor counts lines and columns from.
    first_line: i64,
    first_column: i64,
    debugged: Option<Debugged>,
    /// Events that are written after the answer.
    events: Vec<Event>,
    /// Whether the editor has disconnected.
    pub(super) is_over: bool,
}

/// A recording that is debugged, and what the editor knows of it by number.
pub(super) struct Debugged {
    pub(super) session: Session,
    /// Executions of blocks, kept until the end.
    pub(super) threads: Vec<(String, u32)>,
    /// Kept until the next movement, as the protocol has it.
    pub(super) frames: Vec<Frame>,
    pub(super) containers: Vec<Container>,
    /// Where `goto` can go.
    pub(super) targets: Vec<InsideAt>,
    /// How it begins.
    pub(super) begin: Begin,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// Where the editor said.
    Entry,
    /// At the statement that threw.
    Failed,
    /// At the first breakpoint.
    Running,
}

impl<'o> Adapter<'o> {
    pub(super) fn new(open: Opener<'o>) -> Adapter<'o> {
        Adapter { open, first_line: 1, first_column: 1, debugged: None, events: Vec::new(), is_over: false }
    }

    /// Answers a request. Events that it leads to wait until the answer is written.
    pub(super) fn answer(&mut self, request: &Request) -> Answer {
        match request.command.as_str() {
            "initialize" => self.initialize(&arguments(request)?),
            "launch" | "attach" => self.launch(arguments(request)?),
            "configurationDone" => self.begin(),
            "disconnect" => {
                self.is_over = true;
                Ok(None)
            }
            "terminate" => {
                self.tell_alone("terminated");
                Ok(None)
            }
            "setBreakpoints" => self.set_breakpoints(arguments(request)?),
            "setDataBreakpoints" => self.set_data_breakpoints(arguments(request)?),
            "dataBreakpointInfo" => self.data_breakpoint_info(&arguments(request)?),
            "setExceptionBreakpoints" => self.set_exception_breakpoints(&arguments(request)?),
            "exceptionInfo" => self.exception_info(&arguments(request)?),
            "threads" => self.threads(),
            "stackTrace" => self.stack_trace(&arguments(request)?),
            "scopes" => self.scopes(&arguments(request)?),
            "variables" => self.variables(&arguments(request)?),
            "evaluate" => self.evaluate(&arguments(request)?),
            "source" => self.source(&arguments(request)?),
            "gotoTargets" => self.goto_targets(&arguments(request)?),
            "goto" => self.goto(&arguments(request)?),
            "next" | "stepIn" | "stepOut" | "stepBack" => self.step(&request.command, &arguments(request)?),
            "continue" => self.go_on(Direction::Forward),
            "reverseContinue" => self.go_on(Direction::Back),
            "pause" => self.pause(),
            other => Err(format!("the debugger does not know the request \"{other}\"")),
        }
    }

    fn initialize(&mut self, asked: &InitializeArguments) -> Answer {
        self.first_line = i64::from(asked.lines_start_at1);
        self.first_column = i64::from(asked.columns_start_at1);
        let failed = ExceptionFilter {
            filter: "failed",
            label: "Blocks that failed",
            description: "Stops at the statement that threw, in every block that failed",
            default: true,
        };
        body(&Capabilities {
            supports_configuration_done_request: true,
            supports_conditional_breakpoints: true,
            supports_hit_conditional_breakpoints: true,
            supports_log_points: true,
            supports_data_breakpoints: true,
            supports_evaluate_for_hovers: true,
            supports_step_back: true,
            supports_goto_targets_request: true,
            supports_terminate_request: true,
            supports_exception_info_request: true,
            exception_breakpoint_filters: vec![failed],
        })
    }

    fn launch(&mut self, asked: LaunchArguments) -> Answer {
        let path = |text: Option<String>| text.filter(|text| !text.is_empty()).map(PathBuf::from);
        let text = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (workspace, dir) = (self.open)(path(asked.dir), path(asked.data)).map_err(|fault| fault.to_string())?;
        // VS Code writes the kind of the start, too, where the request's id could be.
        let named = asked.request.filter(|request| request != "launch" && request != "attach");
        let request = text(asked.request_id).or(text(named)).unwrap_or_else(|| "last-failed".to_owned());
        let request = find_request(&workspace, request)?;
        let at = text(asked.at).map(|at| at.parse::<InsideAt>()).transpose()?;
        let mut session = Session::open(workspace, &dir, &request, at.as_ref()).map_err(|fault| fault.to_string())?;
        let begin = match (&at, session.here().error.is_some()) {
            _ if asked.stop_on_entry => {
                session.go_to_end(Direction::Back).map_err(|fault| fault.to_string())?;
                Begin::Entry
            }
            (Some(_), _) => Begin::Entry,
            (None, true) => Begin::Failed,
            (None, false) => Begin::Running,
        };
        self.debugged = Some(Debugged {
            session,
            threads: Vec::new(),
            frames: Vec::new(),
            containers: Vec::new(),
            targets: Vec::new(),
            begin,
        });
        // Breakpoints can be checked from now on.
        self.tell_alone("initialized");
        Ok(None)
    }

    pub(super) fn debugged(&mut self) -> Result<&mut Debugged, String> {
        self.debugged.as_mut().ok_or_else(|| "no request is debugged yet: launch or attach first".to_owned())
    }

    /// An event without a body.
    pub(super) fn tell_alone(&mut self, event: &'static str) {
        self.events.push(Event { event, body: None });
    }

    pub(super) fn tell(&mut self, event: &'static str, of: &impl Serialize) {
        let body = serde_json::to_value(of).ok();
        self.events.push(Event { event, body });
    }

    pub(super) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// A line or a column as the editor counts it.
    pub(super) fn line(&self, line: u32) -> i64 {
        i64::from(line) - 1 + self.first_line
    }

    pub(super) fn column(&self, column: u32) -> i64 {
        i64::from(column) - 1 + self.first_column
    }

    /// A line or a column of the editor, from 1.
    pub(super) fn own_line(&self, line: i64) -> u32 {
        u32::try_from(line.saturating_sub(self.first_line).saturating_add(1)).unwrap_or(1).max(1)
    }

    pub(super) fn own_column(&self, column: i64) -> u32 {
        u32::try_from(column.saturating_sub(self.first_column).saturating_add(1)).unwrap_or(1).max(1)
    }
}

/// Where in a list a number of the editor points; they count from 1.
pub(super) fn index(number: i64) -> Option<usize> {
    usize::try_from(number).ok()?.checked_sub(1)
}

fn arguments<A: DeserializeOwned>(request: &Request) -> Result<A, String> {
    let given = match &request.arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        given => given.clone(),
    };
    serde_json::from_value(given).map_err(|error| format!("the arguments of {} are wrong: {error}", request.command))
}

pub(super) fn body(of: &impl Serialize) -> Answer {
    serde_json::to_value(of).map(Some).map_err(|error| error.to_string())
}

/// The request that is meant: `last-failed`, `last`, or an id.
fn find_request(workspace: &Workspace, wanted: String) -> Result<String, String> {
    let status = match wanted.as_str() {
        "last-failed" => Some(RequestStatus::Failed),
        "last" => None,
        _ => return Ok(wanted),
    };
    let query = RequestQuery { status, limit: Some(1), ..RequestQuery::default() };
    let newest = workspace.requests(query).map_err(|fault: Fault| fault.to_string())?;
    let none = if status.is_some() { "no recorded request failed" } else { "no request is recorded" };
    newest.into_iter().next().map(|row| row.id).ok_or_else(|| format!("{none}; name one with requestId"))
}
