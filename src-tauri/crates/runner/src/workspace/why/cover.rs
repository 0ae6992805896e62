//! Which parts of a text earlier texts contain: the best ones, from its beginning to its end, without overlaps.
//!
//! At each byte that no part covers yet, the newest texts that have the next eight bytes in common are extended both
//! ways, and the best common part is kept. Of two parts of about the same length, a whole earlier text is better than a
//! part of one, then the one whose text ranks higher; a much longer part is better than any shorter one. A part is
//! passed over as a whole, so the work is linear in the text.
//! Must not know where the texts were recorded: the caller ranks them.

use std::cmp::Reverse;

use rustc_hash::FxHashMap;

use super::grams::{STEP, WINDOW};
use super::index::{Index, MIN_BYTES};

/// A part of a text has at least so many bytes; a whole one may be shorter.
const MIN_PART: usize = 20;
/// A part of a value as compact JSON has at least so many bytes: keys and quotation marks recur.
const MIN_JSON_PART: usize = 24;
/// So many earlier texts are compared at one byte.
const MAX_COMPARED: usize = 16;
/// A part goes back over at most so many times the bytes that it has ahead: only those ahead are passed over.
const MAX_BACK: usize = 4;
/// Parts of fewer different bytes are lines, spaces and the like.
const MIN_DIFFERENT: usize = 4;

/// A part of a text that an earlier text contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Its first byte.
    pub(super) from: usize,
    /// The byte after its last.
    pub(super) to: usize,
    /// The earlier text.
    pub(super) text: u32,
    /// Its first byte there.
    pub(super) at: usize,
    /// Whether it is all of the earlier text.
    pub(super) is_whole: bool,
}

/// How good an earlier text is as the cause: its class, and then which is newer; the better one is greater.
pub(super) type Rank = (u8, u64);

/// What is known of an earlier text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked {
    pub(super) rank: Rank,
    /// Whether it is a value as compact JSON.
    pub(super) is_json: bool,
}

/// A part that may be kept.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    piece: Piece,
    ranked: Ranked,
    /// Whether it covers the whole text that is explained.
    is_of_all: bool,
}

impl Candidate {
    fn len(&self) -> usize {
        self.piece.to - self.piece.from
    }

    /// Whether this is the better one of two parts that overlap. A few more bytes are in common by chance, if not all
    /// bytes are.
    fn is_better_than(&self, other: &Candidate) -> bool {
        if self.is_of_all != other.is_of_all {
            return self.is_of_all;
        }
        let (own, others) = (self.len(), other.len());
        let more = own.abs_diff(others);
        if more >= MIN_PART || more * 2 >= own.min(others) {
            return own > others;
        }
        let quality = |one: &Candidate| {
            let (class, newest) = one.ranked.rank;
            (one.piece.is_whole, class, Reverse(one.ranked.is_json), one.len(), newest)
        };
        quality(self) > quality(other)
    }
}

/// Returns the parts of a text that texts of the records before one contain, in their order, and adds the bytes that
/// were compared to `work`. `rank` says of a text how good it is; `None` if it does not count.
pub(super) fn cover(
    index: &Index,
    text: &str,
    before: u32,
    work: &mut u64,
    rank: impl FnMut(u32) -> Option<Ranked>,
) -> Vec<Piece> {
    let end = index.end_of(before);
    let mut covering = Covering { index, text, end, rank, known: FxHashMap::default(), work: 0, kept: Vec::new() };
    covering.cover();
    *work += covering.work;
    covering.kept.into_iter().map(|candidate| candidate.piece).collect()
}

struct Covering<'t, R> {
    index: &'t Index,
    text: &'t str,
    /// Where the earlier texts end in the bytes of all texts.
    end: u32,
    rank: R,
    known: FxHashMap<u32, Option<Ranked>>,
    work: u64,
    kept: Vec<Candidate>,
}

impl<R: FnMut(u32) -> Option<Ranked>> Covering<'_, R> {
    fn cover(&mut self) {
        let len = self.text.len();
        let mut at = 0;
        while at + WINDOW <= len {
            // A run of spaces is passed over as a whole, too, or else each of its bytes would be compared to its end.
            let mut passed = at + 1;
            let Some(mut best) = self.longest_at(at, &mut passed) else {
                at = passed;
                continue;
            };
            // Windows of other texts begin at other bytes.
            for next in (at + 1..at + STEP).take_while(|next| next + WINDOW <= len) {
                self.longest_at(next, &mut 0).into_iter().for_each(|other| keep_better(&mut best, other));
            }
            let Piece { from, to, .. } = best.piece;
            // A much longer one was found already; to compare it again at each byte would not be linear.
            let most = 2 * best.len() + MIN_PART;
            for next in (from..to.min(from + MIN_PART)).take_while(|next| next + WINDOW <= len) {
                self.whole_at(next, most).into_iter().for_each(|other| keep_better(&mut best, other));
            }
            if self.kept.last().is_some_and(|last| best.piece.from <= last.piece.from) {
                self.kept.pop();
            }
            at = best.piece.to;
            self.kept.push(best);
        }
    }

    fn ranked(&mut self, id: u32) -> Option<Ranked> {
        let rank = &mut self.rank;
        *self.known.entry(id).or_insert_with(|| rank(id))
    }

    /// The best part around the window at a byte; `passed` becomes the end of what is no part but a line.
    fn longest_at(&mut self, at: usize, passed: &mut usize) -> Option<Candidate> {
        let (index, bytes) = (self.index, self.text.as_bytes());
        // A part may replace the last one, not those before it.
        let floor = self.kept.len().checked_sub(2).map_or(0, |before| self.kept[before].piece.to);
        let mut best: Option<Candidate> = None;
        self.work += 1;
        for place in index.like(&bytes[at..at + WINDOW], self.end, MAX_COMPARED) {
            let (id, offset) = index.text_at(place);
            let source = index.text(id).as_bytes();
            self.work += 1;
            if source[offset..offset + WINDOW] != bytes[at..at + WINDOW] {
                continue;
            }
            let Some(ranked) = self.ranked(id) else { continue };
            let ahead = alike(bytes[at + WINDOW..].iter().zip(&source[offset + WINDOW..]));
            let most = MAX_BACK * (WINDOW + ahead);
            let back = alike(bytes[floor.min(at)..at].iter().rev().zip(source[..offset].iter().rev()).take(most));
            self.work += (ahead + back) as u64;
            let (from, to) = (at - back, at + WINDOW + ahead);
            let Some(candidate) = self.fitted((from, to), (id, offset - back), ranked) else { continue };
            let Piece { from, to, is_whole, .. } = candidate.piece;
            let least = if ranked.is_json { MIN_JSON_PART } else { MIN_PART };
            if candidate.len() < least && !is_whole {
                continue;
            }
            if !is_telling(&bytes[from..to]) {
                *passed = (*passed).max(to);
                continue;
            }
            match &mut best {
                Some(best) => keep_better(best, candidate),
                None => best = Some(candidate),
            }
        }
        best
    }

    /// The best earlier text of at most `most` bytes that begins at a byte and is there as a whole.
    fn whole_at(&mut self, at: usize, most: usize) -> Option<Candidate> {
        let (index, bytes) = (self.index, self.text.as_bytes());
        let mut best: Option<Candidate> = None;
        self.work += 1;
        for place in index.beginning_like(&bytes[at..at + WINDOW], self.end).take(MAX_COMPARED) {
            let (id, _) = index.text_at(place);
            let source = index.text(id).as_bytes();
            if source.len() > most {
                continue;
            }
            let same = alike(bytes[at..].iter().zip(source));
            self.work += 1 + same as u64;
            if same < source.len() || !is_telling(source) {
                continue;
            }
            let Some(ranked) = self.ranked(id) else { continue };
            let found = self.fitted((at, at + same), (id, 0), ranked).filter(|found| found.piece.is_whole);
            match (&mut best, found) {
                (Some(best), Some(found)) => keep_better(best, found),
                (None, found) => best = found,
                (Some(_), None) => {}
            }
        }
        best
    }

    /// A part between whole characters that does not overlap with the last part, unless it covers all of that and is
    /// better.
    fn fitted(&self, (from, to): (usize, usize), (id, at): (u32, usize), ranked: Ranked) -> Option<Candidate> {
        let cut = |first: usize| {
            let (mut first, mut to) = (first, to);
            if first >= to {
                return None;
            }
            while first < to && !self.text.is_char_boundary(first) {
                first += 1;
            }
            while to > first && !self.text.is_char_boundary(to) {
                to -= 1;
            }
            let is_all = to - first == self.index.text(id).len() && to - first >= MIN_BYTES;
            let is_whole = is_all && is_apart(self.text, first, to);
            let piece = Piece { from: first, to, text: id, at: at + (first - from), is_whole };
            let is_of_all = (first, to) == (0, self.text.len());
            (first < to).then_some(Candidate { piece, ranked, is_of_all })
        };
        let Some(last) = self.kept.last() else { return cut(from) };
        if from <= last.piece.from
            && let Some(over) = cut(from)
            && over.is_better_than(last)
        {
            return Some(over);
        }
        cut(from.max(last.piece.to))
    }
}

fn keep_better(best: &mut Candidate, other: Candidate) {
    if other.is_better_than(best) {
        *best = other;
    }
}

fn alike<'b>(pairs: impl Iterator<Item = (&'b u8, &'b u8)>) -> usize {
    pairs.take_while(|(one, other)| one == other).count()
}

/// Whether no word or number goes on at the ends of a part.
pub(super) fn is_apart(text: &str, from: usize, to: usize) -> bool {
    let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let (inner, before, after) = (&text[from..to], &text[..from], &text[to..]);
    let goes_back = is_word(before.chars().next_back()) && is_word(inner.chars().next());
    let goes_on = is_word(after.chars().next()) && is_word(inner.chars().next_back());
    !goes_back && !goes_on
}

/// Whether a part is more than a line or a run of spaces.
pub(super) fn is_telling(part: &[u8]) -> bool {
    let mut seen = [false; 256];
    let mut many = 0;
    for byte in part {
        if !std::mem::replace(&mut seen[*byte as usize], true) {
            many += 1;
            if many == MIN_DIFFERENT {
                return true;
            }
        }
    }
    false
}
