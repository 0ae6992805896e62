//! Looking for the next row that fits a text, also where it is folded away.

use super::filter::Filter;
use super::{RequestView, Source};
use crate::core::fault::Fault;
use crate::views::{Filtered, FindQuery, FoundRow};
use engine::views::spans::SpanIndex;

use super::bits::Bits;
use super::tree::GROUP;

impl RequestView {
    /// Shows only what fits, and what is around it; everything where the text is empty.
    pub(crate) fn filter(&mut self, source: &impl Source, text: &str) -> Result<Filtered, Fault> {
        let filter = Filter::parse(text)?;
        self.filter = filter;
        self.refilter(source)?;
        Ok(Filtered { rows: self.row_count(), matches: self.tree.match_count() })
    }

    fn refilter(&mut self, source: &impl Source) -> Result<(), Fault> {
        let Some(mut filter) = self.filter.take() else {
            self.tree.filter(None);
            return Ok(());
        };
        let mut matches = Bits::default();
        let result = self.prepare(source, &mut filter);
        if result.is_ok() {
            for index in 0..self.tree.len() {
                if filter.fits(self, index) {
                    matches.set(index, true);
                }
            }
            self.tree.filter(Some(matches));
            self.filter = Some(filter);
        } else {
            self.tree.filter(None);
        }
        result
    }

    /// Reads what a filter looks at beside the spans.
    fn prepare(&mut self, source: &impl Source, filter: &mut Filter) -> Result<(), Fault> {
        if filter.reads_paths() {
            self.paths.extend(&self.spans, source)?;
        }
        filter.read_writes(self, source)
    }

    /// Looks again whether the filter fits spans that began, or ended.
    pub(super) fn filter_fresh(&mut self, source: &impl Source, fresh: &[SpanIndex]) -> Result<(), Fault> {
        let Some(mut filter) = self.filter.take().filter(|_| !fresh.is_empty()) else { return Ok(()) };
        let result = self.prepare(source, &mut filter);
        if result.is_ok() {
            for index in fresh {
                let fits = filter.fits(self, *index);
                if self.tree.set_match(*index, fits) {
                    // Rows may have come or gone anywhere.
                    self.changed = None;
                }
            }
        }
        self.filter = Some(filter);
        result
    }

    /// The next row that fits a text, in the language of the filter. Unfolds what is around it.
    pub(crate) fn find(&mut self, source: &impl Source, query: &FindQuery) -> Result<Option<FoundRow>, Fault> {
        let Some(mut filter) = Filter::parse(&query.text)? else { return Ok(None) };
        self.prepare(source, &mut filter)?;
        let row = query.from.map(|row| u32::try_from(row).unwrap_or(u32::MAX));
        let mut node = match row.map(|row| self.tree.at(row)) {
            // Past the last row.
            Some(None) if !query.backwards => return Ok(None),
            Some(found) => found.map(|(node, _)| node),
            None => None,
        };
        loop {
            node = if query.backwards { self.tree.before(node) } else { self.tree.after(node) };
            let Some(node) = node else { return Ok(None) };
            if node & GROUP == 0 && self.tree.weight(node) > 0 && filter.fits(self, node) {
                return Ok(self.reveal(node));
            }
        }
    }
}
