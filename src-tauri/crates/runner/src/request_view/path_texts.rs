//! The paths of spans, for filters that look at them: each as what it adds to its parent's, in one buffer.
//!
//! Read when first asked for, and then for what is new.

use engine::views::spans::{SpanIndex, Spans};

use super::Source;
use crate::core::fault::Fault;

/// How many texts are read at once.
const AT_ONCE: usize = 4_096;

/// See the module.
#[derive(Default)]
pub(super) struct PathTexts {
    text: String,
    /// Where each span's part ends.
    ends: Vec<u32>,
}

impl PathTexts {
    /// Reads the paths of all spans that are not known yet.
    pub(super) fn extend(&mut self, spans: &Spans, source: &impl Source) -> Result<(), Fault> {
        let mut known = self.ends.len();
        while known < spans.len() {
            let next = spans.len().min(known + AT_ONCE);
            let numbers: Vec<_> = (known..next).map(|index| spans.get(index as SpanIndex).path).collect();
            for text in source.path_texts(&numbers)? {
                let index = self.ends.len() as SpanIndex;
                let around = spans.get(index).parent().map_or(0, |parent| self.length(spans, parent));
                // A path that does not begin with its parent's is kept whole, after a mark that no path has.
                match text.get(around..).filter(|_| around > 0 && self.is_below(spans, index, &text, around)) {
                    Some(rest) => self.text.push_str(rest),
                    None => {
                        self.text.push('\0');
                        self.text.push_str(&text);
                    }
                }
                self.ends.push(self.text.len() as u32);
            }
            known = next;
        }
        Ok(())
    }

    fn is_below(&self, spans: &Spans, index: SpanIndex, text: &str, around: usize) -> bool {
        let mut path = String::with_capacity(around);
        if let Some(parent) = spans.get(index).parent() {
            self.write(spans, parent, &mut path);
        }
        text.as_bytes().get(around) == Some(&b'/') && text.starts_with(&path)
    }

    fn part(&self, index: SpanIndex) -> &str {
        let index = index as usize;
        let from = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[from as usize..self.ends[index] as usize]
    }

    fn length(&self, spans: &Spans, index: SpanIndex) -> usize {
        let (mut length, mut next) = (0, Some(index));
        while let Some(index) = next {
            let part = self.part(index);
            if let Some(whole) = part.strip_prefix('\0') {
                return length + whole.len();
            }
            length += part.len();
            next = spans.get(index).parent();
        }
        length
    }

    /// Writes the path of a span behind a text.
    pub(super) fn write(&self, spans: &Spans, index: SpanIndex, text: &mut String) {
        let part = self.part(index);
        match (part.strip_prefix('\0'), spans.get(index).parent()) {
            (Some(whole), _) => text.push_str(whole),
            (None, Some(parent)) => {
                self.write(spans, parent, text);
                text.push_str(part);
            }
            (None, None) => text.push_str(part),
        }
    }
}
