//! The breakpoints of a session: where they are, when the request stops at them, and what they say.

use runner::{Breakpoint, Fault, Json, Stopped, Stops, WriteRow};

use super::super::breakpoints::{AtLine, Held, Kind, counted};
use super::{Said, Session, at_of, leaves_that_failed, place, place_of, threw};

/// How many times a request stops at one breakpoint at the most, as the workspace counts.
const MAX_STOPS: usize = 10_000;

impl Session {
    /// Every time that a line runs. Fails if it holds no statement.
    pub(in super::super) fn stops_of_line(&mut self, file: &str, line: u32) -> Result<Vec<Stopped>, Fault> {
        let at = AtLine { file: file.to_owned(), line, column: None, condition: None, hits: None, log: None };
        let stops = self.stops(&at.question())?;
        match stops.line {
            Some(_) => Ok(stops.stops),
            None => Err(Fault::NotFound { message: format!("{file}:{line} holds no statement that a block runs") }),
        }
    }

    /// Sets a breakpoint, and returns it. Fails if an expression does not parse.
    pub(in super::super) fn set(&mut self, kind: Kind) -> Result<&Held, Fault> {
        let (line, stops, note) = match &kind {
            Kind::Line(at) => {
                let stops = self.stops(&at.question())?;
                let note = match (stops.line, stops.stops.len()) {
                    (None, _) => Some(format!("{}:{} holds no statement that a block runs", at.file, at.line)),
                    (Some(_), _) if stops.note.is_some() => stops.note.clone(),
                    (Some(_), 0) if at.condition.is_some() => Some("the condition never holds in this run".to_owned()),
                    (Some(_), 0) => Some("never reached in this run".to_owned()),
                    (Some(_), MAX_STOPS) => Some(format!("knows the first {MAX_STOPS} times only")),
                    _ => None,
                };
                (stops.line, counted(stops.stops, at.hits), note)
            }
            Kind::State { address, hits } => {
                let stops = counted(self.writes(address)?, *hits);
                let note = stops.is_empty().then(|| format!("no statement of this run writes {address}"));
                (None, stops, note)
            }
            Kind::Failed => (None, self.failures()?, None),
        };
        let number = self.next_number;
        self.next_number += 1;
        self.breakpoints.push(Held { number, kind, line, stops, note });
        Ok(&self.breakpoints[self.breakpoints.len() - 1])
    }

    fn stops(&mut self, question: &Breakpoint) -> Result<Stops, Fault> {
        if let Some((_, known)) = self.known.iter().find(|(known, _)| known == question) {
            return Ok(known.clone());
        }
        let stops = self.workspace.stops_at(&self.request, question)?;
        self.known.push((question.clone(), stops.clone()));
        Ok(stops)
    }

    /// The statements that wrote a path of a state, with what they wrote.
    fn writes(&self, address: &str) -> Result<Vec<Stopped>, Fault> {
        let mut stops = Vec::new();
        // No statement made a fork's edit.
        for write in self.history(address)?.into_iter().filter(|write| !write.is_edit()) {
            let shown = |value: &Option<Json>| value.as_ref().map_or("nothing".to_owned(), |v| v.0.to_string());
            let said = format!("{address}: {} → {}", shown(&write.old), shown(&write.new));
            match self.workspace.statement_of(&self.request, write.seq) {
                Ok(stop) => stops.push(Stopped { said: vec![said], ..stop }),
                // Writes of the engine itself, of blocks without a function, and of attempts that were cut off are of
                // no statement that runs again.
                Err(Fault::NotFound { .. } | Fault::Refused { .. }) => {}
                Err(fault) => return Err(fault),
            }
        }
        stops.sort_by_key(|stop| stop.order);
        Ok(stops)
    }

    /// Who wrote a path of a state.
    pub(in super::super) fn history(&self, address: &str) -> Result<Vec<WriteRow>, Fault> {
        self.workspace.history(&self.request, address).map_err(|fault| match fault {
            // The flag that the command `history` takes the path by.
            Fault::Invalid { message, details } => {
                Fault::Invalid { message: message.trim_start_matches("--path ").to_owned(), details }
            }
            fault => fault,
        })
    }

    /// The statements that threw, of the blocks that failed first.
    fn failures(&self) -> Result<Vec<Stopped>, Fault> {
        let mut stops = Vec::new();
        for row in leaves_that_failed(&self.blocks) {
            if let Some(threw) = threw(&self.workspace, &self.request, row)? {
                let said = row.error.iter().map(|error| format!("{}: {}", error.name, error.told())).collect();
                stops.push(Stopped { at: at_of(&threw), order: threw.order, said });
            }
        }
        stops.sort_by_key(|stop| stop.order);
        Ok(stops)
    }

    /// The breakpoints that stop where the session is.
    pub(super) fn stops_here(&self) -> Vec<u32> {
        let here = place(&self.here);
        let stopping = self.breakpoints.iter().filter(|held| !held.is_log());
        let here = stopping.filter(|held| held.stops.iter().any(|stop| place_of(stop) == here));
        here.map(|held| held.number).collect()
    }

    /// What log points say between two places, the second one included, in the order that they are passed.
    pub(super) fn said_between(&self, from: u64, to: u64) -> Vec<Said> {
        let mut said = Vec::new();
        for held in &self.breakpoints {
            let Kind::Line(AtLine { log: Some(log), file, line, .. }) = &held.kind else { continue };
            let is_passed = |at: u64| if from < to { from < at && at <= to } else { to <= at && at < from };
            let passed = held.stops.iter().filter(|stop| is_passed(place_of(stop)));
            let line = held.line.unwrap_or(*line);
            said.extend(passed.map(|stop| (stop.order, Said { text: log.with(&stop.said), file: file.clone(), line })));
        }
        said.sort_by_key(|(order, _)| if from < to { *order } else { u64::MAX - *order });
        said.into_iter().map(|(_, said)| said).collect()
    }

    /// Why a breakpoint stops where the session is.
    pub(in super::super) fn reason(&self, number: u32) -> Option<(&Held, String)> {
        let held = self.breakpoints.iter().find(|held| held.number == number)?;
        let here = place(&self.here);
        let stop = held.stops.iter().find(|stop| place_of(stop) == here);
        let said = stop.and_then(|stop| stop.said.first()).cloned().unwrap_or_default();
        Some(match &held.kind {
            Kind::Line(_) => (held, held.name()),
            Kind::State { .. } => (held, said),
            Kind::Failed => (held, format!("{} failed: {said}", self.here.path)),
        })
    }
}
