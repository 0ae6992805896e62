//! What spans asked of models, and which part of it the request did not spend itself.

use super::{SpanIndex, Spans};
use crate::model::event::Seq;

/// What a span asked of models itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// How many answers it got.
    pub model_calls: u32,
    /// Input tokens.
    pub prompt_tokens: u64,
    /// Output tokens.
    pub completion_tokens: u64,
}

impl Usage {
    pub(super) fn add(&mut self, other: Usage) {
        self.model_calls += other.model_calls;
        self.prompt_tokens = self.prompt_tokens.saturating_add(other.prompt_tokens);
        self.completion_tokens = self.completion_tokens.saturating_add(other.completion_tokens);
    }

    /// Returns what is left of it without a part of it.
    pub fn without(self, part: Usage) -> Usage {
        Usage {
            model_calls: self.model_calls.saturating_sub(part.model_calls),
            prompt_tokens: self.prompt_tokens.saturating_sub(part.prompt_tokens),
            completion_tokens: self.completion_tokens.saturating_sub(part.completion_tokens),
        }
    }
}

impl Spans {
    /// What a span asked of models itself.
    pub fn usage(&self, index: SpanIndex) -> Usage {
        self.usage.get(&index).copied().unwrap_or_default()
    }

    /// What a span asked of models that its request did not spend: before a fork, or shared by another sample.
    pub fn kept_usage(&self, index: SpanIndex) -> Usage {
        self.kept_usage.get(&index).copied().unwrap_or_default()
    }

    /// What all of them asked of models.
    pub fn whole_usage(&self) -> Usage {
        sum(self.usage.values())
    }

    /// What all of them asked of models before a fork.
    pub fn whole_kept_usage(&self) -> Usage {
        sum(self.kept_usage.values()).without(self.shared_usage)
    }

    /// Says that another sample of an experiment paid for a call of a span. Like what a fork keeps, it is not spent.
    pub fn share(&mut self, index: SpanIndex, call: Usage) {
        self.kept_usage.entry(index).or_default().add(call);
        self.shared_usage.add(call);
    }

    /// What all of them got of answers that another sample paid for.
    pub fn whole_shared_usage(&self) -> Usage {
        self.shared_usage
    }

    /// Says that the request is a fork, and the last event that it has in common with the other one. It must be known
    /// before those events are taken in.
    pub fn keep_until(&mut self, seq: Seq) {
        self.kept_until = seq;
    }

    /// The last event that a fork has in common with the request that it comes from; 0 if this is no fork.
    pub fn kept_until(&self) -> Seq {
        self.kept_until
    }
}

fn sum<'u>(of: impl Iterator<Item = &'u Usage>) -> Usage {
    of.fold(Usage::default(), |mut sum, one| {
        sum.add(*one);
        sum
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::event::BlockKind;
    use crate::views::spans::{Fact, SpanEvent};

    #[test]
    fn what_a_fork_keeps_is_told_apart_from_what_it_asked() {
        let mut spans = Spans::default();
        spans.keep_until(3);
        let begun = Fact::Started { name: 0, kind: BlockKind::Generator, parent: None, replaces_failed: false };
        let call = |prompt| Fact::ModelCalled { prompt, completion: 1 };
        for (seq, fact) in [(1, begun), (2, call(10)), (3, call(20)), (4, Fact::WentOn), (5, call(40))] {
            spans.push(SpanEvent { seq, at: 0, path: Some(0), attempt: 0, fact });
        }
        let tokens = |usage: Usage| (usage.model_calls, usage.prompt_tokens, usage.completion_tokens);
        assert_eq!(tokens(spans.usage(0)), (3, 70, 3));
        assert_eq!(tokens(spans.kept_usage(0)), (2, 30, 2));
        assert_eq!(tokens(spans.usage(0).without(spans.kept_usage(0))), (1, 40, 1));
        assert_eq!((spans.whole_usage(), spans.whole_kept_usage()), (spans.usage(0), spans.kept_usage(0)));
        let shared = Usage { model_calls: 1, prompt_tokens: 40, completion_tokens: 1 };
        spans.share(0, shared);
        assert_eq!(tokens(spans.usage(0).without(spans.kept_usage(0))), (0, 0, 0));
        assert_eq!((tokens(spans.whole_kept_usage()), spans.whole_shared_usage()), ((2, 30, 2), shared));
    }
}
