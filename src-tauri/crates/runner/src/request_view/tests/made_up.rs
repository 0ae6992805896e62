//! Logs made up by chance: containers, loops, branches, retries, questions, failures, crashes, and resumes, by which
//! containers begin anew or go on.

use std::collections::HashMap;
use std::sync::Arc;

use engine::error::FlowError;
use engine::event::{BlockKind, CaughtBy, Event, EventKind, Outcome, Recorded, RequestStatus};
use fastrand::Rng;
use serde_json::json;

const NAMES: [&str; 3] = ["plan", "read", "Rank"];

struct Execution {
    path: Arc<str>,
    attempt: u32,
    above: Option<usize>,
    name: &'static str,
    kind: BlockKind,
    is_open: bool,
    /// How many of its children are open, and how many it ever had.
    open: usize,
    children: usize,
    may_run_again: bool,
    /// Whether it was interrupted, waits or failed, so that a resume may let it go on.
    may_go_on: bool,
}

/// See the module.
pub(super) struct MadeUp {
    rng: Rng,
    pub(super) events: Vec<Event>,
    at: i64,
    executions: Vec<Execution>,
    attempts: HashMap<Arc<str>, u32>,
    /// One in so many is a container.
    deep: u32,
    pub(super) is_live: bool,
}

impl MadeUp {
    /// A request that has just begun.
    pub(super) fn new(seed: u64) -> MadeUp {
        let mut rng = Rng::with_seed(seed);
        let deep = rng.u32(2..12);
        let mut made = MadeUp {
            rng,
            events: Vec::new(),
            at: 1_000_000,
            executions: Vec::new(),
            attempts: HashMap::new(),
            deep,
            is_live: true,
        };
        made.start(None, "root".into(), "root", BlockKind::Sequencer);
        made
    }

    fn tell(&mut self, of: Option<usize>, kind: EventKind) {
        self.at += match self.rng.u32(0..10) {
            0..5 => 0,
            5..9 => self.rng.i64(1..40),
            _ => self.rng.i64(-5..900),
        };
        let of = of.map(|index| &self.executions[index]);
        self.events.push(Event {
            seq: self.events.len() as u64 + 1,
            at: self.at,
            path: of.map(|of| of.path.clone()),
            attempt: of.map_or(0, |of| of.attempt),
            kind,
        });
    }

    fn start(&mut self, above: Option<usize>, path: Arc<str>, name: &'static str, kind: BlockKind) {
        let next = self.attempts.entry(path.clone()).or_insert(0);
        let attempt = *next;
        *next += 1;
        let parent = above.map(|above| {
            let above = &mut self.executions[above];
            (above.open, above.children) = (above.open + 1, above.children + 1);
            format!("{}:{}", above.path, above.attempt).into()
        });
        self.executions.push(Execution {
            path,
            attempt,
            above,
            name,
            kind,
            is_open: true,
            open: 0,
            children: 0,
            may_run_again: false,
            may_go_on: false,
        });
        let event = EventKind::BlockStarted {
            name: name.into(),
            block: kind,
            parent,
            input: Recorded::Undefined,
            versions: Vec::new(),
            fingerprint: None,
            replaces_failed: false,
        };
        self.tell(Some(self.executions.len() - 1), event);
    }

    fn any(&mut self, fits: impl Fn(&Execution) -> bool) -> Option<usize> {
        let known: Vec<usize> = (0..self.executions.len()).filter(|index| fits(&self.executions[*index])).collect();
        self.rng.choice(&known).copied()
    }

    fn begin_any(&mut self) {
        let is_container = |one: &Execution| one.is_open && one.kind == BlockKind::Sequencer;
        let Some(above) = self.any(is_container) else { return };
        let name = NAMES[self.rng.usize(0..NAMES.len())];
        let n = self.executions[above].children;
        let segment = match self.rng.u32(0..4) {
            0 => format!("step:{name}~{n}"),
            1 => format!("parallel/{name} {n}"),
            2 => format!("loop[{n}]/step:{name}"),
            _ => format!("forEach:{name}[{n}]"),
        };
        let kind = match self.rng.u32(0..10) {
            _ if self.rng.u32(0..self.deep) == 0 => BlockKind::Sequencer,
            0..3 => BlockKind::Generator,
            _ => BlockKind::Handler,
        };
        let path = format!("{}/{segment}", self.executions[above].path).into();
        self.start(Some(above), path, name, kind);
    }

    fn run_again(&mut self) {
        let Some(last) = self.any(|one| one.may_run_again) else { return };
        self.executions[last].may_run_again = false;
        let Execution { path, above, name, kind, .. } = &self.executions[last];
        let (path, name, kind) = (path.clone(), *name, *kind);
        let around = above.map(|above| self.executions[above].path.clone());
        // In the newest execution of what is around it, if that is open.
        let above = self.executions.iter().rposition(|one| Some(&one.path) == around.as_ref() && one.is_open);
        if above.is_some() {
            self.start(above, path, name, kind);
        }
    }

    fn finish(&mut self, index: usize, outcome: Outcome) {
        let one = &mut self.executions[index];
        (one.is_open, one.may_run_again) = (false, outcome != Outcome::Completed);
        one.may_go_on = matches!(outcome, Outcome::Failed | Outcome::Suspended);
        if let Some(above) = one.above {
            self.executions[above].open -= 1;
        }
        let error = match outcome {
            Outcome::Failed if self.rng.u32(0..6) == 0 => Some(FlowError::aborted()),
            Outcome::Failed => Some(FlowError::plain(format!("broke at {}", self.events.len()))),
            _ => None,
        };
        let caught = error.as_ref().filter(|_| self.rng.bool()).map(|_| CaughtBy::Rescue);
        let memoized = outcome == Outcome::Completed && self.rng.u32(0..8) == 0;
        let returned_error = outcome == Outcome::Completed && self.rng.u32(0..8) == 0;
        let has_result = matches!(outcome, Outcome::Completed | Outcome::Failed);
        let timed_out_ms = (has_result && self.rng.u32(0..8) == 0).then_some(200);
        let event = EventKind::BlockFinished {
            outcome,
            output: None,
            error,
            caught,
            transient: false,
            memoized,
            returned_error,
            timed_out_ms,
            commits: Vec::new(),
        };
        self.tell(Some(index), event);
    }

    fn finish_any(&mut self) {
        let Some(index) = self.any(|one| one.is_open && one.open == 0 && one.above.is_some()) else { return };
        let outcome = match self.rng.u32(0..12) {
            0 => Outcome::Failed,
            1 => Outcome::Abandoned,
            2 => Outcome::Suspended,
            _ => Outcome::Completed,
        };
        self.finish(index, outcome);
    }

    fn act(&mut self) {
        let Some(index) = self.any(|one| one.is_open) else { return };
        let kind = match self.rng.u32(0..3) {
            0 => json!({ "kind": "item_added", "item": { "type": "message", "status": "completed", "payload": {} } }),
            1 => json!({ "kind": "effect_finished", "effect": "model", "ordinal": 0,
                "result": { "usage": { "promptTokens": 7, "completionTokens": 3 } } }),
            _ => json!({ "kind": "state_changed", "scope": { "kind": "request", "id": "r" }, "version": 1,
                "operation": { "op": "push", "field": "a", "value": 1 } }),
        };
        self.tell(Some(index), serde_json::from_value(kind).expect("an event"));
    }

    fn crash(&mut self) {
        for one in &mut self.executions {
            one.may_run_again |= one.is_open && one.above.is_some();
            one.may_go_on |= one.is_open;
            (one.is_open, one.open) = (false, 0);
        }
        let event = json!({ "kind": "request_resumed", "owner": "o", "epoch": 2, "codeHash": "h" });
        self.tell(None, serde_json::from_value(event).expect("an event"));
        self.is_live = true;
        if self.rng.bool() {
            self.let_go_on();
        } else {
            self.start(None, "root".into(), "root", BlockKind::Sequencer);
        }
    }

    /// The newest executions of blocks that run others go on, those around first, some of them not.
    fn let_go_on(&mut self) {
        for index in 0..self.executions.len() {
            let one = &self.executions[index];
            let is_newest = self.attempts[&one.path] == one.attempt + 1;
            let is_around_open = one.above.is_none_or(|above| self.executions[above].is_open);
            let runs_others = one.kind != BlockKind::Handler;
            let fits = one.may_go_on && is_newest && is_around_open && runs_others;
            if !fits || (one.above.is_some() && self.rng.u32(0..4) == 0) {
                continue;
            }
            let one = &mut self.executions[index];
            (one.is_open, one.may_run_again, one.may_go_on) = (true, false, false);
            if let Some(above) = one.above {
                self.executions[above].open += 1;
            }
            let event = json!({ "kind": "block_resumed", "epoch": 2 });
            self.tell(Some(index), serde_json::from_value(event).expect("an event"));
        }
    }

    /// What comes next.
    pub(super) fn go_on(&mut self) {
        if !self.is_live {
            return self.crash();
        }
        match self.rng.u32(0..400) {
            0 => self.crash(),
            // It ends, however it stands.
            1 => {
                let event = EventKind::RequestFinished { status: RequestStatus::Failed, output: None, error: None };
                self.tell(None, event);
                self.is_live = false;
            }
            // Its process dies.
            2 => self.is_live = false,
            3..200 => self.begin_any(),
            200..230 => self.run_again(),
            230..340 => self.finish_any(),
            _ => self.act(),
        }
    }
}
