//! Looking for rows: the next that fits a text, also where it is folded away, and that of a block.

use engine::identity::InstanceId;
use engine::views::spans::SpanIndex;

use super::bits::Bits;
use super::filter::Filter;
use super::tree::GROUP;
use super::{RequestView, Source};
use crate::core::fault::Fault;
use crate::views::{BlockQuery, Filtered, FindQuery, FoundRow, ViewRow};

/// More blocks than this are not asked for by name.
const MOST_BLOCKS: usize = 200;

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
        filter.read_log(self, source)
    }

    /// As [`prepare`](Self::prepare), for a filter that is set. Answers which spans it may fit since.
    fn prepare_again(&mut self, source: &impl Source, filter: &mut Filter) -> Result<Vec<SpanIndex>, Fault> {
        if filter.reads_paths() {
            self.paths.extend(&self.spans, source)?;
        }
        filter.read_log_again(self, source)
    }

    /// Looks again whether the filter fits spans that began, ended, or did something.
    pub(super) fn filter_fresh(&mut self, source: &impl Source, fresh: &[SpanIndex]) -> Result<(), Fault> {
        let Some(mut filter) = self.filter.take_if(|_| !fresh.is_empty()) else { return Ok(()) };
        let result = self.prepare_again(source, &mut filter).map(|wrote| {
            for index in fresh.iter().chain(&wrote) {
                let fits = filter.fits(self, *index);
                if self.tree.set_match(*index, fits) {
                    // Rows may have come or gone anywhere.
                    self.changed = None;
                }
            }
        });
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
                return self.reveal(source, node);
            }
        }
    }

    /// The row of an execution, after what is around it was unfolded. None where there is no such execution, or where
    /// the filter leaves it out.
    pub(crate) fn row_of(&mut self, source: &impl Source, query: &BlockQuery) -> Result<Option<FoundRow>, Fault> {
        match self.span_of(source, query)? {
            Some(span) => self.reveal(source, span),
            None => Ok(None),
        }
    }

    /// The newest execution of a path. Unfolds nothing.
    pub(crate) fn newest_at(&self, source: &impl Source, path: String) -> Result<Option<String>, Fault> {
        let query = BlockQuery { instance_id: None, path: Some(path) };
        self.span_of(source, &query)?.map(|span| self.instance_of(source, span)).transpose()
    }

    /// The rows of executions, whether they are shown or not; without those that are not there.
    pub(crate) fn blocks(&mut self, source: &impl Source, instances: &[String]) -> Result<Vec<ViewRow>, Fault> {
        let mut nodes = Vec::new();
        for instance in instances.iter().take(MOST_BLOCKS) {
            let query = BlockQuery { instance_id: Some(instance.clone()), path: None };
            let span = self.span_of(source, &query)?;
            nodes.extend(span.map(|span| (span, self.tree.ancestors(span).count() as u32)));
        }
        self.rows_of(source, nodes, None)
    }

    fn span_of(&self, source: &impl Source, query: &BlockQuery) -> Result<Option<SpanIndex>, Fault> {
        if let (None, Some(path)) = (&query.instance_id, &query.path) {
            let Some(number) = source.path_number(path)? else { return Ok(None) };
            return Ok((0..).map_while(|attempt| self.spans.find(number, attempt)).last());
        }
        let instance = query.instance_id.as_deref().unwrap_or_default();
        let inner = instance.strip_prefix(self.request.as_str()).and_then(|rest| rest.strip_prefix(':'));
        let Some(id) = inner.and_then(InstanceId::parse) else {
            let right = format!("{}:PATH:ATTEMPT", self.request);
            return Err(Fault::invalid(format!("\"{instance}\" is no block of this request; one is like {right}")));
        };
        let number = source.path_number(id.path)?;
        Ok(number.and_then(|number| self.spans.find(number, id.attempt)))
    }

    fn reveal(&mut self, source: &impl Source, span: SpanIndex) -> Result<Option<FoundRow>, Fault> {
        self.tree.reveal(span);
        let Some(row) = self.tree.row_of(span) else { return Ok(None) };
        let instance_id = self.instance_of(source, span)?;
        Ok(Some(FoundRow { row: row.into(), node: span.into(), instance_id }))
    }
}
