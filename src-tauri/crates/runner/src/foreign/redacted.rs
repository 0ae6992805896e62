//! Spans without what a workspace keeps secret, and calls as they are stored if something was taken out.
//!
//! Nothing of a span may be stored before it went through here.

use std::sync::Arc;

use engine::redaction::Redaction;
use serde_json::{Map, Value, json};

use super::decode::{Decoded, TraceId, trace_hex};
use super::exact::EXACT;
use super::span::ArrivedSpan;

impl Decoded {
    /// Takes out secrets: values of the workspace's environment, attributes and fields with names of its settings,
    /// and headers that authorize. Returns whether there were some.
    pub(crate) fn redact(&mut self, redaction: &Redaction) -> bool {
        let mut is_changed = false;
        let (mut resources, mut scopes) = (Shared::default(), Shared::default());
        for (_, span) in &mut self.spans {
            is_changed |= redaction.string(&mut span.name);
            is_changed |= redaction.attributes(&mut span.attributes);
            for event in span.events.iter_mut().chain(&mut span.records) {
                is_changed |= redaction.string(&mut event.name);
                is_changed |= redaction.attributes(&mut event.attributes);
            }
            is_changed |= redaction.string(&mut span.status.message);
            is_changed |= rest(&mut span.rest, redaction);
            is_changed |= resources.redact(&mut span.resource, |value| attributes(value, redaction));
            is_changed |= scopes.redact(&mut span.scope, |value| {
                let of_exact = value.get_mut(EXACT).is_some_and(|exact| redaction.value(exact));
                attributes(&mut value["attributes"], redaction) | of_exact
            });
        }
        is_changed
    }

    /// As it is stored after something was taken out.
    pub(crate) fn to_json(&self) -> Value {
        let mut resources: Vec<&Arc<Value>> = Vec::new();
        let mut scopes: Vec<&Arc<Value>> = Vec::new();
        let mut spans: Vec<Value> = Vec::with_capacity(self.spans.len());
        for (trace, span) in &self.spans {
            let places = (place(&mut resources, &span.resource), place(&mut scopes, &span.scope));
            spans.push(json!([trace_hex(*trace), span.to_json(places.0, places.1)]));
        }
        let values = |all: Vec<&Arc<Value>>| all.into_iter().map(|one| (**one).clone()).collect::<Vec<Value>>();
        json!({ "resources": values(resources), "scopes": values(scopes), "spans": spans })
    }

    /// Reads what [`to_json`](Self::to_json) made; none of its spans if it cannot have made it.
    pub(crate) fn from_json(mut stored: Value) -> Decoded {
        let mut list = |name: &str| match stored.get_mut(name).map(Value::take) {
            Some(Value::Array(all)) => all,
            _ => Vec::new(),
        };
        let mut shared = |name: &str| list(name).into_iter().map(Arc::new).collect::<Vec<_>>();
        let (resources, scopes) = (shared("resources"), shared("scopes"));
        let read = |mut pair: Value| -> Option<(TraceId, ArrivedSpan)> {
            let trace = u128::from_str_radix(pair.get(0)?.as_str()?, 16).ok()?;
            Some((trace, ArrivedSpan::from_json(pair.get_mut(1)?.take(), &resources, &scopes)?))
        };
        let spans = list("spans").into_iter().filter_map(read).collect();
        Decoded { spans, ..Decoded::default() }
    }
}

/// The place of a value in a list, at whose end it is put if it is not the last one.
fn place<'v>(all: &mut Vec<&'v Arc<Value>>, value: &'v Arc<Value>) -> usize {
    if all.last().is_none_or(|last| !Arc::ptr_eq(last, value)) {
        all.push(value);
    }
    all.len() - 1
}

fn attributes(value: &mut Value, redaction: &Redaction) -> bool {
    value.as_object_mut().is_some_and(|fields| redaction.attributes(fields))
}

/// Links have attributes of their own; the rest is what OTLP says of a span.
fn rest(fields: &mut Map<String, Value>, redaction: &Redaction) -> bool {
    let mut is_changed = false;
    for (name, value) in fields {
        match value {
            Value::Array(links) if name == "links" => {
                links.iter_mut().for_each(|link| is_changed |= attributes(&mut link["attributes"], redaction));
            }
            value => is_changed |= redaction.value(value),
        }
    }
    is_changed
}

/// What the spans before had: they share few values, one after the other.
#[derive(Default)]
struct Shared(Option<(Arc<Value>, Arc<Value>)>);

impl Shared {
    fn redact(&mut self, value: &mut Arc<Value>, hide: impl Fn(&mut Value) -> bool) -> bool {
        let known = self.0.as_ref().filter(|(before, _)| Arc::ptr_eq(before, value));
        let after = match known {
            Some((_, after)) => after.clone(),
            None => {
                let mut hidden = (**value).clone();
                let after = if hide(&mut hidden) { Arc::new(hidden) } else { value.clone() };
                self.0 = Some((value.clone(), after.clone()));
                after
            }
        };
        let is_changed = !Arc::ptr_eq(&after, value);
        *value = after;
        is_changed
    }
}
