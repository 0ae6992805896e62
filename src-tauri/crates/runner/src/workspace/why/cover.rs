//! Which parts of a text earlier texts contain: the longest ones, from its beginning to its end, without overlaps.
//!
//! At each byte that no part covers yet, the newest texts that have the next eight bytes in common are extended both
//! ways, and the longest common part is kept. A part is passed over as a whole, so the work is linear in the text.
//! Must not know where the texts were recorded: the caller ranks them.

use rustc_hash::FxHashMap;

use super::grams::WINDOW;
use super::index::{Index, MIN_BYTES};

/// A part of a text has at least so many bytes; a whole one may be shorter.
pub(super) const MIN_PART: usize = 20;
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
}

/// How good an earlier text is as the cause: the better one is greater.
pub(super) type Rank = (u8, u64);

/// What is known of an earlier text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ranked {
    pub(super) rank: Rank,
    /// Its parts count from so many bytes on.
    pub(super) least: usize,
}

/// Returns the parts of a text that texts of the records before one contain, in their order, and adds the bytes that
/// were compared to `work`. `rank` says of a text how good it is; `None` if it does not count.
pub(super) fn cover(
    index: &Index,
    text: &str,
    before: u32,
    work: &mut u64,
    mut rank: impl FnMut(u32) -> Option<Ranked>,
) -> Vec<Piece> {
    let bytes = text.as_bytes();
    let end = index.end_of(before);
    let mut known: FxHashMap<u32, Option<Ranked>> = FxHashMap::default();
    let mut pieces: Vec<Piece> = Vec::new();
    let mut at = 0;
    while at + WINDOW <= bytes.len() {
        *work += 1;
        let last = pieces.last().copied();
        // A part may replace the last one, not those before it.
        let floor = pieces.len().checked_sub(2).map_or(0, |before| pieces[before].to);
        let mut best: Option<(usize, Rank, Piece)> = None;
        // A run of spaces is passed over as a whole, too, or else each of its bytes would be compared to its end.
        let mut passed = at + 1;
        for place in index.like(&bytes[at..at + WINDOW], end).take(MAX_COMPARED) {
            let (id, offset) = index.text_at(place);
            let source = index.text(id).as_bytes();
            *work += 1;
            if source[offset..offset + WINDOW] != bytes[at..at + WINDOW] {
                continue;
            }
            let Some(ranked) = *known.entry(id).or_insert_with(|| rank(id)) else { continue };
            let ahead = alike(bytes[at + WINDOW..].iter().zip(&source[offset + WINDOW..]));
            let most = MAX_BACK * (WINDOW + ahead);
            let back = alike(bytes[floor..at].iter().rev().zip(source[..offset].iter().rev()).take(most));
            *work += (ahead + back) as u64;
            let piece = fitted(text, at - back, at + WINDOW + ahead, offset - back, last);
            let Some(piece) = piece.map(|(from, to, at)| Piece { from, to, text: id, at }) else { continue };
            let len = piece.to - piece.from;
            let is_whole = len == source.len() && len >= MIN_BYTES && is_apart(text, &piece);
            if !(len >= ranked.least || is_whole) {
                continue;
            }
            if !is_telling(&bytes[piece.from..piece.to]) {
                passed = passed.max(piece.to);
                continue;
            }
            if best.as_ref().is_none_or(|(longest, rank, _)| (len, ranked.rank) > (*longest, *rank)) {
                best = Some((len, ranked.rank, piece));
            }
        }
        let Some((.., piece)) = best else {
            at = passed;
            continue;
        };
        if last.is_some_and(|last| piece.from <= last.from) {
            pieces.pop();
        }
        at = piece.to;
        pieces.push(piece);
    }
    pieces
}

fn alike<'b>(pairs: impl Iterator<Item = (&'b u8, &'b u8)>) -> usize {
    pairs.take_while(|(one, other)| one == other).count()
}

/// A part between whole characters that does not overlap with the last part, unless it covers all of that.
fn fitted(text: &str, from: usize, to: usize, at: usize, last: Option<Piece>) -> Option<(usize, usize, usize)> {
    let mut first = from;
    if let Some(last) = last.filter(|last| last.from < from) {
        first = first.max(last.to);
    }
    let mut to = to;
    while first < to && !text.is_char_boundary(first) {
        first += 1;
    }
    while to > first && !text.is_char_boundary(to) {
        to -= 1;
    }
    (first < to).then_some((first, to, at + (first - from)))
}

/// Whether no word or number goes on at the ends of a part.
fn is_apart(text: &str, part: &Piece) -> bool {
    let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let (inner, before, after) = (&text[part.from..part.to], &text[..part.from], &text[part.to..]);
    let goes_back = is_word(before.chars().next_back()) && is_word(inner.chars().next());
    let goes_on = is_word(after.chars().next()) && is_word(inner.chars().next_back());
    !goes_back && !goes_on
}

/// Whether a part is more than a line or a run of spaces.
fn is_telling(part: &[u8]) -> bool {
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
