//! Movements, and the event `stopped` that ends each.

use runner::{Fault, Move};

use super::super::breakpoints::Kind;
use super::super::session::{Direction, Reached, at_of};
use super::adapter::{Adapter, Answer, Begin, body, index};
use super::types::{
    Continued, ExceptionInfo, GotoArguments, GotoTarget, GotoTargets, GotoTargetsArguments, Output, Stopped,
    ThreadArguments,
};

impl Adapter<'_> {
    /// The editor has set its breakpoints.
    pub(super) fn begin(&mut self) -> Answer {
        let debugged = self.debugged()?;
        let session = &mut debugged.session;
        let begin = debugged.begin;
        if begin != Begin::Running {
            self.stopped(if begin == Begin::Failed { "exception" } else { "entry" }, Reached::default());
            return Ok(None);
        }
        let here = session.arrived();
        let reached = if here.stopped_by.is_empty() { session.go_on(Direction::Forward).map_err(text)? } else { here };
        let reached = if reached.is_end { Reached { note: None, ..reached } } else { reached };
        self.stopped("entry", reached);
        Ok(None)
    }

    pub(super) fn step(&mut self, command: &str, asked: &ThreadArguments) -> Answer {
        let debugged = self.debugged()?;
        let thread = index(asked.thread_id).and_then(|at| debugged.threads.get(at)).cloned();
        if let Some((path, attempt)) = thread {
            let reached = debugged.session.reached_by(&path, attempt).map_err(text)?;
            let reached = reached.ok_or_else(|| format!("block {path} has run no statement yet"))?;
            debugged.session.go_to(&at_of(&reached)).map_err(text)?;
        }
        let to = match command {
            "next" => Move::Over,
            "stepIn" => Move::Into,
            "stepOut" => Move::Out,
            _ => Move::BackOver,
        };
        let reached = debugged.session.step(&to).map_err(text)?;
        self.stopped("step", reached);
        Ok(None)
    }

    /// To the next breakpoint; without one, to the end of the request, where the editor can go back from.
    pub(super) fn go_on(&mut self, direction: Direction) -> Answer {
        let session = &mut self.debugged()?.session;
        let mut reached = session.go_on(direction).map_err(text)?;
        if reached.is_end {
            session.go_to_end(direction).map_err(text)?;
            let end = if direction == Direction::Forward { "last" } else { "first" };
            let note = reached.note.unwrap_or_default();
            reached.note = Some(format!("{note}: the request's {end} statement"));
        }
        self.stopped("pause", reached);
        body(&Continued { all_threads_continued: true })
    }

    /// A recording is paused at any time.
    pub(super) fn pause(&mut self) -> Answer {
        self.debugged()?;
        self.stopped("pause", Reached::default());
        Ok(None)
    }

    pub(super) fn goto_targets(&mut self, asked: &GotoTargetsArguments) -> Answer {
        let line = self.own_line(asked.line);
        let (file, _) = self.file_of(&asked.source)?;
        let debugged = self.debugged()?;
        let stops = debugged.session.stops_of_line(&file, line).map_err(text)?;
        let order = debugged.session.here().order;
        // The next time that it runs, or the last time that it ran.
        let Some(stop) = stops.iter().find(|stop| stop.order > order).or(stops.last()) else {
            return body(&GotoTargets { targets: Vec::new() });
        };
        debugged.targets.push(stop.at.clone());
        let id = debugged.targets.len();
        let label = format!("{file}:{line} in {}", stop.at.path);
        body(&GotoTargets { targets: vec![GotoTarget { id, label, line: self.line(line) }] })
    }

    pub(super) fn goto(&mut self, asked: &GotoArguments) -> Answer {
        let debugged = self.debugged()?;
        let target = asked.target_id.checked_sub(1).and_then(|at| debugged.targets.get(at)).cloned();
        let target = target.ok_or_else(|| format!("there is no target {}; ask for gotoTargets", asked.target_id))?;
        debugged.session.go_to(&target).map_err(text)?;
        let reached = debugged.session.arrived();
        self.stopped("goto", Reached { stopped_by: Vec::new(), ..reached });
        Ok(None)
    }

    pub(super) fn exception_info(&mut self, _asked: &ThreadArguments) -> Answer {
        let here = self.debugged()?.session.here();
        let error = here.error.as_ref().ok_or_else(|| format!("nothing is thrown at {}", here.instant))?;
        let description = format!("{}: {}", error.name, error.message);
        body(&ExceptionInfo { exception_id: error.name.clone(), description, break_mode: "always" })
    }

    /// Tells the editor where the session is now. Frames and values that it knew are gone.
    fn stopped(&mut self, reason: &'static str, reached: Reached) {
        let Ok(debugged) = self.debugged() else { return };
        debugged.frames.clear();
        debugged.containers.clear();
        let mut stopped = Stopped { reason, all_threads_stopped: true, ..Stopped::default() };
        let session = &debugged.session;
        let here = session.here();
        let rank = |reason: &str| ["breakpoint", "data breakpoint", "exception"].iter().position(|one| *one == reason);
        let mut texts = Vec::new();
        for number in &reached.stopped_by {
            let Some((held, why)) = session.reason(*number) else { continue };
            let reason = match held.kind {
                Kind::Line(_) => "breakpoint",
                Kind::State { .. } => "data breakpoint",
                Kind::Failed => "exception",
            };
            if rank(reason) > rank(stopped.reason) {
                stopped.reason = reason;
            }
            texts.extend((reason != "breakpoint").then_some(why));
        }
        if let Some(error) = here.error.as_ref().filter(|_| stopped.reason == "exception" && texts.is_empty()) {
            texts.push(format!("{} failed: {}: {}", here.path, error.name, error.message));
        }
        stopped.hit_breakpoint_ids = reached.stopped_by;
        stopped.text = texts.into_iter().reduce(|all, text| format!("{all}; {text}"));
        stopped.description = reached.note.or(here.note.clone()).map(|note| sentence(&note));
        stopped.thread_id = debugged.thread((here.path.clone(), here.attempt));
        for said in reached.said {
            let source = self.source_of(&said.file, None).ok();
            let line = Some(self.line(said.line));
            let output = format!("{}\n", said.text);
            self.tell("output", &Output { category: "console", output, source, line });
        }
        self.tell("stopped", &stopped);
    }
}

pub(super) fn text(fault: Fault) -> String {
    fault.to_string()
}

/// With a capital letter, as editors show it.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}
