//! Breakpoints of the editor: at lines, at paths of a state, and at blocks that failed.

use super::super::breakpoints::{AtLine, HitCondition, Kind, LogMessage};
use super::adapter::{Adapter, Answer, body, index};
use super::motion::text;
use super::types::{
    Breakpoint, Breakpoints, DataBreakpoint, DataBreakpointInfo, DataBreakpointInfoArguments, SetBreakpointsArguments,
    SetDataBreakpointsArguments, SetExceptionBreakpointsArguments, Source, SourceBreakpoint,
};

impl Adapter<'_> {
    pub(super) fn set_breakpoints(&mut self, asked: SetBreakpointsArguments) -> Answer {
        self.debugged()?;
        let (file, is_unchanged) = match self.file_of(&asked.source) {
            Ok(found) => found,
            // The editor asks for every file with breakpoints, also those of other programs.
            Err(why) => {
                let refused = |_| Breakpoint { message: Some(why.clone()), ..Breakpoint::default() };
                return body(&Breakpoints { breakpoints: asked.breakpoints.iter().map(refused).collect() });
            }
        };
        let of_file = |kind: &Kind| matches!(kind, Kind::Line(at) if at.file == file);
        self.debugged()?.session.breakpoints.retain(|held| !of_file(&held.kind));
        let source = self.source_of(&file, None)?;
        let mut breakpoints = Vec::new();
        for one in asked.breakpoints {
            let set = self.set_one(&file, one);
            let mut set = set.unwrap_or_else(|why| Breakpoint { message: Some(why), ..Breakpoint::default() });
            if !is_unchanged && set.message.is_none() {
                set.message = Some(format!("{file} has changed since; lines are those of the file as it ran"));
            }
            breakpoints.push(Breakpoint { source: Some(source.clone()), ..set });
        }
        body(&Breakpoints { breakpoints })
    }

    fn set_one(&mut self, file: &str, asked: SourceBreakpoint) -> Result<Breakpoint, String> {
        let given = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        let at = AtLine {
            file: file.to_owned(),
            line: self.own_line(asked.line),
            column: asked.column.map(|column| self.own_column(column)),
            condition: given(asked.condition),
            hits: hits(asked.hit_condition)?,
            log: given(asked.log_message).map(|message| LogMessage::read(&message)),
        };
        let held = self.debugged()?.session.set(Kind::Line(at)).map_err(text)?;
        let (id, line, message) = (held.number, held.line, held.note.clone());
        let line_in_editor = line.map(|line| self.line(line));
        Ok(Breakpoint { id: Some(id), verified: line.is_some(), message, line: line_in_editor, source: None })
    }

    pub(super) fn set_data_breakpoints(&mut self, asked: SetDataBreakpointsArguments) -> Answer {
        self.debugged()?.session.breakpoints.retain(|held| !matches!(held.kind, Kind::State { .. }));
        let mut breakpoints = Vec::new();
        for one in asked.breakpoints {
            let set = self.set_data(one);
            breakpoints.push(set.unwrap_or_else(|why| Breakpoint { message: Some(why), ..Breakpoint::default() }));
        }
        body(&Breakpoints { breakpoints })
    }

    fn set_data(&mut self, asked: DataBreakpoint) -> Result<Breakpoint, String> {
        if asked.condition.is_some_and(|condition| !condition.trim().is_empty()) {
            return Err("a breakpoint at a state takes no condition: a write has no scope of its own".to_owned());
        }
        let kind = Kind::State { address: asked.data_id, hits: hits(asked.hit_condition)? };
        let held = self.debugged()?.session.set(kind).map_err(text)?;
        Ok(Breakpoint { id: Some(held.number), verified: true, message: held.note.clone(), ..Breakpoint::default() })
    }

    pub(super) fn data_breakpoint_info(&mut self, asked: &DataBreakpointInfoArguments) -> Answer {
        let debugged = self.debugged()?;
        let inside = asked.variables_reference.filter(|reference| *reference > 0);
        let address = match inside {
            Some(reference) => debugged.container(reference)?.address_of(&asked.name),
            None => Some(asked.name.clone()),
        };
        let session = &debugged.session;
        let known = address.map(|address| match session.history(&address) {
            Ok(_) => Ok(address),
            Err(fault) => Err(fault.to_string()),
        });
        let (data_id, description) = match known {
            Some(Ok(address)) => (Some(address.clone()), address),
            Some(Err(why)) => (None, why),
            None => (None, format!("{} is no part of a state: only writes to a state are recorded", asked.name)),
        };
        body(&DataBreakpointInfo { data_id, description, access_types: ["write"], can_persist: true })
    }

    pub(super) fn set_exception_breakpoints(&mut self, asked: &SetExceptionBreakpointsArguments) -> Answer {
        let session = &mut self.debugged()?.session;
        session.breakpoints.retain(|held| held.kind != Kind::Failed);
        let options = asked.filter_options.iter().map(|option| &option.filter_id);
        let mut breakpoints = Vec::new();
        for filter in asked.filters.iter().chain(options) {
            breakpoints.push(if filter == "failed" {
                let held = session.set(Kind::Failed).map_err(text)?;
                Breakpoint { id: Some(held.number), verified: true, ..Breakpoint::default() }
            } else {
                let message = format!("there is no filter \"{filter}\"; the filter is \"failed\"");
                Breakpoint { message: Some(message), ..Breakpoint::default() }
            });
        }
        body(&Breakpoints { breakpoints })
    }

    /// The file that a source is, and whether the disk still has what ran.
    pub(super) fn file_of(&mut self, source: &Source) -> Result<(String, bool), String> {
        let files = &self.debugged()?.session.files;
        let at = match (source.source_reference.unwrap_or(0), &source.path) {
            (0, None) => return Err("a source needs a path".to_owned()),
            (0, Some(path)) => files.find(path.strip_prefix("file://").unwrap_or(path))?.0,
            (reference, _) => index(reference).unwrap_or(usize::MAX),
        };
        let found = files.get(at).ok_or_else(|| "there is no such source".to_owned())?;
        Ok((found.file.clone(), files.is_unchanged(found)))
    }
}

fn hits(text: Option<String>) -> Result<Option<HitCondition>, String> {
    text.filter(|text| !text.trim().is_empty()).map(|text| text.parse()).transpose()
}
