//! Where a value or a text of a recorded run comes from.
//!
//! The question names a recorded value; the answer goes back from it to what came from outside or was computed. What
//! the log says of a value is told first; the rest is found by content, in an index of the request's values.
//!
//! Must not claim that a value went from one place to another where only their content is the same.

mod around;
mod causes;
mod code;
mod cover;
mod defaults;
mod grams;
mod had;
mod index;
mod json_bytes;
mod log;
mod messages;
mod near;
mod own;
mod parts;
mod pointer;
mod question;
mod record;
mod resource_writes;
mod seen;
mod sentence;
mod spot;
mod structure;
#[cfg(test)]
mod tests;
mod walk;
mod writes;

use serde_json::Value;

pub(super) use self::log::RequestLog;
use self::question::Found;
use self::walk::{Walk, small};
use super::Workspace;
use crate::core::fault::Fault;
use crate::views::{WhyQuery, WhyView};

/// So many edges are shown unless another number is asked for.
const DEFAULT_LIMIT: u32 = 40;
/// No more edges are ever shown.
const MAX_LIMIT: u32 = 10_000;

impl Workspace {
    /// Where a value or a text of a request comes from.
    pub fn why(&self, request: &str, query: &WhyQuery) -> Result<WhyView, Fault> {
        let limit = query.limit.unwrap_or(DEFAULT_LIMIT);
        if limit == 0 || limit > MAX_LIMIT {
            return Err(Fault::invalid(format!("a limit of {limit}: 1 to {MAX_LIMIT} edges are shown")));
        }
        let asking = question::Asking::read(query)?;
        self.request(request)?;
        let mut walk = Walk::new(self, usize::try_from(limit).unwrap_or(usize::MAX));
        let log = walk.log(request)?;
        let question = asking.find(self, &log)?;
        walk.causes.asked.extend(question.executions.iter().map(|one| (request.to_owned(), *one)));
        let value = match &question.found {
            Found::Recorded(spot) => {
                walk.explain(spot, 0)?;
                spot.value().map(|value| match (spot.span, &*value) {
                    (Some((from, to)), Value::String(text)) => Value::from(&text[from..to]),
                    _ => value.into_owned(),
                })
            }
            Found::State(spot) => {
                walk.explain_state(spot, 0)?;
                Some(spot.value.clone())
            }
        };
        let seq = match &question.found {
            Found::Recorded(spot) => spot.record().seq,
            Found::State(spot) => spot.seq,
        };
        let (edges, truncated) = (walk.edges, walk.truncated);
        let answer = sentence::answer(&question, value.as_ref(), &edges, truncated);
        Ok(WhyView {
            request_id: request.to_owned(),
            at: question.at,
            seq,
            asked: question.asked,
            answer,
            value: small(value.as_ref()),
            edges,
            truncated,
        })
    }
}
