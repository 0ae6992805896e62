//! The tools that models were offered or called, with the answers that the trace has.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use super::{Call, Loop, asked_tools, messages, nearest, results};

/// A tool, and what it answered.
#[derive(Default)]
pub(super) struct Tool {
    /// Its description and its parameters as the first call that names it has them.
    offer: Option<Value>,
    /// Whether other calls have other ones.
    pub(super) has_variants: bool,
    /// In the order of the calls.
    pub(super) answers: Vec<Value>,
}

impl Tool {
    /// What it is for, if the trace says so.
    pub(super) fn description(&self) -> Option<&str> {
        self.offer.as_ref()?["description"].as_str()
    }

    /// The JSON Schema of its parameters, if the trace has one.
    pub(super) fn parameters(&self) -> Option<&Value> {
        self.offer.as_ref()?.get("parameters")
    }

    /// The arguments that it was called with.
    pub(super) fn given(&self) -> Vec<&Value> {
        self.answers.iter().map(|answer| &answer["args"]).collect()
    }
}

/// The tools that a model was offered, by name.
pub(super) fn offers(call: &Call) -> impl Iterator<Item = (&str, &Value)> {
    let offers = call.request["tools"].as_array().into_iter().flatten();
    offers.filter_map(|offer| Some((offer["name"].as_str().filter(|name| !name.is_empty())?, offer)))
}

/// All tools that a model was offered, and those that answered, by name.
pub(super) fn tools(loops: &[Loop]) -> BTreeMap<String, Tool> {
    let mut tools: BTreeMap<String, Tool> = BTreeMap::new();
    for (name, offer) in loops.iter().flat_map(|one| &one.calls).flat_map(offers) {
        let tool = tools.entry(name.to_owned()).or_default();
        match &tool.offer {
            None => tool.offer = Some(offer.clone()),
            Some(first) => tool.has_variants |= first != offer,
        }
    }
    for pair in loops.iter().flat_map(|one| one.calls.windows(2)) {
        let asked: Vec<&Value> = asked_tools(&pair[0]).collect();
        let rest = messages(&pair[1]).get(messages(&pair[0]).len()..).unwrap_or_default();
        for (asked, result) in asked.iter().zip(results(&asked, rest)) {
            let Some(name) = asked["name"].as_str() else { continue };
            let output = result.map_or(Value::Null, |part| part["output"].clone());
            let (args, value) = (nearest(&asked["args"]), nearest(&output["value"]));
            let answer = match output["type"].as_str() {
                Some("error-text" | "error-json") => json!({ "args": args, "error": value }),
                _ => json!({ "args": args, "output": value }),
            };
            tools.entry(name.to_owned()).or_default().answers.push(answer);
        }
    }
    tools
}

/// The tools of a generator: those that its model was offered, in their order, then others that answered its calls.
pub(super) fn tools_of<'l>(one: &'l Loop, tools: &BTreeMap<String, Tool>) -> Vec<&'l str> {
    let offered = one.calls.iter().flat_map(offers).map(|(name, _)| name);
    let called = one.calls.iter().flat_map(asked_tools).filter_map(|tool| tool["name"].as_str());
    let mut known: HashSet<&str> = HashSet::new();
    let all = offered.chain(called.filter(|_| one.runs_tools()));
    all.filter(|name| tools.contains_key(*name) && known.insert(*name)).collect()
}
