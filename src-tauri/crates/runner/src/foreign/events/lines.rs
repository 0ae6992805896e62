//! The lines of a span's block: what is odd about the span, and what its events say.

use engine::event::EventKind;
use serde_json::Value;

use crate::foreign::decode::REPLACED;
use crate::foreign::exact::EXACT;
use crate::foreign::span::{ArrivedSpan, SpanEvent};

/// How many events of a span become lines of its block's log; all are in the span itself.
const MAX_LINES: usize = 50;

/// A line at a time in nanoseconds; at 0 if it has none of its own.
pub(super) type Line = (u64, EventKind);

/// The lines of a span. `odd` is what was found odd about it before.
pub(super) fn lines(span: &ArrivedSpan, odd: impl IntoIterator<Item = String>) -> Vec<Line> {
    let line = |at: u64, level: &str, text: String| (at, EventKind::Logged { level: level.to_owned(), text });
    let is_replaced = span.rest.get(EXACT).is_some_and(|exact| exact[REPLACED] == true);
    let replaced = is_replaced.then(|| "some of its text is not Unicode: \u{fffd} stands for what is not".to_owned());
    let mut lines: Vec<Line> = odd.into_iter().chain(replaced).map(|text| line(0, "warn", text)).collect();
    let said = || span.events.iter().filter(|event| is_line(event));
    lines.extend(said().take(MAX_LINES).map(|event| line(event.at, "info", text(event))));
    let more = said().count().saturating_sub(MAX_LINES);
    if more > 0 {
        let at = said().nth(MAX_LINES).map_or(0, |event| event.at);
        let events = if more == 1 { "event is" } else { "events are" };
        lines.push(line(at, "info", format!("{more} more {events} in the span")));
    }
    lines
}

fn text(event: &SpanEvent) -> String {
    if event.attributes.is_empty() {
        event.name.clone()
    } else {
        format!("{} {}", event.name, Value::Object(event.attributes.clone()))
    }
}

/// Whether an event of a span is a line of its log: exceptions are its error, and messages are in its model call.
fn is_line(event: &SpanEvent) -> bool {
    event.name != "exception" && !event.name.starts_with("gen_ai.")
}
