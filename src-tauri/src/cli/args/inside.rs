//! What the commands about the inside of blocks may be told.

use clap::{ArgGroup, Args};
use engine::event::RequestStatus;
use runner::{InsideAt, Move, PrintQuery, StepQuery};

use super::value::status;

/// A place in a file: `FILE:LINE[:COL]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FilePlace {
    file: String,
    line: u32,
    column: Option<u32>,
}

fn file_place(text: &str) -> Result<FilePlace, String> {
    let wrong = || format!("write FILE:LINE or FILE:LINE:COL, both from 1, like flows/hello.ts:12 (got \"{text}\")");
    let number = |part: &str| part.parse().ok().filter(|number| *number > 0);
    let (rest, last) = text.rsplit_once(':').ok_or_else(wrong)?;
    let last: u32 = number(last).ok_or_else(wrong)?;
    match rest.rsplit_once(':').and_then(|(file, line)| Some((file, number(line)?))) {
        Some((file, line)) if !file.is_empty() => Ok(FilePlace { file: file.to_owned(), line, column: Some(last) }),
        _ if !rest.is_empty() => Ok(FilePlace { file: rest.to_owned(), line: last, column: None }),
        _ => Err(wrong()),
    }
}

fn inside_at(text: &str) -> Result<InsideAt, String> {
    text.parse()
}

/// `print`.
#[derive(Args)]
#[command(after_help = "Examples:
  flowglass run hello greet --user ada --request req_3f2a --input '{\"name\":\"Ada\"}'
  flowglass print hello.ts:11 name                      the value of name whenever line 11 ran
  flowglass print hello.ts:11 name process.env.MODE --if 'name.length > 2'
  flowglass print hello.ts:11 name --request req_3f2a
Values are those before the statement runs; the head of a loop is asked on every turn. The requests are run again,
with the code that ran and the recorded effects; nothing is written, and no model is asked. If a limit of memory or
time ends that, the hits before it are shown, and the command exits with 1.")]
pub(crate) struct Print {
    /// The statement: a file, a line of it, and a column if the line has several
    #[arg(value_name = "FILE:LINE[:COL]", value_parser = file_place, required_unless_present = "open")]
    place: Option<FilePlace>,
    /// TypeScript expressions, each in the scope of the statement
    #[arg(value_name = "EXPR", required_unless_present = "open")]
    expressions: Vec<String>,
    /// Only in this request (default: the newest 100 that ran the file)
    #[arg(long, conflicts_with_all = ["session", "flow", "status"])]
    request: Option<String>,
    /// Only in requests of this session
    #[arg(long)]
    session: Option<String>,
    /// Only in requests of this flow
    #[arg(long)]
    flow: Option<String>,
    /// Only in requests with this status
    #[arg(long, value_parser = status)]
    status: Option<RequestStatus>,
    /// Only when this expression holds there
    #[arg(long = "if", value_name = "EXPR", allow_hyphen_values = true)]
    condition: Option<String>,
    /// Stop after so many hits
    #[arg(long, value_name = "N", default_value_t = 1000)]
    limit: u32,
    /// Run only the blocks that reached the statement, not the whole request: faster for long ones, and wrong if code
    /// keeps something in memory from one block to the next
    #[arg(long)]
    pub(crate) alone: bool,
    /// Open a value of an earlier answer by its handle, in place of a statement
    #[arg(long, value_name = "HANDLE", conflicts_with_all = ["place", "expressions"])]
    pub(crate) open: Option<String>,
}

impl Print {
    pub(crate) fn query(self) -> PrintQuery {
        let Print { place, expressions, request, session, flow, status, condition, limit, alone: _, open: _ } = self;
        let place = place.unwrap_or(FilePlace { file: String::new(), line: 1, column: None });
        PrintQuery {
            file: place.file,
            line: place.line,
            column: place.column,
            expressions,
            condition,
            request,
            session,
            flow,
            status,
            limit: Some(limit),
        }
    }
}

/// `step`.
#[derive(Args)]
#[command(group = ArgGroup::new("where_to"))]
#[command(after_help = "Examples:
  flowglass step req_3f2a --at root/step:greet               its first statement, or the one that threw
  flowglass step req_3f2a --at root/step:greet#0+2 --back    one statement earlier
  flowglass step req_3f2a --at root/step:greet --until 'name.length > 2'
An instant is PATH#ATTEMPT+TICK: attempts count from 0, and ticks count the statements of one execution from 1. Values
are those before the statement runs.")]
pub(crate) struct Step {
    pub(crate) request: String,
    /// Where: a block, an attempt, and a statement of it
    #[arg(long, value_name = "PATH[#ATTEMPT][+TICK]", value_parser = inside_at)]
    at: InsideAt,
    /// To the next statement, also in a function that is called
    #[arg(long, group = "where_to")]
    into: bool,
    /// To the next statement of this function
    #[arg(long, group = "where_to")]
    over: bool,
    /// To the next statement of the function that called this one
    #[arg(long, group = "where_to")]
    out: bool,
    /// To the statement before
    #[arg(long, group = "where_to")]
    back: bool,
    /// To the statement before in this function
    #[arg(long, group = "where_to")]
    back_over: bool,
    /// To the statement that called this function
    #[arg(long, group = "where_to")]
    back_out: bool,
    /// To the next time that this line runs
    #[arg(long, group = "where_to", value_name = "LINE")]
    to: Option<u32>,
    /// To the last time that this line ran
    #[arg(long, group = "where_to", value_name = "LINE")]
    back_to: Option<u32>,
    /// To the next statement at which this expression holds
    #[arg(long, group = "where_to", value_name = "EXPR", allow_hyphen_values = true)]
    until: Option<String>,
    /// Run only the block, not the whole request: faster for long ones, and wrong if code keeps something in memory
    /// from one block to the next
    #[arg(long)]
    pub(crate) alone: bool,
    /// Also the value of this expression; may be given several times
    #[arg(long, value_name = "EXPR", allow_hyphen_values = true)]
    watch: Vec<String>,
}

impl Step {
    pub(crate) fn query(self) -> (String, StepQuery) {
        let to = match self.until {
            Some(expression) => Move::Until(expression),
            None if self.into => Move::Into,
            None if self.over => Move::Over,
            None if self.out => Move::Out,
            None if self.back => Move::Back,
            None if self.back_over => Move::BackOver,
            None if self.back_out => Move::BackOut,
            None => self.to.map(Move::To).or(self.back_to.map(Move::BackTo)).unwrap_or_default(),
        };
        (self.request, StepQuery { at: self.at, to, watches: self.watch })
    }
}

/// `coverage`.
#[derive(Args)]
#[command(after_help = "Examples:
  flowglass coverage req_3f2a                   how often the first statement of each line ran; - for never
  flowglass coverage req_3f2a --file hello.ts
The head of a loop counts when the loop begins and with each turn. Lines of which no statement can run are left out.
Code that runs while the file loads, and functions of schemas, are of no block and are not counted.
The request is run again, with the code that ran and the recorded effects; nothing is written, and no model is asked.
If a limit of memory or time ends that, the counts so far are shown, and the command exits with 1.")]
pub(crate) struct Coverage {
    pub(crate) request: String,
    /// Only of this file
    #[arg(long)]
    pub(crate) file: Option<String>,
}
