//! A text in the keys and texts of a value, in the value's order. Letters of ASCII are found in either case.

use serde_json::Value;

use crate::views::{PayloadHit, PayloadHits};

const MAX_HITS: usize = 100;
/// How many characters are shown on each side of a hit.
const AROUND: usize = 40;

struct Search<'t> {
    wanted: &'t str,
    /// Hits that were told already.
    skip: u64,
    found: Vec<PayloadHit>,
    path: String,
    places: Vec<u64>,
}

/// The places of a text from the hit with a number on.
pub(crate) fn find(value: &Value, text: &str, from: u64) -> PayloadHits {
    let wanted = text.to_ascii_lowercase();
    let (path, places) = (String::new(), Vec::new());
    let mut search = Search { wanted: &wanted, skip: from, found: Vec::new(), path, places };
    search.visit(value);
    let more = search.found.len() > MAX_HITS;
    search.found.truncate(MAX_HITS);
    PayloadHits { hits: search.found, more }
}

impl Search<'_> {
    fn is_full(&self) -> bool {
        self.found.len() > MAX_HITS
    }

    fn visit(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.look(text, false),
            Value::Array(list) => {
                for (at, one) in (0..).zip(list) {
                    self.enter(at, &at.to_string(), None, one);
                }
            }
            Value::Object(fields) => {
                for (at, (key, one)) in (0..).zip(fields) {
                    let step = key.replace('~', "~0").replace('/', "~1");
                    self.enter(at, &step, Some(key), one);
                }
            }
            Value::Null => {}
            other => self.look(&other.to_string(), false),
        }
    }

    fn enter(&mut self, at: u64, step: &str, key: Option<&str>, value: &Value) {
        if self.is_full() {
            return;
        }
        let length = self.path.len();
        self.path.push('/');
        self.path.push_str(step);
        self.places.push(at);
        if let Some(key) = key {
            self.look(key, true);
        }
        self.visit(value);
        self.places.pop();
        self.path.truncate(length);
    }

    fn look(&mut self, text: &str, is_key: bool) {
        let lower = text.to_ascii_lowercase();
        let (mut characters, mut counted) = (0, 0);
        for (at, _) in lower.match_indices(self.wanted) {
            if self.is_full() {
                return;
            }
            if self.skip > 0 {
                self.skip -= 1;
                continue;
            }
            characters += text[counted..at].chars().count() as u64;
            counted = at;
            let end = at + self.wanted.len();
            let back = text[..at].char_indices().rev().nth(AROUND - 1).map_or(0, |(at, _)| at);
            let on = text[end..].char_indices().nth(AROUND).map_or(text.len(), |(at, _)| end + at);
            self.found.push(PayloadHit {
                path: self.path.clone(),
                places: self.places.clone(),
                at: characters,
                is_key,
                around: text[back..on].to_owned(),
            });
        }
    }
}
