//! What models cost: `prices` of `flowglass.json`, and the cost of a call.
//!
//! A cost is computed when it is shown and never stored, because prices change. The log records tokens.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use store::TRILLIONTHS;

/// US dollars for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Price {
    input: f64,
    /// For tokens in the provider's cache (default `input`).
    #[serde(default)]
    cached_input: Option<f64>,
    output: f64,
}

/// Prices by the model name that flows use, or by the provider's own name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Prices(BTreeMap<String, Price>);

/// The tokens of one call, as the provider reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CallTokens {
    /// All tokens of the prompt, including those in the cache.
    pub(crate) input: u64,
    /// The part of `input` that was in the provider's cache.
    pub(crate) cached: u64,
    pub(crate) output: u64,
}

impl CallTokens {
    /// Reads `usage` of a reply; `None` if the provider reported nothing.
    pub(crate) fn read(reply: &Value) -> Option<CallTokens> {
        let usage = reply.get("usage").filter(|usage| usage.is_object())?;
        let count = |name: &str| usage[name].as_u64().unwrap_or(0);
        let (input, cached) = (count("promptTokens"), count("cacheReadInputTokens"));
        Some(CallTokens { input, cached, output: count("completionTokens") })
    }

    /// Saturates, because a provider may report any numbers.
    pub(crate) fn sum(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

impl Prices {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an error that names an invalid price.
    pub(crate) fn check(&self) -> Result<(), String> {
        for (model, price) in &self.0 {
            let parts =
                [("input", Some(price.input)), ("cachedInput", price.cached_input), ("output", Some(price.output))];
            for (name, value) in parts {
                if value.is_some_and(|value| !value.is_finite() || value < 0.0) {
                    let value = value.unwrap_or_default();
                    return Err(format!("prices.{model}.{name} must be a number of at least 0, not {value}"));
                }
            }
        }
        Ok(())
    }

    /// What a call costs in US dollars, by the first of these names that has a price.
    pub(crate) fn cost<'n>(&self, names: impl Iterator<Item = &'n str>, tokens: CallTokens) -> Option<f64> {
        let [input, cached_input, output] = self.of_token(names)?;
        let cached = tokens.cached.min(tokens.input);
        let fresh = (tokens.input - cached) as f64 * input;
        Some((fresh + cached as f64 * cached_input + tokens.output as f64 * output) / TRILLIONTHS)
    }

    /// The costs of an input token, a cached input token and an output token, in trillionths of a US dollar, by the
    /// first of these names that has a price. A price may omit the provider's prefix (`openai/…`).
    pub(crate) fn of_token<'n>(&self, mut names: impl Iterator<Item = &'n str>) -> Option<[f64; 3]> {
        let find = |name: &str| self.0.get(name).or_else(|| self.0.get(name.split_once('/')?.1));
        let price = names.find_map(find)?;
        let cached = price.cached_input.unwrap_or(price.input);
        Some([price.input, cached, price.output].map(|million| (million * (TRILLIONTHS / 1e6)).round()))
    }
}

/// Adds two costs in US dollars. The sum does not depend on the order of additions, like sums in the database.
pub(crate) fn added(one: f64, other: f64) -> f64 {
    ((one + other) * TRILLIONTHS).round() / TRILLIONTHS
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prices(text: &str) -> Prices {
        serde_json::from_str(text).expect("prices")
    }

    #[test]
    fn cached_tokens_have_a_price_of_their_own() {
        let prices = prices(
            r#"{ "mini": { "input": 2, "cachedInput": 0.5, "output": 10 }, "plain": { "input": 2, "output": 10 } }"#,
        );
        let usage = json!({ "usage": { "promptTokens": 1_000, "cacheReadInputTokens": 400, "completionTokens": 100 } });
        let tokens = CallTokens::read(&usage).expect("it has usage");
        let cost = |name: &str| prices.cost([name].into_iter(), tokens);
        assert_eq!(cost("mini"), Some((600.0 * 2.0 + 400.0 * 0.5 + 100.0 * 10.0) / 1e6));
        assert_eq!(cost("plain"), Some((1_000.0 * 2.0 + 100.0 * 10.0) / 1e6));
        assert_eq!(cost("other"), None);
        assert_eq!(cost("openai/mini"), cost("mini"));
        assert_eq!(prices.cost(["unknown", "mini"].into_iter(), tokens), cost("mini"));
        assert_eq!(CallTokens::read(&json!({ "text": "no usage" })), None);
    }

    #[test]
    fn sums_of_costs_are_exact() {
        let prices = prices(r#"{ "mini": { "input": 15, "output": 75 } }"#);
        let cost = |input, output| {
            prices.cost(["mini"].into_iter(), CallTokens { input, cached: 0, output }).expect("it has a price")
        };
        assert_eq!(cost(5_000, 2_000), 0.225);
        assert_eq!((0..10).fold(0.0, |sum, _| added(sum, cost(500, 200))), 0.225);
        assert_eq!(added(0.1, 0.2), 0.3);
    }

    #[test]
    fn an_invalid_price_is_named() {
        let wrong = prices(r#"{ "mini": { "input": 0, "output": -1 } }"#);
        assert_eq!(wrong.check(), Err("prices.mini.output must be a number of at least 0, not -1".to_owned()));
        assert_eq!(prices(r#"{ "mini": { "input": 0, "output": 0 } }"#).check(), Ok(()));
    }
}
