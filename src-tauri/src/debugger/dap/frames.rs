//! Threads, frames and scopes. Blocks that ran side by side are threads. A stack has the functions of a block, and
//! below them the blocks around it, as labels.

use std::rc::Rc;

use runner::Instant;

use super::super::session::name_of;
use super::adapter::{Adapter, Answer, Debugged, body, index};
use super::motion::text;
use super::types::{
    Scope, Scopes, ScopesArguments, Source, SourceArguments, SourceText, StackFrame, StackTrace, StackTraceArguments,
    Thread, Threads,
};
use super::variables::Container;

/// A frame that the editor knows.
#[derive(Clone)]
pub(super) struct Frame {
    /// Where its thread is; `None` if the block has run no statement.
    pub(super) at: Option<Rc<Instant>>,
    /// Whether it is the newest function: only there names have values.
    pub(super) is_newest: bool,
    /// The block.
    path: String,
    attempt: u32,
}

impl Debugged {
    /// The number of the thread of a block.
    pub(super) fn thread(&mut self, block: (String, u32)) -> i64 {
        let known = self.threads.iter().position(|known| *known == block);
        let at = known.unwrap_or_else(|| {
            self.threads.push(block);
            self.threads.len() - 1
        });
        at as i64 + 1
    }

    pub(super) fn frame(&self, id: i64) -> Result<&Frame, String> {
        index(id)
            .and_then(|at| self.frames.get(at))
            .ok_or_else(|| format!("there is no frame {id} since the last movement"))
    }

    fn add_frame(&mut self, frame: Frame) -> i64 {
        self.frames.push(frame);
        self.frames.len() as i64
    }
}

impl Adapter<'_> {
    pub(super) fn threads(&mut self) -> Answer {
        let debugged = self.debugged()?;
        let running = debugged.session.running();
        let thread = |(path, attempt): (String, u32)| {
            let name = if attempt == 0 { path.clone() } else { format!("{path}#{attempt}") };
            Thread { id: debugged.thread((path, attempt)), name }
        };
        body(&Threads { threads: running.into_iter().map(thread).collect() })
    }

    pub(super) fn stack_trace(&mut self, asked: &StackTraceArguments) -> Answer {
        let debugged = self.debugged()?;
        let of = index(asked.thread_id).and_then(|at| debugged.threads.get(at)).cloned();
        let (path, attempt) = of.ok_or_else(|| format!("there is no thread {}", asked.thread_id))?;
        let at = debugged.session.reached_by(&path, attempt).map_err(text)?.map(Rc::new);
        let mut frames = Vec::new();
        if let Some(at) = &at {
            frames = self.functions(at)?;
        }
        let debugged = self.debugged()?;
        let around: Vec<(String, u32)> =
            debugged.session.blocks_around(&path, attempt).rev().map(|row| (row.path.clone(), row.attempt)).collect();
        for (path, attempt) in around {
            let name = if attempt == 0 { path.clone() } else { format!("{path}#{attempt}") };
            let id = debugged.add_frame(Frame { at: at.clone(), is_newest: false, path, attempt });
            frames.push(StackFrame { id, name, presentation_hint: Some("label"), ..StackFrame::default() });
        }
        let total_frames = frames.len();
        let levels = asked.levels.filter(|levels| *levels > 0).unwrap_or(usize::MAX);
        let stack_frames = frames.into_iter().skip(asked.start_frame).take(levels).collect();
        body(&StackTrace { stack_frames, total_frames })
    }

    /// The functions that run at an instant, the newest first.
    fn functions(&mut self, at: &Rc<Instant>) -> Result<Vec<StackFrame>, String> {
        let mut frames = Vec::new();
        let here = runner::StackFrame { function: at.function.clone(), file: at.file.clone(), line: at.line };
        let stack = if at.stack.is_empty() { std::slice::from_ref(&here) } else { &at.stack[..] };
        for (nth, frame) in stack.iter().enumerate() {
            let is_newest = nth == 0;
            let known = Frame { at: Some(at.clone()), is_newest, path: at.path.clone(), attempt: at.attempt };
            let id = self.debugged()?.add_frame(known);
            let source = Some(self.source_of(&frame.file, Some(&at.code))?);
            let mut shown = StackFrame {
                id,
                name: frame.function.clone(),
                source,
                line: self.line(frame.line),
                column: self.column(1),
                ..StackFrame::default()
            };
            if is_newest {
                shown.column = self.column(at.column);
                shown.end_line = Some(self.line(at.end_line));
                shown.end_column = Some(self.column(at.end_column));
            }
            frames.push(shown);
        }
        Ok(frames)
    }

    pub(super) fn scopes(&mut self, asked: &ScopesArguments) -> Answer {
        let debugged = self.debugged()?;
        let frame = debugged.frame(asked.frame_id)?.clone();
        let mut scopes = Vec::new();
        let seq = frame.at.as_ref().map_or(debugged.session.here().seq, |at| at.seq);
        if let Some(at) = frame.at.filter(|_| frame.is_newest) {
            let variables_reference = debugged.add(Container::Locals(at));
            scopes.push(Scope {
                name: "Locals",
                presentation_hint: Some("locals"),
                variables_reference,
                expensive: false,
            });
        }
        let is_it = |row: &runner::BlockRow| row.path == frame.path && row.attempt == frame.attempt;
        let block = debugged.session.blocks.iter().find(|block| is_it(&block.row));
        let input = block.and_then(|block| block.input.clone()).map(|json| json.0).unwrap_or_default();
        let input = Container::Json { value: input, address: None, expression: None };
        for (name, container) in [("Input", input), ("State", Container::State(seq))] {
            let variables_reference = debugged.add(container);
            scopes.push(Scope { name, presentation_hint: None, variables_reference, expensive: false });
        }
        body(&Scopes { scopes })
    }

    /// A file for the editor: the one on the disk, or the text that ran if the disk has another. `code` is the hash of
    /// the code that has it; without it the newest text.
    pub(super) fn source_of(&mut self, file: &str, code: Option<&str>) -> Result<Source, String> {
        let session = &self.debugged()?.session;
        let at = code.and_then(|code| session.files.in_version(code, file));
        let at = at.map_or_else(|| session.files.find(file).map(|(at, _)| at), Ok)?;
        let found = session.files.get(at).ok_or_else(|| format!("there is no {file}"))?;
        let name = file.rsplit('/').next().unwrap_or(file).to_owned();
        let path = Some(session.files.on_disk(file).display().to_string());
        Ok(if session.files.is_unchanged(found) {
            Source { name: Some(name), path, ..Source::default() }
        } else {
            let origin = Some(format!("as {} ran it", session.request));
            Source { name: Some(name), path, source_reference: Some(at as i64 + 1), origin }
        })
    }

    pub(super) fn source(&mut self, asked: &SourceArguments) -> Answer {
        let given = asked.source.clone().unwrap_or_default();
        let reference = Some(asked.source_reference).filter(|reference| *reference > 0).or(given.source_reference);
        let by_number = reference.and_then(index);
        let (file, _) = self.file_of(&Source { source_reference: reference, ..given })?;
        let files = &self.debugged()?.session.files;
        let at = by_number.map_or_else(|| files.find(&file).map(|(at, _)| at), Ok)?;
        let content = files.get(at).map(|source| source.text.clone()).unwrap_or_default();
        body(&SourceText { content, mime_type: "text/typescript" })
    }
}

/// Says where a frame without names is.
pub(super) fn not_newest(frame: &Frame) -> String {
    let block = frame.at.as_ref().map_or_else(|| frame.path.clone(), |at| name_of(at));
    format!("names have values in the newest function of {block} only; select its frame")
}
