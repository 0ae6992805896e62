//! A text by its parts: what earlier values have, what the block's code has, and what the block put together itself.

use std::collections::HashMap;

use serde_json::Value;

use super::causes::{Cause, PartCause};
use super::cover::{is_apart, is_telling};
use super::grams::WINDOW;
use super::had::had;
use super::json_bytes::in_json;
use super::pointer;
use super::spot::{Span, Spot};
use super::walk::{Walk, cut, edge};
use crate::core::fault::Fault;
use crate::views::{WhyEdge, WhyKind, WhyPlace, WhySpot};

/// So many parts of a text that no earlier value contains are edges of their own.
const MAX_GAPS: usize = 8;
/// So many bytes of what a block got are searched for parts of fewer bytes than are looked for everywhere.
const MAX_SEARCHED: usize = 1 << 16;
/// A part that is not found by then is not looked for in what the block got.
const MAX_LEFT: usize = 1 << 12;

/// A part that no earlier value contains, with its place in the file if it is a text of the code.
type Gap = (Span, Option<usize>);

impl Walk<'_> {
    /// Explains a text by the parts that earlier texts have, and by those that the block's code has.
    pub(super) fn explain_text(&mut self, spot: &Spot, text: &str, depth: u32) -> Result<(), Fault> {
        let code = self.parts_in_code(spot, text);
        let whole = spot.span.unwrap_or((0, text.len()));
        // What the code says is not copied from a value that says the same; it may be if the block got that value.
        let mut ties: Vec<(Span, WhySpot)> = Vec::new();
        let mut parts = self.causes.of_text(spot, text);
        parts.retain(|part| {
            let is_code = code.bytes_in(part.span) * 2 >= part.span.1 - part.span.0;
            if is_code && part.cause.is_got() {
                ties.push((part.span, part.cause.spot.view()));
            }
            !is_code
        });
        let mut gaps = Vec::new();
        for between in between(&parts, whole) {
            let mut at = between.0;
            for (span, place) in code.within(between) {
                gaps.push(((at, span.0), None));
                gaps.push((span, Some(place)));
                at = span.1;
            }
            gaps.push(((at, between.1), None));
        }
        let gaps = self.search_gaps(spot, text, gaps, &mut parts);
        if parts.is_empty() && ties.is_empty() {
            let shown = &text[whole.0..whole.1];
            return match gaps.first() {
                Some((_, Some(at))) if gaps.iter().all(|(_, at)| at.is_some()) => {
                    self.of_code(spot, depth, (*at, Some(shown)), Vec::new())
                }
                _ => self.computed(spot, depth, Some(shown), shown.len() >= WINDOW),
            };
        }
        parts.sort_by_key(|part| part.span);
        for PartCause { span, cause } in parts {
            let part = Spot { span: Some(span), ..spot.clone() };
            if !self.copied_text(&part, cause, depth, &text[span.0..span.1])? {
                return Ok(());
            }
        }
        let many = gaps.len();
        for (span, at) in gaps.into_iter().take(MAX_GAPS) {
            let part = Spot { span: Some(span), ..spot.clone() };
            let shown = &text[span.0..span.1];
            match at {
                Some(at) => {
                    let over = |other: &Span| other.0 < span.1 && span.0 < other.1;
                    let ties = ties.iter().filter(|(other, _)| over(other)).map(|(_, tie)| tie.clone()).collect();
                    self.of_code(&part, depth, (at, Some(shown)), ties)?;
                }
                None => self.computed(&part, depth, Some(shown), false)?,
            }
        }
        self.truncated |= many > MAX_GAPS;
        Ok(())
    }

    /// Finds the short parts of gaps in what the block got, and returns what is left.
    fn search_gaps(&mut self, spot: &Spot, text: &str, gaps: Vec<Gap>, parts: &mut Vec<PartCause>) -> Vec<Gap> {
        let mut left = Vec::new();
        let mut got: Option<Got> = None;
        for (span, at) in gaps {
            if at.is_some() || text[span.0..span.1].trim().is_empty() {
                left.push((span, at));
                continue;
            }
            let shown = &text[span.0..span.1];
            if let Some(code) = self.whole_in_code(spot, &Value::from(shown)) {
                left.push((span, Some(code.at)));
                continue;
            }
            if shown.len() < WINDOW || shown.len() > MAX_LEFT {
                left.push((span, None));
                continue;
            }
            let got = got.get_or_insert_with(|| Got::by(spot));
            let mut from = span.0;
            for part in got.parts_of(spot, text, span) {
                left.push(((from, part.span.0), None));
                from = part.span.1;
                parts.push(part);
            }
            left.push(((from, span.1), None));
        }
        left.retain(|((from, to), _)| !text[*from..*to].trim().is_empty());
        left
    }

    fn copied_text(&mut self, spot: &Spot, cause: Cause, depth: u32, text: &str) -> Result<bool, Fault> {
        let of = WhySpot { as_json: cause.is_json, ..cause.spot.view() };
        let edge = WhyEdge {
            of: Some(of),
            text: Some(cut(text)),
            others: Some(cause.others).filter(|others| *others > 0),
            ties: cause.ties,
            ..edge(WhyKind::Copied, depth, spot.view())
        };
        if !self.push(edge) {
            return Ok(false);
        }
        let next = if cause.is_json { in_json(cause.spot) } else { cause.spot };
        self.explain(&next, depth + 1)?;
        Ok(true)
    }
}

/// What is between the parts of a span.
fn between(parts: &[PartCause], (first, end): Span) -> Vec<Span> {
    let (mut found, mut at) = (Vec::new(), first);
    for part in parts {
        found.push((at, part.span.0));
        at = part.span.1;
    }
    found.push((at, end));
    found.retain(|(from, to)| from < to);
    found
}

/// The texts that a block got, by their windows.
struct Got {
    texts: Vec<(usize, String, String)>,
    windows: HashMap<[u8; WINDOW], (usize, usize)>,
}

impl Got {
    fn by(spot: &Spot) -> Got {
        let mut texts = Vec::new();
        let mut left = MAX_SEARCHED;
        // A later prompt has what the model said before it; that is searched with everything else.
        let records = if spot.record().place == WhyPlace::Item { Vec::new() } else { had(spot).all().collect() };
        for record in records {
            if let Some(value) = spot.log.value(&spot.log.records[record]) {
                collect(&value, &mut String::new(), &mut left, &mut |pointer, text| {
                    texts.push((record, pointer.to_owned(), text.to_owned()));
                });
            }
        }
        let mut windows = HashMap::new();
        for (number, (_, _, text)) in texts.iter().enumerate() {
            for (at, window) in text.as_bytes().windows(WINDOW).enumerate() {
                let mut bytes = [0_u8; WINDOW];
                bytes.copy_from_slice(window);
                windows.entry(bytes).or_insert((number, at));
            }
        }
        Got { texts, windows }
    }

    /// The parts of a span of a text that the block got, from eight bytes on and between whole words.
    fn parts_of(&self, spot: &Spot, text: &str, (first, end): Span) -> Vec<PartCause> {
        let (bytes, mut found, mut at) = (text.as_bytes(), Vec::new(), first);
        while at + WINDOW <= end {
            let mut window = [0_u8; WINDOW];
            window.copy_from_slice(&bytes[at..at + WINDOW]);
            let Some((number, place)) = self.windows.get(&window).filter(|_| text.is_char_boundary(at)) else {
                at += 1;
                continue;
            };
            let (record, pointer, source) = &self.texts[*number];
            let same = bytes[at..end].iter().zip(&source.as_bytes()[*place..]).take_while(|(one, other)| one == other);
            let mut to = at + same.count();
            while !text.is_char_boundary(to) {
                to -= 1;
            }
            if to - at >= WINDOW && is_apart(text, at, to) && is_telling(&bytes[at..to]) {
                let span = Some((*place, place + (to - at)));
                let of = Spot { span, ..Spot::new(&spot.log, *record, pointer.clone()) };
                found.push(PartCause { span: (at, to), cause: Cause::known(of) });
            }
            at = to.max(at + 1);
        }
        found
    }
}

fn collect(value: &Value, pointer: &mut String, left: &mut usize, add: &mut dyn FnMut(&str, &str)) {
    let len = pointer.len();
    match value {
        Value::String(text) if text.len() >= WINDOW && text.len() <= *left => {
            *left -= text.len();
            add(pointer, text);
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                pointer::push(pointer, &at.to_string());
                collect(item, pointer, left, add);
                pointer.truncate(len);
            }
        }
        Value::Object(fields) => {
            for (key, item) in fields {
                pointer::push(pointer, key);
                collect(item, pointer, left, add);
                pointer.truncate(len);
            }
        }
        _ => {}
    }
}
