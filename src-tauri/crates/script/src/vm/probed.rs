//! What probes are asked for, and what they record.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One execution of a block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Execution {
    /// The block's path.
    pub path: Arc<str>,
    /// Which attempt, as the replay counts.
    pub attempt: u32,
}

/// What probes are asked for.
#[derive(Clone, Debug)]
pub enum Asked {
    /// How often each statement ran, in all executions.
    Counts {
        /// Whether they are counted apart for every event of the replay before them.
        by_event: bool,
    },
    /// The first `most` statements of one execution, in their order.
    Trace {
        /// The execution.
        of: Execution,
        /// How many ticks.
        most: usize,
    },
    /// Which execution's statements ran when.
    Order,
    /// How often each execution ran each statement, and when.
    Coverage,
    /// Values at the statements that have expressions.
    Values {
        /// The execution; all without it.
        of: Option<Execution>,
        /// The first tick and the last one, from 1.
        ticks: (u64, u64),
        /// How many hits end the replay.
        limit: usize,
        /// Where in a value to open it: keys of properties.
        open: Option<Value>,
    },
}

/// Values at a statement.
#[derive(Clone, Debug)]
pub struct Hit {
    /// Whose statement.
    pub execution: Execution,
    /// Which of its statements, from 1.
    pub tick: u64,
    /// The statement's number in its table.
    pub site: u32,
    /// Which of the statements of all executions, from 1.
    pub order: u64,
    /// The newest event of the replay.
    pub seq: u64,
    /// What was captured: a list, an entry for each expression.
    pub values: Value,
    /// Frames of the author's code, the newest first, as lines of a stack.
    pub stack: String,
}

/// One step of an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The statement's number in its table.
    pub site: u32,
    /// The call of the function that it is part of; 0 for code of no function.
    pub call: u32,
    /// Which of the statements of all executions, from 1.
    pub order: u64,
    /// The newest event of the replay.
    pub seq: u64,
}

/// Statements of one execution that ran without one of another between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Whose statements.
    pub execution: Execution,
    /// Which of its statements is the first, from 1.
    pub tick: u64,
    /// Which of the statements of all executions that is, from 1.
    pub order: u64,
    /// How many they are.
    pub count: u64,
}

/// The statements of one execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ran {
    /// Whose statements.
    pub path: Arc<str>,
    /// Which attempt, as the replay counts.
    pub attempt: u32,
    /// How many they are.
    pub ticks: u64,
    /// Depends on which statements they are, and on their order.
    pub digest: u64,
    /// How often each one ran, by its number; empty if that is not asked.
    pub hits: Vec<(u32, u64)>,
}

/// Statements of one execution that ran without one of another, and without an event, between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spell {
    /// Whose statements: the place in [`Probed::ran`].
    pub of: u32,
    /// Which of its statements is the first, from 1.
    pub tick: u64,
    /// Which of the statements of all executions that is, from 1.
    pub order: u64,
    /// How many they are.
    pub count: u64,
    /// The newest event of the replay.
    pub seq: u64,
}

/// What probes recorded.
#[derive(Clone, Debug, Default)]
pub struct Probed {
    /// How often statements ran, by their numbers and the newest event of the replay then, which is 0 if they are not
    /// counted apart.
    pub counts: HashMap<(u32, u64), u64>,
    /// The traced statements.
    pub trace: Vec<Traced>,
    /// How many ticks the traced execution had.
    pub ticks: u64,
    /// From which call each call of the traced execution was made.
    pub callers: HashMap<u32, u32>,
    /// In order of time.
    pub stretches: Vec<Stretch>,
    /// What each execution ran, in the order in which they began.
    pub ran: Vec<Ran>,
    /// Which executions ran when, by their places in `ran`; in order of time.
    pub spells: Vec<Spell>,
    /// In order of time.
    pub hits: Vec<Hit>,
    /// Whether code of no block reached a statement that is asked for, such as code that runs while the file loads.
    pub is_outside: bool,
    /// Whether the limit ended the replay.
    pub is_full: bool,
    /// How often the condition was asked.
    pub asked_conditions: u64,
    /// How often it failed.
    pub failed_conditions: u64,
    /// The operations of the host that were asked for, if statements are followed.
    pub operations: BTreeSet<String>,
    /// What it threw first.
    pub condition_error: Option<String>,
    /// Where the expressions first changed what they look at: the name's number among those that are watched, the
    /// execution, and the tick.
    pub changed: Option<(u32, Execution, u64)>,
}
