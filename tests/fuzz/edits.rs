//! Changes of a text that was good: what stood in it stands elsewhere, twice, a thousand times, in another's place, or
//! not at all.

use proptest::prelude::*;

/// One change. Places are fractions of the text, so that they mean something in any.
#[derive(Clone, Debug)]
pub(crate) enum Edit {
    /// Takes a piece out.
    Delete(u16, u8),
    /// Says a piece again, so many times.
    Repeat(u16, u8, u16),
    /// Puts something in.
    Insert(u16, Vec<u8>),
    /// Puts something in a piece's place.
    Replace(u16, u8, Vec<u8>),
    /// Puts a piece in another place, too.
    Copy(u16, u8, u16),
    /// Puts a piece in so many brackets.
    Nest(u16, u8, u8, u16),
    /// Turns a bit.
    Flip(u16, u8),
    /// Ends the text there.
    Cut(u16),
}

/// What a piece is put in, and how deep what comes of it is for each.
const AROUND: [(&str, &str); 8] = [
    ("(", ")"),
    ("[", "]"),
    ("{", "}"),
    ("`${", "}`"),
    ("{\"a\":", "}"),
    ("((x) => ", ")"),
    ("[...", "]"),
    ("(1 ? ", " : 0)"),
];

/// Changes that put in one of some words, a hostile text or any.
pub(crate) fn edit(words: &'static [&'static str]) -> BoxedStrategy<Edit> {
    let times = || prop_oneof![8 => 0..20_u16, 2 => 20..2_000_u16, 1 => 2_000..20_000_u16];
    prop_oneof![
        4 => (any::<u16>(), any::<u8>()).prop_map(|(at, long)| Edit::Delete(at, long)),
        2 => (any::<u16>(), any::<u8>(), times()).prop_map(|(at, long, times)| Edit::Repeat(at, long, times)),
        4 => (any::<u16>(), word(words)).prop_map(|(at, with)| Edit::Insert(at, with)),
        6 => (any::<u16>(), any::<u8>(), word(words)).prop_map(|(at, long, with)| Edit::Replace(at, long, with)),
        3 => (any::<u16>(), any::<u8>(), any::<u16>()).prop_map(|(at, long, to)| Edit::Copy(at, long, to)),
        1 => (any::<u16>(), any::<u8>(), any::<u8>(), times())
            .prop_map(|(at, long, what, times)| Edit::Nest(at, long, what, times)),
        2 => (any::<u16>(), any::<u8>()).prop_map(|(at, bit)| Edit::Flip(at, bit)),
        1 => any::<u16>().prop_map(Edit::Cut),
    ]
    .boxed()
}

/// Something to put in.
pub(crate) fn word(words: &'static [&'static str]) -> BoxedStrategy<Vec<u8>> {
    prop_oneof![
        6 => proptest::sample::select(words).prop_map(|word| word.as_bytes().to_vec()),
        2 => hostile_text().prop_map(String::into_bytes),
        1 => proptest::collection::vec(any::<u8>(), 0..8),
    ]
    .boxed()
}

/// Texts that something may stumble over.
pub(crate) fn hostile_text() -> BoxedStrategy<String> {
    const TEXTS: [&str; 40] = [
        "",
        " ",
        "\u{0}",
        "\n",
        "\r\n",
        "\u{2028}",
        "\u{feff}",
        "\u{202e}",
        "\u{1b}[2J",
        "\u{9b}",
        "😀",
        "e\u{301}",
        "\u{d7ff}\u{e000}",
        "\u{10ffff}",
        "İ",
        "ß",
        "ǅ",
        "'",
        "\"",
        "\\",
        "`",
        "%",
        "%00",
        "_",
        "*",
        "?",
        "[",
        "]",
        ":",
        "/",
        "..",
        "../../../../etc/passwd",
        "~",
        "__proto__",
        "constructor",
        "-1",
        "18446744073709551616",
        "1e999",
        "NaN",
        "null",
    ];
    prop_oneof![
        4 => proptest::sample::select(&TEXTS[..]).prop_map(str::to_owned),
        2 => ".{0,12}",
        2 => proptest::collection::vec(any::<char>(), 0..12).prop_map(|letters| letters.into_iter().collect()),
        1 => (proptest::sample::select(&TEXTS[..]), prop_oneof![3 => 0..200_usize, 1 => 0..20_000_usize])
            .prop_map(|(text, times)| text.repeat(times)),
    ]
    .boxed()
}

/// The text after these changes.
pub(crate) fn edited(text: &[u8], edits: &[Edit]) -> Vec<u8> {
    /// However often a piece is repeated, the text stays one that is made in no time.
    const LONGEST: usize = 4 << 20;
    let mut text = text.to_vec();
    for edit in edits {
        let at = |fraction: u16| usize::from(fraction) * (text.len() + 1) / 65_536;
        match edit {
            Edit::Delete(from, long) => drop(text.drain(piece(&text, at(*from), *long))),
            Edit::Repeat(from, long, times) => {
                let piece = piece(&text, at(*from), *long);
                let times = usize::from(*times).min(LONGEST / piece.len().max(1));
                let again = text[piece.clone()].repeat(times);
                drop(text.splice(piece.end..piece.end, again));
            }
            Edit::Insert(to, with) => {
                let to = piece(&text, at(*to), 0).start;
                drop(text.splice(to..to, with.iter().copied()));
            }
            Edit::Replace(from, long, with) => {
                let piece = piece(&text, at(*from), *long);
                drop(text.splice(piece, with.iter().copied()));
            }
            Edit::Copy(from, long, to) => {
                let to = piece(&text, at(*to), 0).start;
                let copy = text[piece(&text, at(*from), *long)].to_vec();
                drop(text.splice(to..to, copy));
            }
            Edit::Nest(from, long, what, times) => {
                let piece = piece(&text, at(*from), *long);
                let (open, close) = AROUND[usize::from(*what) % AROUND.len()];
                let close = close.repeat(usize::from(*times)).into_bytes();
                drop(text.splice(piece.end..piece.end, close));
                drop(text.splice(piece.start..piece.start, open.repeat(usize::from(*times)).into_bytes()));
            }
            Edit::Flip(from, bit) => {
                let from = at(*from).min(text.len().saturating_sub(1));
                if let Some(byte) = text.get_mut(from) {
                    *byte ^= 1 << (bit % 8);
                }
            }
            Edit::Cut(from) => text.truncate(at(*from)),
        }
        text.truncate(LONGEST);
    }
    text
}

/// Some tokens of a text from about a place on: one, a few, or a long piece.
fn piece(text: &[u8], at: usize, long: u8) -> std::ops::Range<usize> {
    let is_word =
        |at: usize| text.get(at).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80);
    let mut start = at.min(text.len());
    while start > 0 && is_word(start - 1) && is_word(start) {
        start -= 1;
    }
    let tokens = match long {
        0..192 => long % 4 + 1,
        _ => long,
    };
    let mut end = start;
    for _ in 0..tokens {
        end = (end + 1).min(text.len());
        while end < text.len() && is_word(end - 1) && is_word(end) {
            end += 1;
        }
    }
    start..end
}

/// Texts that are made from good ones by a few changes.
pub(crate) fn mutated(seeds: Vec<Vec<u8>>, words: &'static [&'static str], most: usize) -> BoxedStrategy<Vec<u8>> {
    (proptest::sample::select(seeds), proptest::collection::vec(edit(words), 1..=most))
        .prop_map(|(seed, edits)| edited(&seed, &edits))
        .boxed()
}
