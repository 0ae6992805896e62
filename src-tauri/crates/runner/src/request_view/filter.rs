//! The language of the filter: `kind:generator status:failed dur>1s -name:search "some text"`.
//!
//! All terms must match. An error has the place, and says what would be right.

pub(crate) mod parse;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use engine::event::BlockKind;
use engine::views::blocks::BlockStatus;
use engine::views::spans::{SpanIndex, Spans};

use super::{RequestView, Source};
use crate::core::fault::Fault;
use crate::views::span_worked;

/// The log is read again after this many times the duration of the last reading.
const PAUSE: u32 = 20;

/// A number that a term compares with.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Compare {
    Below,
    AtMost,
    Equal,
    AtLeast,
    Above,
}

impl Compare {
    fn holds(self, value: f64, wanted: f64) -> bool {
        match self {
            Compare::Below => value < wanted,
            Compare::AtMost => value <= wanted,
            Compare::Equal => value == wanted,
            Compare::AtLeast => value >= wanted,
            Compare::Above => value > wanted,
        }
    }
}

/// A number of a block.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    /// Its duration in milliseconds. Unfinished blocks have none.
    Duration,
    Attempt,
    Items,
    Writes,
    Tokens,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Kind(BlockKind),
    Status(BlockStatus),
    Figure(Figure, Compare, f64),
    /// A part of the name, in lower case.
    Name(String),
    /// A part of the row's name, or of the block's input, output or error, in lower case. A text with `/`, `:` or `[`
    /// is searched in the whole path.
    Text(String),
    /// A pattern of the whole path, in which `*` matches within a segment and `**` anything; without stars, a part of
    /// it.
    Path(String),
    /// A place of the state that the block wrote to.
    WritesTo(String),
}

#[derive(Clone, Debug, PartialEq)]
struct Term {
    is_negated: bool,
    test: Test,
}

/// A parsed filter.
pub(super) struct Filter {
    terms: Vec<Term>,
    /// For each term with a name: whether it is in each name, as far as that is known.
    names: Vec<Vec<Option<bool>>>,
    /// For each term with writes or a text: the spans that wrote there, or have it in their input, output or error.
    found: Vec<HashSet<SpanIndex>>,
    /// When `found` was read, and how long that took.
    read: Option<(Instant, Duration)>,
    /// The path of the newest examined span, unchanged and in lower case, because many terms may need it.
    path: String,
    lower_path: String,
    path_of: Option<SpanIndex>,
}

impl Filter {
    /// Parses a filter; `None` if it has no terms.
    pub(super) fn parse(text: &str) -> Result<Option<Filter>, Fault> {
        let terms = parse::terms(text)?;
        let count = terms.len();
        let filter = Filter {
            terms,
            names: vec![Vec::new(); count],
            found: vec![HashSet::new(); count],
            read: None,
            path: String::new(),
            lower_path: String::new(),
            path_of: None,
        };
        Ok((count > 0).then_some(filter))
    }

    /// Whether it needs paths.
    pub(super) fn reads_paths(&self) -> bool {
        self.terms.iter().any(|term| matches!(term.test, Test::Text(_) | Test::Path(_)))
    }

    /// Like [`read_log`](Self::read_log), for a running request: reads again only if that takes a small part of the
    /// time, and at its end. Returns spans that may match now.
    pub(super) fn read_log_again(&mut self, view: &RequestView, source: &impl Source) -> Result<Vec<SpanIndex>, Fault> {
        let reads = self.terms.iter().any(|term| matches!(term.test, Test::WritesTo(_) | Test::Text(_)));
        let is_early = self.read.is_some_and(|(at, took)| at.elapsed() < took * PAUSE);
        if !reads || (is_early && view.is_live) {
            return Ok(Vec::new());
        }
        let before = self.found.clone();
        self.read_log(view, source)?;
        let added = self.found.iter().zip(&before).flat_map(|(now, before)| now.difference(before));
        Ok(added.copied().collect())
    }

    /// Reads which spans wrote to the places of its terms, or have the texts.
    pub(super) fn read_log(&mut self, view: &RequestView, source: &impl Source) -> Result<(), Fault> {
        let began = Instant::now();
        for (term, found) in self.terms.iter().zip(&mut self.found) {
            let events = match &term.test {
                Test::WritesTo(place) => source.writes_to(place)?,
                Test::Text(text) => source.events_with(text)?,
                _ => continue,
            };
            for (seq, path) in events {
                let Some(number) = source.path_number(&path)? else { continue };
                let attempts = (0..).map_while(|attempt| view.spans.find(number, attempt));
                let is_around = |span: &SpanIndex| {
                    let span = view.spans.get(*span);
                    span.seq_start <= seq && (span.seq_end == 0 || seq <= span.seq_end)
                };
                found.extend(attempts.filter(is_around));
            }
        }
        self.read = Some((began, began.elapsed()));
        Ok(())
    }

    /// Whether it matches the current state of a span.
    pub(super) fn fits(&mut self, view: &RequestView, index: SpanIndex) -> bool {
        (0..self.terms.len()).all(|at| self.term_fits(view, index, at) != self.terms[at].is_negated)
    }

    fn read_path(&mut self, view: &RequestView, index: SpanIndex) {
        if self.path_of == Some(index) {
            return;
        }
        self.path.clear();
        view.paths.write(&view.spans, index, &mut self.path);
        self.lower_path.clear();
        self.lower_path.push_str(&self.path);
        self.lower_path.make_ascii_lowercase();
        self.path_of = Some(index);
    }

    fn term_fits(&mut self, view: &RequestView, index: SpanIndex, at: usize) -> bool {
        if matches!(self.terms[at].test, Test::Text(_) | Test::Path(_)) {
            self.read_path(view, index);
        }
        let span = view.spans.get(index);
        match &self.terms[at].test {
            Test::Kind(kind) => span.kind == *kind,
            // Failures include those that a tool returned.
            Test::Status(BlockStatus::Failed) => view.status(index, None).is_some_and(BlockStatus::is_failure),
            Test::Status(status) => view.status(index, None) == Some(*status),
            Test::Figure(figure, compare, wanted) => {
                let value = match figure {
                    // Like the row, without gaps.
                    Figure::Duration => match span_worked(&view.spans, index) {
                        Some(took) => took as f64,
                        None => return false,
                    },
                    Figure::Attempt => span.attempt.into(),
                    Figure::Items => span.items.into(),
                    Figure::Writes => view.spans.changes(index, view.is_live).into(),
                    Figure::Tokens => {
                        let usage = view.spans.usage(index);
                        usage.prompt_tokens.saturating_add(usage.completion_tokens) as f64
                    }
                };
                compare.holds(value, *wanted)
            }
            Test::Name(text) => is_in_name(&mut self.names[at], &view.spans, index, text),
            Test::Text(text) => {
                is_in_name(&mut self.names[at], &view.spans, index, text)
                    || is_called(&self.lower_path, text)
                    || self.found[at].contains(&index)
            }
            Test::Path(pattern) => {
                if pattern.contains('*') {
                    is_like(&self.path, pattern)
                } else {
                    self.path.contains(pattern.as_str())
                }
            }
            Test::WritesTo(_) => self.found[at].contains(&index),
        }
    }
}

/// Whether a text is in a span's name. Each name is examined once, because there are few.
fn is_in_name(known: &mut Vec<Option<bool>>, spans: &Spans, index: SpanIndex, text: &str) -> bool {
    let span = spans.get(index);
    let name = span.name as usize;
    if name >= known.len() {
        known.resize(name + 1, None);
    }
    *known[name].get_or_insert_with(|| spans.name(span).to_lowercase().contains(text))
}

/// Whether a text is in the last segment of a path, without the segment's prefix, which rows do not show. A text that
/// looks like a path is searched in the whole path.
fn is_called(path: &str, text: &str) -> bool {
    if text.contains(['/', ':', '[']) {
        return path.contains(text);
    }
    let last = path.rsplit('/').next().unwrap_or(path);
    last.split_once(':').map_or(last, |(_, name)| name).contains(text)
}

/// Whether a path matches a pattern with `*` and `**`.
fn is_like(path: &str, pattern: &str) -> bool {
    let (path, pattern) = (path.as_bytes(), pattern.as_bytes());
    // For the last star of each kind: the place after it, and the end of its match. Only these are extended.
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    let mut double = star;
    loop {
        if pattern[p..].starts_with(b"**") {
            p += 2;
            (double, star) = (Some((p, t)), None);
        } else if pattern.get(p) == Some(&b'*') {
            p += 1;
            star = Some((p, t));
        } else if p == pattern.len() && t == path.len() {
            return true;
        } else if t < path.len() && pattern.get(p) == Some(&path[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((after, until)) = star.filter(|(_, until)| path.get(*until).is_some_and(|c| *c != b'/')) {
            star = Some((after, until + 1));
            (p, t) = (after, until + 1);
        } else if let Some((after, until)) = double.filter(|(_, until)| *until < path.len()) {
            (double, star) = (Some((after, until + 1)), None);
            (p, t) = (after, until + 1);
        } else {
            return false;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_match_parts_of_paths() {
        let fits = [
            ("root/step:a", "root/*"),
            ("root/step:a/step:b", "root/*/step:b"),
            ("root/step:a/step:b", "**:b"),
            ("root/step:a/step:b", "root/**"),
            ("root/x/y/z", "**/*"),
            ("root/aab/c", "root/*ab/c"),
            ("root/a/b/a/c", "root/**/a/*"),
            ("root", "**"),
        ];
        let others = [
            ("root/step:a/step:b", "root/*"),
            ("root/step:a", "root/*/step:a"),
            ("root", "root/*"),
            ("root", "root/**"),
            ("root/a/b", "*"),
            ("root/a/b", "*/b"),
        ];
        fits.iter().for_each(|(path, pattern)| assert!(is_like(path, pattern), "{path} is like {pattern}"));
        others.iter().for_each(|(path, pattern)| assert!(!is_like(path, pattern), "{path} is not like {pattern}"));
    }
}
