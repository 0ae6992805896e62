//! What a request's end waited for: from its end backwards, in every block the child that ended last before what
//! followed it began.

use engine::views::spans::{SpanIndex, Spans};

use super::bits::Bits;
use super::tree::{Node, Tree};
use crate::views::CriticalPart;

/// The spans under a node, those of groups among them.
fn members(tree: &Tree, node: Option<Node>, found: &mut Vec<SpanIndex>) {
    for child in tree.children(node) {
        match tree.group(child) {
            Some(_) => members(tree, Some(child), found),
            None => found.push(child),
        }
    }
}

fn end_of(spans: &Spans, index: SpanIndex) -> Option<i64> {
    spans.get(index).finished_at()
}

/// The spans on the critical path: the end of the parent waited for each, and the parent is on the path.
pub(super) fn critical(spans: &Spans, tree: &Tree) -> Bits {
    let mut critical = Bits::default();
    let mut around: Vec<(Option<Node>, i64)> = vec![(None, i64::MAX)];
    let mut children = Vec::new();
    while let Some((node, until)) = around.pop() {
        children.clear();
        members(tree, node, &mut children);
        children.retain(|child| end_of(spans, *child).is_some());
        children.sort_by_key(|child| std::cmp::Reverse((end_of(spans, *child), *child)));
        let mut until = until;
        for child in &children {
            let (span, end) = (spans.get(*child), end_of(spans, *child).unwrap_or(i64::MAX));
            if end <= until {
                critical.set(*child, true);
                until = span.started_at;
                if span.children > 0 {
                    around.push((Some(*child), end));
                }
            }
        }
    }
    critical
}

/// The same as stretches of time, each with the innermost block; shorter ones than `shortest` are left out.
pub(super) fn parts(spans: &Spans, critical: &Bits, (from, to): (i64, i64), shortest: i64) -> Vec<CriticalPart> {
    let mut parts: Vec<CriticalPart> = Vec::new();
    // The open spans around the present one, each with the time up to which it is covered.
    let mut around: Vec<(SpanIndex, i64)> = Vec::new();
    let mut tell = |from_at: i64, to_at: i64, node: SpanIndex| {
        let part = CriticalPart { from: from_at.max(from), to: to_at.min(to), node: node.into() };
        if part.to - part.from >= shortest {
            parts.push(part);
        }
    };
    let close = |around: &mut Vec<(SpanIndex, i64)>, tell: &mut dyn FnMut(i64, i64, SpanIndex)| {
        if let Some((index, told)) = around.pop() {
            let end = end_of(spans, index).unwrap_or(told);
            tell(told, end, index);
            if let Some((_, above)) = around.last_mut() {
                *above = end.max(*above);
            }
        }
    };
    for index in (0..spans.len() as SpanIndex).filter(|index| critical.get(*index)) {
        let span = spans.get(index);
        while around.last().is_some_and(|(above, _)| Some(*above) != span.parent()) {
            close(&mut around, &mut tell);
        }
        if let Some((above, told)) = around.last_mut() {
            tell(*told, span.started_at, *above);
            *told = span.started_at;
        }
        around.push((index, span.started_at));
    }
    while !around.is_empty() {
        close(&mut around, &mut tell);
    }
    parts
}
