//! A session over one recorded request: an instant, breakpoints, and the way from one instant to another.
//!
//! Inside a block a step is a tick of that block. From the end of a block the session goes on with the statement that
//! ran next in the request, whatever block it is of.

mod stopping;

use std::path::Path;
use std::sync::Arc;

use engine::views::blocks::BlockStatus;
use runner::{
    BlockRow, Breakpoint, EndOfBlock, Fault, InsideAt, Instant, Move, PrintedValue, Schedule, ScopeSeen, ShownBlock,
    StepQuery, Stopped, Stops, Workspace,
};

use super::breakpoints::Held;
use super::files::Files;

/// A recorded request that is looked at.
pub(super) struct Session {
    pub(super) workspace: Arc<Workspace>,
    pub(super) request: String,
    pub(super) files: Files,
    pub(super) breakpoints: Vec<Held>,
    /// Every execution of every block, in the order of their starts.
    pub(super) blocks: Vec<ShownBlock>,
    here: Instant,
    schedule: Schedule,
    next_number: u32,
    /// The stops that were found already: editors set all breakpoints of a file again when one changes.
    known: Vec<(Breakpoint, Stops)>,
}

/// Forward or back in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Direction {
    Forward,
    Back,
}

/// How a movement ended.
#[derive(Clone, Debug, Default)]
pub(super) struct Reached {
    /// The breakpoints that stopped it.
    pub(super) stopped_by: Vec<u32>,
    /// What must be known: that a block ended, or that there is nothing further.
    pub(super) note: Option<String>,
    /// Whether there was nothing further in this direction.
    pub(super) is_end: bool,
    /// What log points said on the way, and where.
    pub(super) said: Vec<Said>,
}

/// What a log point said.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) text: String,
    pub(super) file: String,
    pub(super) line: u32,
}

impl Session {
    /// Opens a request at an instant. Without one: at the statement that threw in the first block that failed, or at
    /// the first statement.
    pub(super) fn open(
        workspace: Arc<Workspace>,
        dir: &Path,
        request: &str,
        at: Option<&InsideAt>,
    ) -> Result<Session, Fault> {
        let files = Files::new(workspace.versions_that_ran(request)?, dir);
        let blocks = workspace.show(request)?.blocks;
        let schedule = workspace.schedule(request)?;
        let first = schedule.after(0).map(|first| first.at);
        let failed = || {
            let mut failed = leaves_that_failed(&blocks).filter(|row| row.status == BlockStatus::Failed);
            failed.find_map(|row| threw(&workspace, request, row).transpose()).transpose()
        };
        let here = match at {
            Some(at) => look(&workspace, request, at, Move::Stay, &[])?,
            None => match (failed()?, first) {
                (Some(threw), _) => threw,
                (None, Some(first)) => look(&workspace, request, &first, Move::Stay, &[])?,
                (None, None) => {
                    let message = format!("request \"{request}\" ran no statement of a block's function");
                    return Err(Fault::NotFound { message });
                }
            },
        };
        let (request, breakpoints, known) = (request.to_owned(), Vec::new(), Vec::new());
        Ok(Session { workspace, request, files, breakpoints, blocks, here, schedule, next_number: 1, known })
    }

    /// Where the session is.
    pub(super) fn here(&self) -> &Instant {
        &self.here
    }

    /// How many statements the request ran.
    pub(super) fn end(&self) -> u64 {
        self.schedule.end()
    }

    /// Goes to an instant.
    pub(super) fn go_to(&mut self, at: &InsideAt) -> Result<(), Fault> {
        self.here = self.look(at, Move::Stay, &[])?;
        Ok(())
    }

    /// That the session is here, without a movement.
    pub(super) fn arrived(&self) -> Reached {
        Reached { stopped_by: self.stops_here(), ..Reached::default() }
    }

    /// Goes to the first statement of the request, or to the last.
    pub(super) fn go_to_end(&mut self, direction: Direction) -> Result<(), Fault> {
        let end = match direction {
            Direction::Forward => self.schedule.before(u64::MAX),
            Direction::Back => self.schedule.after(0),
        };
        end.map_or(Ok(()), |end| self.go_to(&end.at))
    }

    /// Steps. From the end of a block it goes on with the statement that ran next.
    pub(super) fn step(&mut self, to: &Move) -> Result<Reached, Fault> {
        let direction = match to {
            Move::Back | Move::BackOver | Move::BackOut | Move::BackTo(_) => Direction::Back,
            _ => Direction::Forward,
        };
        let from = self.here.clone();
        let moved = self.look(&at_of(&from), to.clone(), &[])?;
        if matches!(to, Move::Until(_)) && moved.ended.is_some() {
            return Ok(Reached::end(&moved.note.unwrap_or_default()));
        }
        let inside = match to {
            Move::Into => {
                let until = if moved.ended.is_some() { u64::MAX } else { moved.order };
                self.schedule.first_inside(&from.path, from.attempt, from.order, until)
            }
            Move::Back => {
                let since = if moved.ended.is_some() { 0 } else { moved.order };
                self.schedule.last_inside(&from.path, from.attempt, since, from.order)
            }
            _ => None,
        };
        let mut reached = Reached::default();
        match inside {
            Some(inside) => self.go_to(&inside.at)?,
            None if moved.ended.is_some() => reached = self.leave(&moved, direction)?,
            None => self.here = moved,
        }
        reached.said = self.said_between(place(&from), place(&self.here));
        reached.stopped_by = self.stops_here();
        Ok(reached)
    }

    /// Goes on from an end of a block.
    fn leave(&mut self, end: &Instant, direction: Direction) -> Result<Reached, Fault> {
        let (next, message) = match direction {
            Direction::Forward => (self.schedule.after(end.order), "the request's last statement"),
            Direction::Back => (self.schedule.before(end.order), "the request's first statement"),
        };
        let Some(next) = next else {
            let tick = if direction == Direction::Forward { end.ticks } else { 1 };
            self.go_to(&InsideAt { tick: Some(tick), ..at_of(end) })?;
            return Ok(Reached::end(message));
        };
        self.go_to(&next.at)?;
        let note = match end.ended {
            _ if self.here.path == end.path && self.here.attempt == end.attempt => None,
            Some(EndOfBlock::Start) => Some(format!("before {} began", name_of(end))),
            Some(EndOfBlock::Error) => Some(format!("{} failed", name_of(end))),
            _ => Some(format!("{} ended", name_of(end))),
        };
        Ok(Reached { note, ..Reached::default() })
    }

    /// Goes to the next breakpoint, or to the previous one. Stays if there is none.
    pub(super) fn go_on(&mut self, direction: Direction) -> Result<Reached, Fault> {
        let from = place(&self.here);
        let stopping = self.breakpoints.iter().filter(|held| !held.is_log());
        let stops = stopping.flat_map(|held| &held.stops);
        let found = match direction {
            Direction::Forward => stops.filter(|stop| place_of(stop) > from).min_by_key(|stop| stop.order),
            Direction::Back => stops.filter(|stop| place_of(stop) < from).max_by_key(|stop| stop.order),
        };
        let Some(at) = found.map(|stop| stop.at.clone()) else {
            let (end, message) = match direction {
                Direction::Forward => (u64::MAX, "no breakpoint after this"),
                Direction::Back => (0, "no breakpoint before this"),
            };
            return Ok(Reached { said: self.said_between(from, end), ..Reached::end(message) });
        };
        self.go_to(&at)?;
        let said = self.said_between(from, place(&self.here));
        Ok(Reached { stopped_by: self.stops_here(), said, ..Reached::default() })
    }

    /// Goes to the next, or the last, time that a line of the current file runs, in whatever block.
    pub(super) fn run_to(&mut self, line: u32, direction: Direction) -> Result<Reached, Fault> {
        let stops = self.stops_of_line(&self.here.file.clone(), line)?;
        let from = place(&self.here);
        let found = match direction {
            Direction::Forward => stops.iter().find(|stop| place_of(stop) > from),
            Direction::Back => stops.iter().rfind(|stop| place_of(stop) < from),
        };
        let Some(found) = found else {
            let when = if direction == Direction::Forward { "after" } else { "before" };
            return Ok(Reached::end(&format!("line {line} does not run {when} this")));
        };
        self.go_to(&found.at)?;
        let said = self.said_between(from, place(&self.here));
        Ok(Reached { stopped_by: self.stops_here(), said, ..Reached::default() })
    }

    /// The state of every scope as the block sees it where the session is.
    pub(super) fn scopes(&self) -> Result<Vec<ScopeSeen>, Fault> {
        self.workspace.scopes_seen(&self.request, &self.here)
    }

    /// The values of expressions where the session is, or at another instant.
    pub(super) fn values(&self, at: &Instant, expressions: &[String]) -> Result<Vec<PrintedValue>, Fault> {
        let found = self.look(&at_of(at), Move::Stay, expressions)?;
        if found.watches.len() < expressions.len() {
            let message = format!("{} is at no statement; step to one first", found.instant);
            return Err(Fault::NotFound { message });
        }
        Ok(found.watches)
    }

    /// The blocks that ran at an instant and have no such block inside: that of the instant first.
    pub(super) fn running(&self) -> Vec<(String, u32)> {
        let seq = self.here.seq;
        let is_open = |row: &&BlockRow| row.seq_start <= seq && row.seq_end.is_none_or(|end| end > seq);
        let open: Vec<&BlockRow> = self.blocks.iter().map(|block| &block.row).filter(is_open).collect();
        let is_here = |row: &BlockRow| row.path == self.here.path && row.attempt == self.here.attempt;
        let around = |row: &BlockRow| {
            let inside = format!("{}/", row.path);
            open.iter().any(|other| other.path.starts_with(&inside)) || self.here.path.starts_with(&inside)
        };
        let others = open.iter().filter(|row| !is_here(row) && !around(row));
        let here = (self.here.path.clone(), self.here.attempt);
        std::iter::once(here).chain(others.map(|row| (row.path.clone(), row.attempt))).collect()
    }

    /// An execution of a block, and the blocks around it, the outermost first.
    pub(super) fn blocks_around(&self, path: &str, attempt: u32) -> impl DoubleEndedIterator<Item = &BlockRow> {
        let rows = self.blocks.iter().map(|block| &block.row);
        let mut of: Vec<&BlockRow> = Vec::new();
        let mut wanted = rows.clone().find(|row| row.path == path && row.attempt == attempt);
        while let Some(row) = wanted {
            of.push(row);
            wanted = row.parent.as_ref().and_then(|parent| rows.clone().find(|row| row.instance_id == *parent));
        }
        of.into_iter().rev()
    }

    /// The newest statement of an execution of a block at this instant. `None` if it had run none.
    pub(super) fn reached_by(&self, path: &str, attempt: u32) -> Result<Option<Instant>, Fault> {
        if (path, attempt) == (&self.here.path, self.here.attempt) {
            return Ok(Some(self.here.clone()));
        }
        let reached = self.schedule.reached(path, attempt, self.here.order);
        reached.map(|reached| self.look(&reached.at, Move::Stay, &[])).transpose()
    }

    fn look(&self, at: &InsideAt, to: Move, watches: &[String]) -> Result<Instant, Fault> {
        look(&self.workspace, &self.request, at, to, watches)
    }
}

impl Reached {
    fn end(message: &str) -> Reached {
        Reached { note: Some(message.to_owned()), is_end: true, ..Reached::default() }
    }
}

/// An instant as a place to ask for.
pub(super) fn at_of(instant: &Instant) -> InsideAt {
    InsideAt { path: instant.path.clone(), attempt: Some(instant.attempt), tick: Some(instant.tick) }
}

/// A block as people read it.
pub(super) fn name_of(instant: &Instant) -> String {
    if instant.attempt == 0 { instant.path.clone() } else { format!("{}#{}", instant.path, instant.attempt) }
}

fn look(workspace: &Workspace, request: &str, at: &InsideAt, to: Move, watches: &[String]) -> Result<Instant, Fault> {
    workspace.step(request, &StepQuery { at: at.clone(), to, watches: watches.to_vec() })
}

/// The blocks that failed and have none inside that failed them.
fn leaves_that_failed(blocks: &[ShownBlock]) -> impl Iterator<Item = &BlockRow> {
    let message = |row: &BlockRow| row.error.as_ref().map(|error| error.message.clone());
    let is_leaf = move |row: &BlockRow| {
        let inside = format!("{}/", row.path);
        let all = blocks.iter().map(|block| &block.row);
        let mut within = all.filter(|other| other.path.starts_with(&inside));
        !within.any(|other| message(other) == message(row))
    };
    blocks.iter().map(|block| &block.row).filter(move |row| row.error.is_some() && is_leaf(row))
}

/// The statement that threw in a block that failed. `None` if the block has no statements.
fn threw(workspace: &Workspace, request: &str, row: &BlockRow) -> Result<Option<Instant>, Fault> {
    let at = InsideAt { path: row.path.clone(), attempt: Some(row.attempt), tick: None };
    match look(workspace, request, &at, Move::Stay, &[]) {
        Ok(instant) => Ok(Some(instant)),
        // An attempt that was cut off is not run again.
        Err(Fault::NotFound { .. } | Fault::Refused { .. }) => Ok(None),
        Err(fault) => Err(fault),
    }
}

/// Where an instant is among the statements of all blocks and the gaps between them.
fn place(instant: &Instant) -> u64 {
    let statement = instant.order.saturating_mul(2).saturating_add(1);
    match instant.ended {
        Some(EndOfBlock::Start) => statement - 1,
        // A block that failed is also marked at the statement that threw.
        Some(EndOfBlock::End | EndOfBlock::Error) => statement + 1,
        None => statement,
    }
}

fn place_of(stop: &Stopped) -> u64 {
    stop.order.saturating_mul(2).saturating_add(1)
}
