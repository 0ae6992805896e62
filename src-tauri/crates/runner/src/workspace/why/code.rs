//! Which code made a value: the file and the line of a block, and of a text that its file contains.

use std::collections::HashMap;

use script::{Made, line_of};

use crate::views::{BlockSource, WhyBy};
use crate::workspace::Workspace;

/// A shorter line of a text is not looked for in a file.
const MIN_LINE: usize = 4;
/// So many definitions are parsed for one answer: each is parsed as a whole.
const MAX_PARSED: usize = 64;

/// The definitions of blocks, each read once.
#[derive(Default)]
pub(super) struct Definitions {
    known: HashMap<(String, String), Option<BlockSource>>,
    parsed: usize,
}

impl Definitions {
    fn of(&mut self, workspace: &Workspace, request: &str, path: &str) -> Option<&BlockSource> {
        let key = (request.to_owned(), path.to_owned());
        // Code that was not kept leaves the file unknown.
        self.known.entry(key).or_insert_with(|| workspace.block_source(request, path, None).ok()).as_ref()
    }

    /// The block at a path, with its file and line if they are known.
    pub(super) fn block(&mut self, workspace: &Workspace, request: &str, path: &str) -> WhyBy {
        let source = self.of(workspace, request, path);
        let line = source.and_then(|source| source.from);
        let file = source.filter(|_| line.is_some()).map(|source| source.file.clone());
        WhyBy { path: path.to_owned(), file, line }
    }

    /// The block at a path with the line of its definition that makes something, if there is one such line.
    pub(super) fn maker(&mut self, workspace: &Workspace, request: &str, path: &str, made: Made<'_>) -> WhyBy {
        let mut by = self.block(workspace, request, path);
        if self.parsed >= MAX_PARSED {
            return by;
        }
        self.parsed += 1;
        let source = self.of(workspace, request, path);
        let line = source.and_then(|source| line_of(&source.text, &source.file, (source.from?, source.to?), made));
        by.line = line.or(by.line);
        by
    }

    /// Whether the file of a block, as it ran, has a schema with a default.
    pub(super) fn says_default(&mut self, workspace: &Workspace, request: &str, path: &str) -> bool {
        self.of(workspace, request, path).is_some_and(|source| source.text.contains("default("))
    }

    /// Whether a text is a part of the block's definition.
    pub(super) fn has(&mut self, workspace: &Workspace, request: &str, path: &str, text: &str) -> bool {
        let text = text.trim();
        let Some(source) = self.of(workspace, request, path).filter(|_| text.len() >= MIN_LINE) else { return false };
        let (Some(from), Some(to)) = (source.from, source.to) else { return false };
        source.text[beginning_of(&source.text, from)..beginning_of(&source.text, to + 1)].contains(text)
    }

    /// The place in the block's file that has a text of the code; the definition comes before the rest of the file.
    pub(super) fn text(&mut self, workspace: &Workspace, request: &str, path: &str, text: &str) -> Option<WhyBy> {
        let line = text.lines().map(str::trim).max_by_key(|line| line.len())?;
        if line.len() < MIN_LINE {
            return None;
        }
        let source = self.of(workspace, request, path)?;
        let first = source.from.map_or(0, |from| beginning_of(&source.text, from));
        let behind = source.text[first..].find(line).map(|at| first + at);
        let at = behind.or_else(|| source.text.find(line))?;
        let number = source.text[..at].bytes().filter(|byte| *byte == b'\n').count() + 1;
        Some(WhyBy { path: path.to_owned(), file: Some(source.file.clone()), line: u32::try_from(number).ok() })
    }
}

/// The first byte of a line, counted from 1.
fn beginning_of(text: &str, line: u32) -> usize {
    let before = usize::try_from(line.saturating_sub(1)).unwrap_or(0);
    text.split_inclusive('\n').take(before).map(str::len).sum()
}
