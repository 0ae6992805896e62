//! Names of blocks as numbers: a request has few names and many blocks.

use std::sync::Arc;

use rustc_hash::FxHashMap;

/// The number of a name, among those of one [`Names`].
pub type NameNumber = u32;

/// See the module. Numbers are given in the order in which names are first seen.
#[derive(Clone, Debug, Default)]
pub struct Names {
    texts: Vec<Arc<str>>,
    numbers: FxHashMap<Arc<str>, NameNumber>,
}

impl Names {
    /// The number of a name.
    pub fn number(&mut self, name: &str) -> NameNumber {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let (number, text) = (self.texts.len() as NameNumber, Arc::from(name));
        self.texts.push(Arc::clone(&text));
        self.numbers.insert(text, number);
        number
    }

    /// The number that a name was given, if it was.
    pub fn find(&self, name: &str) -> Option<NameNumber> {
        self.numbers.get(name).copied()
    }

    /// The name of a number. It must have been given here.
    pub fn text(&self, number: NameNumber) -> &Arc<str> {
        &self.texts[number as usize]
    }
}
