//! The contents of a request's recorded values, found by their text or by their hash.
//!
//! Each text is kept once, in the order in which the log first has it, with all its uses. So the work and the memory
//! grow with the bytes of the log, and what was recorded before an instant is a prefix. Must not know what an event
//! is, nor which use of a value is its cause.

use std::hash::Hasher;

use rustc_hash::{FxHashMap, FxHasher};
use serde_json::Value;

use super::grams::{Grams, WINDOW};

/// Shorter values are too common to be found by their content.
pub(super) const MIN_BYTES: usize = 8;
/// No more bytes of texts are indexed.
const MAX_BYTES: usize = 1 << 30;
/// The number of the value as a whole, as compact JSON.
pub(super) const AS_JSON: u32 = u32::MAX;
const NONE: u32 = u32::MAX;

/// A text that the log has.
#[derive(Clone, Copy, Debug)]
struct Text {
    start: u32,
    len: u32,
    /// The first record that has it.
    first: u32,
    /// Another text with the same hash.
    next: u32,
    /// Whether it is a value as compact JSON, and no text of a value.
    is_json: bool,
}

/// Where a value is: a record, and the number of the value in it, in the order of its JSON, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) record: u32,
    pub(super) node: u32,
}

/// Indexed values; records are added in their order.
#[derive(Debug, Default)]
pub(super) struct Index {
    bytes: String,
    texts: Vec<Text>,
    by_hash: FxHashMap<u64, u32>,
    /// The uses of texts as they came, then sorted by text.
    uses: Vec<(u32, Use)>,
    /// Where the uses of each text begin.
    offsets: Vec<u32>,
    /// The uses of numbers, lists and objects, by hash and then record.
    values: Vec<(u64, Use)>,
    grams: Grams,
    /// Of values as compact JSON, apart from the texts in them: they would be too many to compare.
    json_grams: Grams,
    /// The first window of each text.
    beginnings: Grams,
    /// Whether texts were left out, because there are too many bytes of them.
    pub(super) is_cut: bool,
    /// How many bytes were read, and how many entries were made: what a test counts.
    pub(super) work: u64,
}

impl Index {
    /// Adds the values of a record. `with_json` adds a list or an object as compact JSON, too.
    pub(super) fn add(&mut self, record: u32, value: &Value, with_json: bool) {
        self.walk(record, value, &mut 0);
        if with_json && (value.is_array() || value.is_object()) {
            let json = value.to_string();
            if json.len() >= MIN_BYTES {
                self.work += json.len() as u64;
                self.add_text(hash_of(json.as_bytes()), &json, Use { record, node: AS_JSON });
            }
        }
    }

    /// Ends the additions.
    pub(super) fn finish(&mut self) {
        let mut counts = vec![0_u32; self.texts.len() + 1];
        for (text, _) in &self.uses {
            counts[*text as usize + 1] += 1;
        }
        for at in 1..counts.len() {
            counts[at] += counts[at - 1];
        }
        self.offsets = counts;
        // Stable, so that the uses of a text stay in the order of their records.
        self.uses.sort_by_key(|(text, _)| *text);
        self.values.sort_by_key(|(hash, one)| (*hash, one.record));
        self.work += (self.uses.len() + self.values.len()) as u64;
        let texts = |is_json: bool| self.texts.iter().filter(move |text| text.is_json == is_json);
        let whole = |text: &Text| (text.start, text.len);
        self.grams = Grams::new(self.bytes.as_bytes(), texts(false).map(whole));
        self.json_grams = Grams::new(self.bytes.as_bytes(), texts(true).map(whole));
        let first = self.texts.iter().filter(|text| text.len as usize >= WINDOW);
        self.beginnings = Grams::new(self.bytes.as_bytes(), first.map(|text| (text.start, WINDOW as u32)));
        self.work += (self.grams.len() + self.json_grams.len() + self.beginnings.len()) as u64;
    }

    /// Returns the hash of a value and its length as compact JSON, roughly.
    fn walk(&mut self, record: u32, value: &Value, next: &mut u32) -> (u64, usize) {
        let here = Use { record, node: *next };
        *next += 1;
        let (hash, len) = match value {
            Value::String(text) => {
                let hash = hash_of(text.as_bytes());
                self.work += text.len() as u64;
                if text.len() >= MIN_BYTES {
                    self.add_text(hash, text, here);
                }
                return (mix(hash, 1), text.len() + 2);
            }
            Value::Array(items) => items.iter().fold((mix(items.len() as u64, 2), 2), |(hash, len), item| {
                let (inner, bytes) = self.walk(record, item, next);
                (mix(hash, inner), len + bytes + 1)
            }),
            Value::Object(fields) => {
                // The order of the keys does not count.
                fields.iter().fold((mix(fields.len() as u64, 3), 2), |(hash, len), (key, item)| {
                    let (inner, bytes) = self.walk(record, item, next);
                    (hash.wrapping_add(mix(hash_of(key.as_bytes()), inner)), len + key.len() + bytes + 4)
                })
            }
            scalar => {
                let text = scalar.to_string();
                let hash = hash_of(text.as_bytes());
                // A text may have the digits of a number.
                if text.len() >= MIN_BYTES {
                    self.add_text(hash, &text, here);
                }
                (mix(hash, 4), text.len())
            }
        };
        self.work += 1;
        if len >= MIN_BYTES {
            self.values.push((hash, here));
        }
        (hash, len)
    }

    fn add_text(&mut self, hash: u64, text: &str, here: Use) {
        let known = self.known(hash, text);
        let id = match known {
            Some(id) => id,
            None => {
                if self.bytes.len() + text.len() > MAX_BYTES {
                    self.is_cut = true;
                    return;
                }
                // Both fit, because there are at most MAX_BYTES of them.
                let (start, len) = (self.bytes.len() as u32, text.len() as u32);
                let id = self.texts.len() as u32;
                let next = self.by_hash.insert(hash, id).unwrap_or(NONE);
                self.texts.push(Text { start, len, first: here.record, next, is_json: true });
                self.bytes.push_str(text);
                id
            }
        };
        self.texts[id as usize].is_json &= here.node == AS_JSON;
        self.uses.push((id, here));
    }

    fn known(&self, hash: u64, text: &str) -> Option<u32> {
        let mut id = *self.by_hash.get(&hash)?;
        while id != NONE {
            if self.text(id) == text {
                return Some(id);
            }
            id = self.texts[id as usize].next;
        }
        None
    }

    /// The number of a text that is there as a whole.
    pub(super) fn find_text(&self, text: &str) -> Option<u32> {
        if text.len() < MIN_BYTES { None } else { self.known(hash_of(text.as_bytes()), text) }
    }

    /// A text by its number.
    pub(super) fn text(&self, id: u32) -> &str {
        let text = &self.texts[id as usize];
        &self.bytes[text.start as usize..(text.start + text.len) as usize]
    }

    /// The uses of a text in the records before one, oldest first.
    pub(super) fn uses(&self, id: u32, before: u32) -> &[(u32, Use)] {
        let id = id as usize;
        let uses = &self.uses[self.offsets[id] as usize..self.offsets[id + 1] as usize];
        &uses[..uses.partition_point(|(_, one)| one.record < before)]
    }

    /// The uses of values with the hash of this one in the records before one, oldest first. The caller compares them.
    pub(super) fn find_value(&self, value: &Value, before: u32) -> &[(u64, Use)] {
        // A value is hashed as it was when it was added.
        let mut other = Index::default();
        let (hash, len) = other.walk(0, value, &mut 0);
        if len < MIN_BYTES {
            return &[];
        }
        let from = self.values.partition_point(|(one, _)| *one < hash);
        let to = from + self.values[from..].partition_point(|(one, place)| *one == hash && place.record < before);
        &self.values[from..to]
    }

    /// Where texts of the records before one end in the bytes of all texts.
    pub(super) fn end_of(&self, before: u32) -> u32 {
        let many = self.texts.partition_point(|text| text.first < before);
        self.texts.get(many).map_or(self.bytes.len() as u32, |text| text.start)
    }

    /// At most `most` places in the bytes of all texts that begin like `window`, newest first, and then as many in
    /// values as compact JSON.
    pub(super) fn like(&self, window: &[u8], end: u32, most: usize) -> impl Iterator<Item = u32> + '_ {
        let texts = self.grams.like(window, end).take(most);
        texts.chain(self.json_grams.like(window, end).take(most))
    }

    /// The places in the bytes of all texts where a text begins, and begins like `window`, newest first.
    pub(super) fn beginning_like(&self, window: &[u8], end: u32) -> impl Iterator<Item = u32> + '_ {
        self.beginnings.like(window, end)
    }

    /// The text that a place in the bytes of all texts is in, and the offset there.
    pub(super) fn text_at(&self, place: u32) -> (u32, usize) {
        let id = self.texts.partition_point(|text| text.start <= place) - 1;
        (id as u32, (place - self.texts[id].start) as usize)
    }
}

/// Whether a value is too short, and too common, to be found by its content.
pub(super) fn is_short(value: &Value) -> bool {
    match value {
        Value::String(text) => text.len() < MIN_BYTES,
        value => length(value, MIN_BYTES) < MIN_BYTES,
    }
}

/// The length of a value as compact JSON, roughly; no more of it is read than `most` bytes.
fn length(value: &Value, most: usize) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        Value::Array(items) => {
            let mut len = 2;
            for item in items {
                if len >= most {
                    break;
                }
                len += 1 + length(item, most - len);
            }
            len
        }
        Value::Object(fields) => {
            let mut len = 2;
            for (key, item) in fields {
                if len >= most {
                    break;
                }
                len += 4 + key.len() + length(item, most - len);
            }
            len
        }
        scalar => scalar.to_string().len(),
    }
}

fn hash_of(bytes: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(bytes);
    hasher.finish()
}

fn mix(one: u64, other: u64) -> u64 {
    let mixed = (one ^ other.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ (mixed >> 29)
}
