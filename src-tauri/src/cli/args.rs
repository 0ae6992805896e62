//! The words of the command line: commands, flags, and what each may be (ARCHITECTURE §9.1).

mod answer;
mod debugging;
mod diff;
mod experiment;
mod export;
mod inside;
mod mcp;
mod page;
mod place;
mod read;
mod run;
mod runs;
mod tree;
mod value;
mod verify;
mod why;
mod worker;

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand};
use engine::event::RequestStatus;
use engine::suspension::SuspensionStatus;
use runner::{At, Audience, Durability, SessionOrder};

use value::{at, audience, durability, file, item_type, kind, order, status, suspension_status};

pub(crate) use answer::Resume;
pub(crate) use debugging::{Dap, Debug};
pub(crate) use diff::Diff;
pub(crate) use experiment::{Adopt, Culprit, Experiments, Try};
pub(crate) use export::Export;
pub(crate) use inside::{Coverage, Print, Step};
pub(crate) use mcp::Mcp;
pub(crate) use page::Page;
pub(crate) use place::Place;
pub(crate) use read::read;
pub(crate) use run::{How, Run, Trigger};
pub(crate) use runs::{Requests, Session, Tag};
pub(crate) use tree::Tree;
pub(crate) use verify::{Keep, Verify};
pub(crate) use why::Why;
pub(crate) use worker::Worker;

/// What `--samples` of a list does.
const SAMPLES: &str = "Only experiment samples (hidden by default)";

/// What was asked for on the command line.
#[derive(Parser)]
#[command(
    name = "flowglass",
    version,
    about = "A desktop debugger for AI flows",
    args_conflicts_with_subcommands = false
)]
pub struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Args)]
pub(crate) struct Global {
    /// The workspace: the folder with the flows
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
    /// The database: a file, or postgres://user@host/database (default: what FLOWGLASS_DATA says, or else
    /// DIR/.flowglass/flowglass.db)
    #[arg(long, global = true, value_name = "FILE|URL")]
    #[arg(num_args = 0..=1, default_missing_value = "", value_parser = file())]
    pub(crate) data: Option<PathBuf>,
    /// One JSON document on stdout
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// What was seen survives a killed process, or a lost power supply; with each, every step waits for the disk
    #[arg(long, global = true, value_name = "process|power|each", value_parser = durability)]
    pub(crate) durability: Option<Durability>,
    /// Trust the folder: keys go to the addresses that flowglass.json names, and agents may run flows
    #[arg(long, global = true)]
    pub(crate) trust: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Open the window
    Open {
        /// The workspace
        dir: Option<PathBuf>,
        #[command(flatten)]
        place: Place,
    },
    /// List the flows, their actions and input schemas
    Flows {
        #[command(flatten)]
        page: Page,
    },
    /// Load every flow, or with --data look at the whole database, and print what is wrong; exit 1 if anything is
    Check {
        /// Load this file, although its last load or run ended a process by a signal
        #[arg(long, value_name = "FILE", conflicts_with = "data")]
        load_anyway: Option<String>,
    },
    /// Run an action
    Run(Run),
    /// Fire an entry by hand: a schedule's tick, a provider's or a bot's event
    Trigger(Trigger),
    /// Go on with a request that was interrupted, failed, was aborted or waits for an answer; what it
    /// finished is not run again
    Resume(Resume),
    /// Run the action of a request that has ended once more, with the same input, as a new request
    Retry {
        request: String,
        #[command(flatten)]
        models: Models,
    },
    /// Go on from a finished step of a request as a new request in a session of its own, with edits. User and
    /// project are copies
    Fork(Fork),
    /// Run a request once more in memory, with its recorded effects and the code of today; writes nothing.
    /// Exit 0 when identical, 1 when not
    Replay { request: String },
    /// What requests asked somebody, newest first
    Suspensions {
        #[arg(long, help = "Only of this session")]
        session: Option<String>,
        #[arg(long, conflicts_with = "session", help = "Only of this request")]
        request: Option<String>,
        #[arg(long, value_parser = suspension_status, help = "Only with this status, such as pending or expired")]
        status: Option<SuspensionStatus>,
        #[arg(long, conflicts_with_all = ["session", "request"], help = SAMPLES)]
        samples: bool,
        #[command(flatten)]
        page: Page,
    },
    /// Abort a request that is queued or runs, in whatever process
    Abort { request: String },
    /// List sessions, the last changed first
    Sessions {
        #[arg(long, help = "Only of this user")]
        user: Option<String>,
        #[arg(long, help = "Only if the first request is of this flow")]
        flow: Option<String>,
        #[arg(long, visible_alias = "org", help = "Only with a request in this project")]
        project: Option<String>,
        #[arg(long, value_parser = status, help = "Only if the newest request has this status")]
        status: Option<RequestStatus>,
        /// Part of an id, a title or a flow's name
        #[arg(long)]
        search: Option<String>,
        /// Only those with this tag
        #[arg(long)]
        tag: Option<String>,
        /// What comes first: the last changed, the newest, or the one with the most of them
        #[arg(long, value_name = "changed|created|requests|items", default_value = "changed", value_parser = order)]
        #[arg(hide_default_value = true)]
        order: SessionOrder,
        #[arg(long, help = SAMPLES)]
        samples: bool,
        #[command(flatten)]
        page: Page,
    },
    /// Show a session as a conversation: its requests with their items, oldest first, and its forks
    Session(Session),
    /// List requests, newest first
    Requests(Requests),
    /// Add and remove tags of a request or a session, or give it a note or a title; without changes show them
    Tag(Tag),
    /// Show one request with every block's input and output
    Show {
        request: String,
        /// The code that ran: of the flow, or of the block at PATH
        #[arg(long, value_name = "PATH", num_args = 0..=1, default_missing_value = "")]
        source: Option<String>,
        #[command(flatten)]
        tree: Tree,
    },
    /// One block: input, output, items, state changes, effects, model calls
    Block {
        request: String,
        /// Its path, as `show` lists it
        path: String,
        /// Which execution of it, from 0 (default: the newest)
        #[arg(long, value_name = "N")]
        attempt: Option<u32>,
    },
    /// The raw events of a request
    Events {
        request: String,
        /// The first event to show
        #[arg(long, value_name = "SEQ")]
        from: Option<u64>,
        /// Only this kind
        #[arg(long, value_parser = kind)]
        kind: Option<String>,
        /// Only those of the block at this path
        #[arg(long)]
        path: Option<String>,
        #[command(flatten)]
        page: Page,
    },
    /// The items of a session or a request, oldest first
    #[command(group = clap::ArgGroup::new("whose").required(true))]
    Items {
        #[arg(long, group = "whose", help = "Of all requests of this session")]
        session: Option<String>,
        #[arg(long, group = "whose", help = "Of this request")]
        request: Option<String>,
        #[arg(long, default_value = "all", value_parser = audience, help = "For whom: all, client, history, trace")]
        view: Audience,
        /// Only this type
        #[arg(long = "type", value_name = "TYPE", value_parser = item_type)]
        item_type: Option<String>,
        /// Only the newest requests
        #[arg(long, value_name = "N", conflicts_with = "tokens")]
        turns: Option<usize>,
        /// Only the newest that fit, at four characters a token
        #[arg(long, value_name = "N")]
        tokens: Option<usize>,
        #[command(flatten)]
        page: Page,
    },
    /// The journal of a session, oldest first
    Journal {
        #[arg(long, help = "The session")]
        session: String,
        /// Only entries with this tag
        #[arg(long)]
        tag: Option<String>,
        #[command(flatten)]
        page: Page,
    },
    /// The checkpoints of a request: the latest state of every durable sequencer
    Checkpoints {
        request: String,
        #[command(flatten)]
        page: Page,
    },
    /// The state of a session, a user, a project, or of every scope at an instant of a request
    #[command(group = clap::ArgGroup::new("whose").required(true))]
    State {
        #[arg(long, group = "whose", help = "The state of this session")]
        session: Option<String>,
        #[arg(long, group = "whose", help = "The state of this user")]
        user: Option<String>,
        #[arg(long, visible_alias = "org", group = "whose", help = "The state of this project")]
        project: Option<String>,
        #[arg(long, group = "whose", help = "All states that this request sees")]
        request: Option<String>,
        /// An event's number, or a block's path: just after that block finished
        #[arg(long, value_name = "SEQ|PATH", conflicts_with_all = ["session", "user", "project"], value_parser = at)]
        at: Option<At>,
    },
    /// What differs between two instants of a request, or between two requests
    Diff(Diff),
    /// The values of expressions at a statement, in every recorded request that reached it
    Print(Print),
    /// An instant inside a block: its statement, the values there, and the stack; steps forward and back
    Step(Step),
    /// How often each line of a request's code ran
    Coverage(Coverage),
    /// Go through a recorded request statement by statement, forward and back, at a prompt
    Debug(Debug),
    /// Serve an editor that debugs a recorded request, by the Debug Adapter Protocol on standard input and output
    Dap(Dap),
    /// Replay recorded runs with the code of today, and tell which of them differ, and where first
    Verify(Verify),
    /// Serve a coding agent, by the Model Context Protocol on standard input and output
    Mcp(Mcp),
    /// Write a recorded run into a file of text, as a test for the repository
    Keep(Keep),
    /// Compare forks of a request from before a block: other models, prompts, parameters, state, outputs or code
    Try(Try),
    /// List the experiments, newest first, or show one
    Experiments(Experiments),
    /// Write the model, the prompt and the parameters of an arm into the flow's file
    Adopt(Adopt),
    /// Find the step at which a failure was decided
    Culprit(Culprit),
    /// Write a session or a request into one file, for another machine or for an audience
    Export(Export),
    /// Take in what another machine exported, a run that was kept, or OpenTelemetry spans (OTLP JSON lines)
    Import { file: PathBuf },
    /// Make a flow and a mock script of a request that was received as a trace; running it repeats the model calls
    Runnable {
        request: String,
        /// The flow's name, and that of its files
        #[arg(long = "as", value_name = "NAME")]
        name: String,
        /// Replace files that are there
        #[arg(long)]
        force: bool,
    },
    /// Receive the traces of other programs by OTLP/HTTP on this machine, until it is ended
    Serve {
        /// 0 for any that is free
        #[arg(long, default_value_t = runner::USUAL_PORT)]
        port: u16,
    },
    /// Go on with requests whose process is gone or that waited too long, until it is ended; for a database on a server
    Worker(Worker),
    /// Who wrote one place of a scope's state in a request, oldest first
    History {
        request: String,
        /// Such as session.topic, sequencer[root/step:plan].steps[0] or block[root/step:ask].tries
        #[arg(long, value_name = "SCOPE.PATH")]
        path: String,
        #[command(flatten)]
        page: Page,
    },
    /// Where a value or a text of a block comes from: recorded, copied, computed or written, back to its first cause
    Why(Why),
    /// Find a text in inputs, outputs, items, state, errors and log lines, newest request first
    Search {
        /// Upper and lower case are the same; nothing in it is a pattern
        text: String,
        #[arg(long, help = "Only in this session")]
        session: Option<String>,
        #[arg(long, conflicts_with = "session", help = SAMPLES)]
        samples: bool,
        #[command(flatten)]
        page: Page,
    },
    /// Delete a session with all its requests, state and resources; users and projects keep theirs
    Delete {
        /// The session
        #[arg(long)]
        session: String,
        /// Delete the sessions that were forked from it, too, and their forks
        #[arg(long)]
        forks: bool,
    },
    /// Drop values that nothing names any more, and give free room back
    Compact,
    /// Sizes and counts of the database
    Stats,
    /// Run an example, look into it, and print what a window would show
    Demo(crate::demo::Args),
}

/// Which models answer a request that goes on, those it had before where neither is given; or only what it would do.
#[derive(Args)]
pub(crate) struct Models {
    /// Mock models, by the script beside the flow or by this one
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) mock: Option<String>,
    /// Real models, whatever it had before
    #[arg(long, conflicts_with = "mock")]
    pub(crate) real: bool,
    /// Run nothing: say what would be taken from the log and what would be run again
    #[arg(long)]
    pub(crate) plan: bool,
}

#[derive(Args)]
pub(crate) struct Fork {
    pub(crate) request: String,
    /// Just after this event, or after the block at this path finished
    #[arg(long, value_name = "SEQ|PATH", value_parser = at, required_unless_present = "action_input")]
    pub(crate) at: Option<At>,
    /// Another input of the block at PATH, which runs again; of the action with --at 0: JSON, @FILE, or - for standard
    /// input
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    pub(crate) input: Option<String>,
    /// Another input of the action, which runs again from its beginning: JSON, @FILE, or - for standard input
    #[arg(long, value_name = "JSON|@FILE|-", allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["at", "input", "output"])]
    pub(crate) action_input: Option<String>,
    /// What the step gave instead: JSON or @FILE
    #[arg(long, value_name = "JSON|@FILE", allow_hyphen_values = true)]
    pub(crate) output: Option<String>,
    /// What is in a state instead: session.topic="tea", request.n=1, sequencer[root].plan[0]="x"
    #[arg(long, value_name = "SCOPE.PATH=JSON")]
    pub(crate) set: Vec<String>,
    #[command(flatten)]
    pub(crate) models: Models,
}

/// The names of the commands, in the order of the help: the window's own commands are compared with them.
pub(crate) fn verbs() -> Vec<String> {
    Cli::command().get_subcommands().map(|command| command.get_name().to_owned()).collect()
}
