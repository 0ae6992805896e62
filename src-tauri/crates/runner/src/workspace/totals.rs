//! What requests came to: blocks, calls of models, tokens, costs, writes.

use std::collections::HashMap;

use engine::effects::EffectKind;
use engine::event::{EventKind, Seq};
use engine::views::spans::{Fact, SpanIndex, Spans, Usage, fact};
use store::RequestQuery;

use super::Workspace;
use crate::core::fault::Fault;
use crate::views::{RequestRow, Sums, Totals};

/// How many answers of models are read at once.
const MAX_CALLS: usize = 500;

impl Workspace {
    /// As [`requests`](Self::requests), each with what it came to.
    pub fn requests_with_totals(&self, query: RequestQuery) -> Result<Vec<RequestRow>, Fault> {
        let mut rows = self.requests(query)?;
        for row in &mut rows {
            row.totals = Some(self.totals(row)?);
        }
        Ok(rows)
    }

    /// What a request came to. Model calls, tokens and costs are those that it paid for itself, as in lists of runs.
    pub(super) fn totals(&self, row: &RequestRow) -> Result<Totals, Fault> {
        Ok(self.totals_and_spans(row)?.0)
    }

    /// As [`totals`](Self::totals), with the answers that a fork keeps.
    pub(super) fn totals_and_kept(&self, row: &RequestRow) -> Result<Totals, Fault> {
        let (mut totals, spans) = self.totals_and_spans(row)?;
        let Usage { model_calls, prompt_tokens, completion_tokens } = spans.whole_kept_usage();
        if model_calls == 0 {
            return Ok(totals);
        }
        let mut kept = Sums { model_calls: model_calls.into(), prompt_tokens, completion_tokens, ..Sums::default() };
        let calls = spans.model_calls().iter().map(|(seq, _)| *seq).filter(|seq| *seq <= spans.kept_until());
        for cost in self.costs(&row.id, &calls.collect::<Vec<Seq>>())? {
            kept.add(&Sums { cost, unpriced: u64::from(cost.is_none()), ..Sums::default() });
        }
        totals.kept = Some(kept);
        Ok(totals)
    }

    fn totals_and_spans(&self, row: &RequestRow) -> Result<(Totals, Spans), Fault> {
        let mut spans = Spans::default();
        self.store.extend_spans(&row.id, &mut spans).map_err(Fault::internal)?;
        let is_live = !row.status.is_terminal();
        let failed = spans.failure_causes();
        let mut totals = Totals { blocks: spans.len() as u64, failed, ..Totals::default() };
        for index in 0..spans.len() as SpanIndex {
            totals.sums.changes += u64::from(spans.changes(index, is_live));
        }
        for used in self.store.used(&row.id).map_err(Fault::internal)? {
            totals.sums.add(&Sums {
                model_calls: used.calls,
                prompt_tokens: used.input,
                completion_tokens: used.output,
                ..Sums::default()
            });
        }
        // The origin of a fork has paid for what they have in common.
        let own = spans.model_calls().iter().map(|(seq, _)| *seq).filter(|seq| *seq > spans.kept_until());
        let seqs: Vec<Seq> = own.collect();
        for cost in self.costs(&row.id, &seqs)? {
            totals.sums.add(&Sums { cost, unpriced: u64::from(cost.is_none()), ..Sums::default() });
        }
        Ok((totals, spans))
    }

    /// Takes answers out of what a request spent that a sample of an experiment paid for. Calls before number `known`
    /// were looked at before.
    pub(super) fn leave_out_shared(&self, request: &str, spans: &mut Spans, known: usize) -> Result<(), Fault> {
        let kept = spans.kept_until();
        let fresh = spans.model_calls()[known..].iter().filter(|(seq, _)| *seq > kept);
        let fresh: Vec<(Seq, SpanIndex)> = fresh.copied().collect();
        for calls in fresh.chunks(MAX_CALLS) {
            let owners: HashMap<Seq, SpanIndex> = calls.iter().copied().collect();
            let seqs: Vec<Seq> = calls.iter().map(|(seq, _)| *seq).collect();
            for event in self.store.maybe_shared(request, &seqs).map_err(Fault::internal)? {
                let Some(index) = owners.get(&event.seq) else { continue };
                let EventKind::EffectFinished { result, .. } = &event.kind else { continue };
                if let Some(Fact::ModelCalled { prompt, completion }) = fact(&event.kind, |_| 0, |_| None)
                    && result.get("sharedMs").is_some_and(serde_json::Value::is_u64)
                {
                    spans.share(*index, Usage { model_calls: 1, prompt_tokens: prompt, completion_tokens: completion });
                }
            }
        }
        Ok(())
    }

    /// What the model calls cost that ended with these events, each where it has a price; an empty list where
    /// `flowglass.json` has no prices.
    pub(super) fn costs(&self, request: &str, calls: &[Seq]) -> Result<Vec<Option<f64>>, Fault> {
        if self.config.prices.is_empty() {
            return Ok(Vec::new());
        }
        calls.iter().map(|seq| self.cost(request, *seq)).collect()
    }

    fn cost(&self, request: &str, seq: Seq) -> Result<Option<f64>, Fault> {
        let event = |seq| self.store.event_at(request, seq).map_err(Fault::internal);
        let Some(EventKind::EffectFinished { effect: EffectKind::Model, started, request: own, result, .. }) =
            event(seq)?.map(|event| event.kind)
        else {
            return Ok(None);
        };
        let asked = match (own, started) {
            (None, Some(started)) => match event(started)?.map(|event| event.kind) {
                Some(EventKind::EffectStarted { request, .. }) => request,
                _ => None,
            },
            (own, _) => own,
        };
        let model = asked.as_ref().and_then(|asked| asked["model"].as_str()).unwrap_or_default();
        Ok(self.config.cost(model, &result))
    }
}
