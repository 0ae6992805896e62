//! Which texts a run of events may hold, in a few bytes: a filter over every three letters in a row.
//!
//! A full text index was measured against this: it cost twenty times the write and doubled the
//! database. A filter only says where a text cannot be; what it lets through is read.

use engine::views::search::folded;

/// Numbers that three letters may have.
const TRIGRAMS: usize = 1 << 16;
/// A filter has two places for every number in it, at the least: it lets through one text in a hundred
/// that is not there, and fewer of the longer ones.
const SLOTS_PER_TRIGRAM: usize = 2;
const MIN_SLOTS: usize = 1 << 9;
/// With so many numbers a filter is as full as it may get.
const MAX_TRIGRAMS: usize = TRIGRAMS / 2 / SLOTS_PER_TRIGRAM;

/// Tells the numbers of every three letters in a row.
pub(crate) fn each_trigram(text: &str, mut tell: impl FnMut(u16)) {
    let mut letters = 0_u64;
    let mut seen = 0;
    let mut take = |letter: char| {
        // A letter has 21 bits.
        letters = (letters << 21 | u64::from(letter)) & ((1 << 63) - 1);
        seen += 1;
        if seen >= 3 {
            tell((letters.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16);
        }
    };
    if text.is_ascii() {
        text.bytes().for_each(|byte| take(char::from(byte.to_ascii_lowercase())))
    } else {
        folded(text).for_each(take)
    }
}

/// The numbers of every three letters in a row.
pub(crate) fn trigrams(text: &str) -> Vec<u16> {
    let mut found = Vec::with_capacity(text.len());
    each_trigram(text, |gram| found.push(gram));
    found
}

/// A set of such numbers.
#[derive(Debug)]
pub(crate) struct TrigramFilter {
    bits: Box<[u64; TRIGRAMS / 64]>,
    count: usize,
}

impl Default for TrigramFilter {
    fn default() -> Self {
        TrigramFilter { bits: Box::new([0; TRIGRAMS / 64]), count: 0 }
    }
}

impl TrigramFilter {
    pub(crate) fn add(&mut self, gram: u16) {
        let (word, bit) = (usize::from(gram) / 64, 1 << (gram % 64));
        self.count += usize::from(self.bits[word] & bit == 0);
        self.bits[word] |= bit;
    }

    /// Whether a filter of them would begin to let everything through.
    pub(crate) fn is_full(&self) -> bool {
        self.count >= MAX_TRIGRAMS
    }

    /// The numbers, each once.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u16> {
        let ones = |(word, bits): (usize, &u64)| {
            let bits = *bits;
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| (word * 64 + bit) as u16)
        };
        self.bits.iter().enumerate().filter(|(_, bits)| **bits != 0).flat_map(ones)
    }

    /// The filter: half is laid over half while there is room.
    pub(crate) fn filter(&self) -> Vec<u8> {
        let places = (self.count * SLOTS_PER_TRIGRAM).next_power_of_two().clamp(MIN_SLOTS, TRIGRAMS);
        let mut filter = vec![0_u8; places / 8];
        for gram in self.iter() {
            let place = usize::from(gram) % places;
            filter[place / 8] |= 1 << (place % 8);
        }
        filter
    }
}

/// Whether every one of these numbers may be in what a filter was made of. A filter of no right length
/// keeps nothing out.
pub(crate) fn may_hold(filter: &[u8], trigrams: &[u16]) -> bool {
    let places = filter.len() * 8;
    let holds = |gram: &u16| {
        let place = usize::from(*gram) % places;
        filter[place / 8] >> (place % 8) & 1 == 1
    };
    !places.is_power_of_two() || trigrams.iter().all(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_holds_what_went_in_and_little_else() {
        for words in [1, 20, 400, 3_000] {
            let mut set = TrigramFilter::default();
            let word = |n: usize| -> String {
                let mixed = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                (0..10).map(|at| char::from(b'a' + (mixed / 26_usize.pow(at) % 26) as u8)).collect()
            };
            (0..words).for_each(|n| each_trigram(&word(n), |gram| set.add(gram)));
            let filter = set.filter();
            let wanted = |n: usize| trigrams(&word(n).to_uppercase());
            assert!((0..words).all(|n| may_hold(&filter, &wanted(n))));
            if words <= 400 {
                let wrong = (10_000..11_000).filter(|n| may_hold(&filter, &wanted(*n))).count();
                assert!(wrong < 20, "{wrong} of 1000 let through by {} bytes for {words} words", filter.len());
            }
            assert_eq!(set.iter().count(), set.count);
        }
    }

    #[test]
    fn short_texts_have_no_grams() {
        assert!(trigrams("ab").is_empty());
        assert_eq!(trigrams("über"), trigrams("ÜBER"));
        assert_eq!(trigrams("über").len(), 2);
    }
}
