//! Where the output of a tool call is cached: what the author's function says of its arguments (SEMANTICS §6.7).

use serde_json::Value;

use crate::execution::ctx::Context;
use crate::execution::step::callback;
use crate::model::callable::Arg;
use crate::model::error::FlowError;
use crate::model::flow::Block;

/// Where the output of a call is cached.
pub(super) struct Place {
    pub(super) key: String,
    /// How old the output may be.
    pub(super) ttl_ms: Option<u64>,
}

/// Returns where the output of a call is cached; `None` if it is not.
pub(super) async fn place_of(
    cx: &Context,
    block: &Block,
    call: &str,
    args: &Value,
) -> Result<Option<Place>, FlowError> {
    let Some(cache) = &block.cache else { return Ok(None) };
    let args = vec![Arg::Data(args.clone().into())];
    let answer = callback::call(cx, &format!("key {call}"), &cache.key, args).await?.into_data()?.to_json();
    let Some(key) = answer.get("key") else { return Ok(None) };
    let key = format!("{}\u{0}{}", block.name, sorted(key));
    Ok(Some(Place { key, ttl_ms: answer["ttlMs"].as_f64().map(|ttl| ttl.max(0.0) as u64) }))
}

/// Returns a value with all object keys sorted.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut entries: Vec<_> = fields.iter().collect();
            entries.sort_by_key(|(name, _)| name.as_str());
            Value::Object(entries.into_iter().map(|(name, value)| (name.clone(), sorted(value))).collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        other => other.clone(),
    }
}
