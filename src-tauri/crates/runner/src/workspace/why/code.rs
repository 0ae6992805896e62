//! Which code made a value: the file and the line of a block, and the texts that its code can make.
//!
//! A text is one of a block's code only if it is in the definition of the block, or in what that uses by name.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use script::{Literal, Made, line_of, literals_in};

use super::spot::Span;
use crate::views::WhyBy;
use crate::workspace::Workspace;

/// A shorter text is one of the code only if it is all of the text that is asked about, or of what is left of it.
const MIN_FOUND: usize = 8;
/// So many definitions are parsed for one answer: each is parsed as a whole.
const MAX_PARSED: usize = 64;
/// So many texts of a definition are looked for.
const MAX_LITERALS: usize = 400;

/// The definition of a block, as it ran.
struct Definition {
    name: Arc<str>,
    file: String,
    /// The whole file.
    text: String,
    /// The line and the bytes of the definition, if there is exactly one.
    place: Option<(u32, Range<usize>)>,
}

/// A block of a request, by the request and its path.
type Key = (String, String);

/// The definitions of blocks, each read once.
#[derive(Default)]
pub(super) struct Definitions {
    known: HashMap<Key, Option<Definition>>,
    literals: HashMap<(Key, String), Arc<Vec<Literal>>>,
    parsed: usize,
}

/// Texts of the code in a text, in their order.
#[derive(Default)]
pub(super) struct OfCode {
    /// Where they are in the text, each with its place in the file. They do not overlap.
    found: Vec<(Span, usize)>,
}

impl Definitions {
    fn of(&mut self, workspace: &Workspace, request: &str, path: &str) -> Option<&Definition> {
        let key = (request.to_owned(), path.to_owned());
        let read = || {
            // Code that was not kept leaves the file unknown.
            let (_, name, code) = workspace.code_of_block(request, path, None).ok()?;
            let found = code.range_of(&name).map(|(source, line, range)| (source.file.clone(), (line, range)));
            let (file, place) = found.map_or((code.file, None), |(file, place)| (file, Some(place)));
            let text = code.sources.into_iter().find(|source| source.file == file)?.text;
            Some(Definition { name, file, text, place })
        };
        self.known.entry(key).or_insert_with(read).as_ref()
    }

    /// The block at a path, with its file and line if they are known.
    pub(super) fn block(&mut self, workspace: &Workspace, request: &str, path: &str) -> WhyBy {
        let found = self.of(workspace, request, path).and_then(|it| Some((it.file.clone(), it.place.as_ref()?.0)));
        let (file, line) = found.unzip();
        WhyBy { path: path.to_owned(), file, line }
    }

    /// The block at a path with the line of its definition that makes something, if there is one such line.
    pub(super) fn maker(&mut self, workspace: &Workspace, request: &str, path: &str, made: Made<'_>) -> WhyBy {
        let mut by = self.block(workspace, request, path);
        if self.parsed >= MAX_PARSED {
            return by;
        }
        self.parsed += 1;
        let definition = self.of(workspace, request, path);
        let line = definition.and_then(|it| line_of(&it.text, &it.file, &it.place.as_ref()?.1, made));
        by.line = line.or(by.line);
        by
    }

    /// Whether the file of a block, as it ran, has a schema with a default.
    pub(super) fn says_default(&mut self, workspace: &Workspace, request: &str, path: &str) -> bool {
        self.of(workspace, request, path).is_some_and(|it| it.text.contains("default("))
    }

    /// The texts that the code of a block can make, as far as `made` is made of them. Options count if `with_options`.
    fn literals(
        &mut self,
        workspace: &Workspace,
        key: Key,
        made: Option<Made<'_>>,
        with_options: bool,
    ) -> Arc<Vec<Literal>> {
        let whole = (key, format!("{made:?} {with_options}"));
        if let Some(known) = self.literals.get(&whole) {
            return known.clone();
        }
        let mut found = Vec::new();
        if self.parsed < MAX_PARSED {
            self.parsed += 1;
            let (request, path) = &whole.0;
            if let Some(it) = self.of(workspace, request, path)
                && let Some((_, range)) = &it.place
            {
                found = literals_in(&it.text, &it.file, (&it.name, range), made);
            }
        }
        found.retain(|one| with_options || !one.is_option);
        // What makes the field comes first, then the longer text.
        found.sort_by_key(|one| (!one.is_of_made, std::cmp::Reverse(one.text.len())));
        found.truncate(MAX_LITERALS);
        let found = Arc::new(found);
        self.literals.insert(whole, found.clone());
        found
    }

    /// The place in the file of a text that is, as a whole, one of the code; and whether the code that makes the field
    /// has it.
    pub(super) fn whole(
        &mut self,
        workspace: &Workspace,
        (request, path): (&str, &str),
        (made, with_options): (Option<Made<'_>>, bool),
        text: &str,
    ) -> Option<(usize, bool)> {
        let literals = self.literals(workspace, (request.to_owned(), path.to_owned()), made, with_options);
        literals.iter().find(|one| one.text == text).map(|one| (one.at.start, one.is_of_made))
    }

    /// The parts of a text that are texts of the code.
    pub(super) fn parts(
        &mut self,
        workspace: &Workspace,
        (request, path): (&str, &str),
        (made, with_options): (Option<Made<'_>>, bool),
        text: &str,
    ) -> OfCode {
        let literals = self.literals(workspace, (request.to_owned(), path.to_owned()), made, with_options);
        let mut found: Vec<(Span, usize)> = Vec::new();
        let mut longest: Vec<&Literal> = literals.iter().collect();
        longest.sort_by_key(|one| std::cmp::Reverse(one.text.len()));
        let mut of_text: std::collections::BTreeMap<usize, (usize, usize)> = std::collections::BTreeMap::new();
        for one in longest.into_iter().filter(|one| one.text.len() >= MIN_FOUND) {
            for (from, _) in text.match_indices(&*one.text) {
                let to = from + one.text.len();
                let is_free = of_text.range(..to).next_back().is_none_or(|(_, (end, _))| *end <= from);
                if is_free {
                    of_text.insert(from, (to, one.at.start));
                }
            }
        }
        found.extend(of_text.into_iter().map(|(from, (to, at))| ((from, to), at)));
        OfCode { found }
    }

    /// The block at a path with the line of a text of its code: the line that has the longest line of the text.
    pub(super) fn text_at(
        &mut self,
        workspace: &Workspace,
        (request, path): (&str, &str),
        at: usize,
        text: &str,
    ) -> WhyBy {
        let longest = text.lines().map(str::trim).max_by_key(|line| line.len()).unwrap_or_default();
        let found = self.of(workspace, request, path).map(|it| {
            let within = it.text[at..].find(longest).unwrap_or(0);
            // A line that is not written as it is shown may be elsewhere in the file, too.
            let within = if within <= text.len() + longest.len() { within } else { 0 };
            let line = it.text[..at + within].bytes().filter(|byte| *byte == b'\n').count() + 1;
            (it.file.clone(), u32::try_from(line).unwrap_or(1))
        });
        let (file, line) = found.unzip();
        WhyBy { path: path.to_owned(), file, line }
    }
}

impl OfCode {
    /// How many bytes of a span are of the code.
    pub(super) fn bytes_in(&self, (from, to): Span) -> usize {
        self.within((from, to)).map(|((first, end), _)| end - first).sum()
    }

    /// The parts of a span that are of the code, each with its place in the file.
    pub(super) fn within(&self, (from, to): Span) -> impl Iterator<Item = (Span, usize)> + '_ {
        let first = self.found.partition_point(|((_, end), _)| *end <= from);
        let those = self.found[first..].iter().take_while(move |((start, _), _)| *start < to);
        those.map(move |((start, end), at)| (((*start).max(from), (*end).min(to)), *at))
    }
}
