//! A Bloom filter (with one hash function) over the trigrams of texts: every three consecutive characters.
//!
//! In a measurement, a full-text index cost twenty times as much to write and doubled the size of the database. A
//! filter has no false negatives; the events that pass it are read and compared.

use engine::views::search::Needle;

/// How many different values the hash of a trigram has.
const TRIGRAMS: usize = 1 << 16;
/// A filter has at least two bits for every trigram in it. About one in a hundred absent texts passes, and fewer long
/// ones.
const SLOTS_PER_TRIGRAM: usize = 2;
const MIN_SLOTS: usize = 1 << 9;
/// The number of trigrams at which a filter of the largest size is full.
const MAX_TRIGRAMS: usize = TRIGRAMS / 2 / SLOTS_PER_TRIGRAM;

/// Calls `emit` with the hash of each trigram of a text, whatever its case.
pub(crate) fn each_trigram(text: &str, mut emit: impl FnMut(u16)) {
    let mut letters = 0_u64;
    let mut count = 0;
    let mut take = |letter: char| {
        // A `char` has 21 bits.
        letters = (letters << 21 | u64::from(letter)) & ((1 << 63) - 1);
        count += 1;
        if count >= 3 {
            emit((letters.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as u16);
        }
    };
    if text.is_ascii() {
        text.bytes().for_each(|byte| take(char::from(byte.to_ascii_lowercase())))
    } else {
        // Stored filters keep a final sigma apart from other sigmas; see `trigrams_of_needle`.
        text.chars().flat_map(char::to_lowercase).for_each(take)
    }
}

/// The hashes of the trigrams that every text with the needle has. A sigma may be a final one there, which has another
/// hash, so trigrams with a sigma are left out.
pub(crate) fn trigrams_of_needle(needle: &Needle) -> Vec<u16> {
    let mut found = Vec::new();
    needle.as_str().split('σ').for_each(|part| each_trigram(part, |trigram| found.push(trigram)));
    found
}

/// The hashes of the trigrams of a text, in order and with repetitions.
#[cfg(test)]
fn trigrams(text: &str) -> Vec<u16> {
    let mut found = Vec::with_capacity(text.len());
    each_trigram(text, |trigram| found.push(trigram));
    found
}

/// A set of hashes of trigrams.
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
    pub(crate) fn add(&mut self, trigram: u16) {
        let (word, bit) = (usize::from(trigram) / 64, 1 << (trigram % 64));
        self.count += usize::from(self.bits[word] & bit == 0);
        self.bits[word] |= bit;
    }

    /// Whether a filter with more trigrams would have too many false positives.
    pub(crate) fn is_full(&self) -> bool {
        self.count >= MAX_TRIGRAMS
    }

    /// The hashes, each once.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u16> {
        let ones = |(word, bits): (usize, &u64)| {
            let bits = *bits;
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| (word * 64 + bit) as u16)
        };
        self.bits.iter().enumerate().filter(|(_, bits)| **bits != 0).flat_map(ones)
    }

    /// The filter as stored: the set folded to the smallest power of two with enough bits (slot = hash modulo size).
    pub(crate) fn filter(&self) -> Vec<u8> {
        let slots = (self.count * SLOTS_PER_TRIGRAM).next_power_of_two().clamp(MIN_SLOTS, TRIGRAMS);
        let mut filter = vec![0_u8; slots / 8];
        for trigram in self.iter() {
            let slot = usize::from(trigram) % slots;
            filter[slot / 8] |= 1 << (slot % 8);
        }
        filter
    }
}

/// Whether a filter may contain all of these hashes. A filter whose length is not a power of two is damaged; all hashes
/// pass it.
pub(crate) fn may_hold(filter: &[u8], trigrams: &[u16]) -> bool {
    let slots = filter.len() * 8;
    let holds = |trigram: &u16| {
        let slot = usize::from(*trigram) % slots;
        filter[slot / 8] >> (slot % 8) & 1 == 1
    };
    !slots.is_power_of_two() || trigrams.iter().all(holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_has_no_false_negatives_and_few_false_positives() {
        for words in [1, 20, 400, 3_000] {
            let mut set = TrigramFilter::default();
            let word = |n: usize| -> String {
                let mixed = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                (0..10).map(|at| char::from(b'a' + (mixed / 26_usize.pow(at) % 26) as u8)).collect()
            };
            (0..words).for_each(|n| each_trigram(&word(n), |trigram| set.add(trigram)));
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
    fn texts_of_two_characters_have_no_trigrams_and_case_is_ignored() {
        assert!(trigrams("ab").is_empty());
        assert_eq!(trigrams("über"), trigrams("ÜBER"));
        assert_eq!(trigrams("über").len(), 2);
    }

    #[test]
    fn a_needle_passes_the_filter_of_each_text_that_has_it() {
        for text in ["Ο δρόμος ΟΔΟΣ", "ο δρόμοσ οδοσ", "ο δρόμος οδος"] {
            let mut set = TrigramFilter::default();
            each_trigram(text, |trigram| set.add(trigram));
            for needle in ["δρόμος", "οδοΣ", "Σ ο", "οδοσ"].map(Needle::new) {
                assert!(!needle.is_in(text) || may_hold(&set.filter(), &trigrams_of_needle(&needle)), "{text}");
            }
        }
    }
}
