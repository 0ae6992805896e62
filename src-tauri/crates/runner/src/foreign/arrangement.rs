//! Which span is in which, where each is in the request, and in what order their beginnings and ends are recorded.
//!
//! Clocks of services differ, so times alone do not order spans: a span never begins before the one around it here,
//! whatever its clock said. What is odd about a span is said in words, which its block shows.

use std::collections::HashMap;
use std::sync::Arc;

use engine::path::{Numbering, ROOT, encode, join};

use super::packed::{LAST_NANOS, PackedSpan};
use super::span::hex;

/// A span that takes longer did not end when it says.
const LONGEST_NANOS: u64 = 366 * 24 * 3_600 * 1_000_000_000;
/// Longer names of spans are cut in paths.
const MAX_NAME_CHARS: usize = 80;
/// A longer path does not grow with the depth any more.
const MAX_PATH_BYTES: usize = 1_024;

/// A span in its place.
#[derive(Debug)]
pub(super) struct Placed {
    /// The one around it; `None` for what is in no other.
    pub(super) around: Option<usize>,
    pub(super) path: Arc<str>,
    /// By what it is ordered, in nanoseconds.
    start: u64,
    end: u64,
    /// When it ended, in nanoseconds since the epoch, 0 if it has not: as it says, or with what is inside it if that
    /// cannot be.
    pub(super) ended: u64,
    /// What is odd about it.
    pub(super) notes: Vec<String>,
}

/// The spans of a trace, arranged. Numbers are places in the list of spans.
#[derive(Debug)]
pub(super) struct Arrangement {
    pub(super) placed: Vec<Placed>,
    /// The span that is the request; `None` if none is, or several could be.
    pub(super) root: Option<usize>,
    /// Those that name no parent.
    pub(super) tops: Vec<usize>,
    /// All, each before those inside it.
    pub(super) order: Vec<usize>,
}

/// A span begins, or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    Start(usize),
    End(usize),
}

impl Arrangement {
    /// Of a settled trace without a top, the topmost spans are those whose parents did not arrive.
    pub(super) fn of(spans: &[PackedSpan], is_settled: bool) -> Arrangement {
        let mut notes: Vec<Vec<String>> = vec![Vec::new(); spans.len()];
        let places = places(spans, &mut notes);
        let mut around: Vec<Option<usize>> = Vec::with_capacity(spans.len());
        for (at, span) in spans.iter().enumerate() {
            let found = span.parent.and_then(|parent| places.get(&parent).copied());
            if let (Some(parent), None) = (span.parent, found) {
                notes[at].push(format!("its parent, span {}, did not arrive", hex(parent)));
            }
            if span.is_records {
                notes[at].push("only log records of it arrived, and not the span".to_owned());
            }
            around.push(found);
        }
        cut_circles(spans, &mut around, &mut notes);
        let spans_of = |is_top: &dyn Fn(usize) -> bool| -> Vec<usize> {
            (0..spans.len()).filter(|at| !spans[*at].is_records && is_top(*at)).collect()
        };
        let mut tops = spans_of(&|at| spans[at].parent.is_none());
        if tops.is_empty() && is_settled {
            tops = spans_of(&|at| around[at].is_none());
            if tops.is_empty() {
                // No span arrived, only log records.
                tops = (0..spans.len()).filter(|at| around[*at].is_none()).collect();
            }
            let text = "nothing around it arrived for long enough: it is taken for the beginning of the request";
            tops.iter().for_each(|at| notes[*at].push(text.to_owned()));
        }
        tops.sort_by_key(|at| order(&spans[*at]));
        let root = match tops[..] {
            [only] => Some(only),
            _ => None,
        };
        if let Some(root) = root {
            let lost = around.iter_mut().enumerate().filter(|(at, around)| *at != root && around.is_none());
            lost.for_each(|(_, around)| *around = Some(root));
        }
        let mut arranged = Arrangement { placed: Vec::new(), root, tops, order: Vec::new() };
        arranged.place(spans, (around, notes));
        arranged
    }

    /// Walks from the outside in.
    fn place(&mut self, spans: &[PackedSpan], (around, notes): (Vec<Option<usize>>, Vec<Vec<String>>)) {
        let mut inside: HashMap<Option<usize>, Vec<usize>> = HashMap::new();
        for (at, around) in around.iter().enumerate() {
            inside.entry(*around).or_default().push(at);
        }
        let first = spans.iter().map(|span| span.start).filter(|start| *start > 0).min().unwrap_or(0);
        // The time by which a span without one is ordered is that of the one around it.
        inside.values_mut().for_each(|inner| inner.sort_by_key(|at| order(&spans[*at])));
        self.placed = around
            .into_iter()
            .zip(notes)
            .map(|(around, notes)| Placed { around, path: "".into(), start: 0, end: 0, ended: 0, notes })
            .collect();
        let mut rest: Vec<usize> =
            inside.get(&None).map(|tops| tops.iter().rev().copied().collect()).unwrap_or_default();
        let mut numberings: HashMap<Option<usize>, Numbering> = HashMap::new();
        let mut deep = Numbering::default();
        while let Some(at) = rest.pop() {
            self.order.push(at);
            let (span, outer) = (&spans[at], self.placed[at].around);
            let path = if self.root == Some(at) {
                ROOT.into()
            } else {
                let numbering = numberings.entry(outer).or_default();
                let segment = numbering.number(format!("step:{}", encode(&short(&span.name))));
                let path = join(outer.map_or(ROOT, |outer| &*self.placed[outer].path), &segment);
                if path.len() > MAX_PATH_BYTES {
                    join(ROOT, &deep.number(format!("span:{}", hex(span.id))))
                } else {
                    path
                }
            };
            let start = span.start.max(outer.map_or(first, |outer| self.placed[outer].start));
            let notes = odd_times(span, outer.map(|outer| &spans[outer]));
            let placed = &mut self.placed[at];
            (placed.path, placed.start) = (path.into(), start);
            placed.notes.extend(notes);
            rest.extend(inside.get(&Some(at)).into_iter().flatten().rev());
        }
        self.place_ends(spans);
    }

    /// Places the ends of spans: one that cannot be is where the last end inside it is.
    fn place_ends(&mut self, spans: &[PackedSpan]) {
        let mut last_inside: Vec<u64> = vec![0; spans.len()];
        for at in self.order.iter().rev().copied() {
            let (span, placed) = (&spans[at], &mut self.placed[at]);
            placed.ended = span.end;
            if !can_end(span) {
                placed.ended = last_inside[at].max(placed.start).max(1);
                let text = match span.start {
                    0 => "it ends after the year 2200".to_owned(),
                    start => format!("it ends {} years after it starts", (span.end - start) / LONGEST_NANOS),
                };
                placed.notes.push(format!("{text}, which cannot be: here it ends with what is inside it"));
            }
            placed.end = placed.ended.max(placed.start);
            let (ended, around) = (placed.ended, placed.around);
            if let Some(around) = around {
                last_inside[around] = last_inside[around].max(ended);
            }
        }
    }

    /// The beginnings and ends, in order. A span that has not ended has no end.
    pub(super) fn edges(&self, spans: &[PackedSpan]) -> Vec<Edge> {
        let mut edges: Vec<(u64, u8, u32, Edge)> = Vec::with_capacity(2 * spans.len());
        for (number, at) in self.order.iter().copied().enumerate() {
            let placed = &self.placed[at];
            let number = number as u32;
            // At one instant: what ran ends, then what begins begins, then what takes no time ends.
            edges.push((placed.start, 1, number, Edge::Start(at)));
            if spans[at].end > 0 {
                let class = if placed.end > placed.start { 0 } else { 2 };
                edges.push((placed.end, class, u32::MAX - number, Edge::End(at)));
            }
        }
        edges.sort_unstable_by_key(|(time, class, number, _)| (*time, *class, *number));
        edges.into_iter().map(|(.., edge)| edge).collect()
    }
}

/// By what spans beside each other are ordered.
fn order(span: &PackedSpan) -> (u64, u64, u64) {
    (span.start, span.id, span.variant)
}

/// The places of spans by their ids. Of several with one id, the first is around what names it as its parent.
fn places(spans: &[PackedSpan], notes: &mut [Vec<String>]) -> HashMap<u64, usize> {
    let mut places: HashMap<u64, usize> = HashMap::with_capacity(spans.len());
    for (at, span) in spans.iter().enumerate() {
        let Some(known) = places.insert(span.id, at) else { continue };
        let text = format!("several spans have the id {}, with different contents: all are shown", hex(span.id));
        for at in [known, at] {
            if !notes[at].contains(&text) {
                notes[at].push(text.clone());
            }
        }
        if order(&spans[known]) < order(span) {
            places.insert(span.id, known);
        }
    }
    places
}

/// Whether a span can end when it says.
fn can_end(span: &PackedSpan) -> bool {
    let longest = if span.start == 0 { LAST_NANOS } else { span.start.saturating_add(LONGEST_NANOS) };
    span.end <= longest
}

fn short(name: &str) -> String {
    let name = if name.is_empty() { "unnamed" } else { name };
    name.chars().take(MAX_NAME_CHARS).collect()
}

/// Takes one span of each circle of parents out of the one around it.
fn cut_circles(spans: &[PackedSpan], around: &mut [Option<usize>], notes: &mut [Vec<String>]) {
    // 0 is not looked at yet; otherwise the walk in which it was.
    let mut walks: Vec<u32> = vec![0; spans.len()];
    for begin in 0..spans.len() {
        let walk = begin as u32 + 1;
        let mut at = Some(begin);
        while let Some(here) = at.filter(|here| walks[*here] == 0) {
            walks[here] = walk;
            at = around[here];
        }
        let Some(meeting) = at.filter(|at| walks[*at] == walk) else { continue };
        let mut circle = vec![meeting];
        let mut next = around[meeting];
        while let Some(here) = next.filter(|here| *here != meeting) {
            circle.push(here);
            next = around[here];
        }
        // The same one, in whatever order they arrived.
        if let Some(first) = circle.into_iter().min_by_key(|at| order(&spans[*at])) {
            around[first] = None;
            notes[first].push("its parents form a circle, which is cut here".to_owned());
        }
    }
}

fn odd_times(span: &PackedSpan, outer: Option<&PackedSpan>) -> Vec<String> {
    let mut notes = Vec::new();
    if span.starts_too_late {
        notes.push("it starts after the year 2200, which cannot be: here it starts with what is around it".to_owned());
    } else if span.start == 0 {
        notes.push("it has no start time".to_owned());
    } else if span.end > 0 && span.end < span.start {
        notes.push(format!("it ends {} before it starts", length(span.start - span.end)));
    }
    let Some(outer) = outer.filter(|outer| outer.start > 0 && span.start > 0) else { return notes };
    if span.start < outer.start {
        let early = length(outer.start - span.start);
        notes.push(format!("it starts {early} before its parent: the clocks of the two differ"));
    } else if outer.end >= outer.start && span.start > outer.end && can_end(outer) {
        let late = length(span.start - outer.end);
        notes.push(format!("it starts {late} after its parent ended: it ran on, or the clocks of the two differ"));
    }
    notes
}

fn length(nanos: u64) -> String {
    match nanos {
        0..1_000 => format!("{nanos} ns"),
        1_000..1_000_000 => format!("{} µs", nanos / 1_000),
        _ => format!("{} ms", nanos / 1_000_000),
    }
}
