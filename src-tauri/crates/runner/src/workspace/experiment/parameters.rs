//! Checks the names and values of parameters of model calls. Providers may ignore unknown names, and a mock script
//! ignores everything, so an arm with a mistyped name would equal the base arm.

use genai::chat::{ReasoningEffort, Verbosity};
use serde_json::Value;

use super::axes::ParameterAxis;
use super::place::RecordedCall;
use crate::core::fault::Fault;
use crate::models::provider_of;

/// Names with the same meaning for every provider.
const COMMON: [&str; 11] = [
    "temperature",
    "topP",
    "maxTokens",
    "seed",
    "stop",
    "reasoningEffort",
    "verbosity",
    "toolChoice",
    "parallelToolCalls",
    "reasoningMaxTokens",
    "stopSequences",
];
/// Names of some providers, which are sent unchanged.
const OF_PROVIDERS: [&str; 37] = [
    "cacheControl",
    "candidateCount",
    "frequencyPenalty",
    "includeReasoning",
    "logitBias",
    "logprobs",
    "maxCompletionTokens",
    "maxOutputTokens",
    "metadata",
    "minP",
    "mirostat",
    "modalities",
    "n",
    "numCtx",
    "numPredict",
    "plugins",
    "prediction",
    "presencePenalty",
    "provider",
    "randomSeed",
    "reasoning",
    "repeatPenalty",
    "repetitionPenalty",
    "responseFormat",
    "safePrompt",
    "safetySettings",
    "serviceTier",
    "store",
    "thinking",
    "thinkingConfig",
    "topA",
    "topK",
    "topLogprobs",
    "transforms",
    "typicalP",
    "user",
    "webSearchOptions",
];
/// How many names are suggested.
const MAX_NEAREST: usize = 3;

/// Refuses an invalid value, and a name that is not in the block's own model calls and not known of any provider.
pub(super) fn check_parameters(axes: &[ParameterAxis], path: &str, calls: &[RecordedCall]) -> Result<(), Fault> {
    let own = || calls.iter().flat_map(|call| call.options.iter().map(String::as_str));
    let known = || COMMON.into_iter().chain(own()).chain(OF_PROVIDERS);
    for ParameterAxis { name, values } in axes {
        // A group of options for one provider, which are not checked.
        let is_group = provider_of(name).is_some() && values.iter().all(Value::is_object);
        let plain = plain(name);
        if let Some(Kind { words, is_it }) = kind_of(&plain)
            && let Some(wrong) = values.iter().find(|value| !value.is_null() && !is_it(value))
        {
            return Err(Fault::invalid(format!("--parameter {name}: {wrong} is not {words}")));
        }
        if is_group || known().any(|known| self::plain(known) == plain) {
            continue;
        }
        let near = nearest(&plain, known());
        let there = if near.is_empty() {
            format!("there are {}", COMMON[..7].join(", "))
        } else {
            format!("perhaps {}", near.join(" or "))
        };
        return Err(Fault::invalid(format!(
            "--parameter {name}: model calls of {path} have no such setting; {there}. An option that one provider \
             alone has is given under its name, like openai={{\"{name}\":…}}"
        )));
    }
    Ok(())
}

/// The type of a parameter's values.
struct Kind {
    words: &'static str,
    is_it: fn(&Value) -> bool,
}

/// The type of a parameter that is translated for each provider, so that only valid values can be sent.
fn kind_of(plain: &str) -> Option<Kind> {
    let (words, is_it): (_, fn(&Value) -> bool) = match plain {
        "temperature" | "topp" => ("a number", Value::is_number),
        "seed" => ("a whole number from 0 on", Value::is_u64),
        "reasoningmaxtokens" => ("a whole number from 0 to 4294967295", is_u32),
        "stop" | "stopsequences" => ("a text or a list of texts", is_text_or_texts),
        "reasoningeffort" => ("an effort that is known, such as \"low\"", is_effort),
        "verbosity" => ("\"low\", \"medium\" or \"high\"", is_verbosity),
        _ => return None,
    };
    Some(Kind { words, is_it })
}

fn is_u32(value: &Value) -> bool {
    value.as_u64().is_some_and(|number| u32::try_from(number).is_ok())
}

fn is_effort(value: &Value) -> bool {
    value.as_str().and_then(ReasoningEffort::from_keyword).is_some()
}

fn is_verbosity(value: &Value) -> bool {
    value.as_str().and_then(Verbosity::from_keyword).is_some()
}

fn is_text_or_texts(value: &Value) -> bool {
    value.is_string() || value.as_array().is_some_and(|texts| texts.iter().all(Value::is_string))
}

/// Normalizes the spelling of a name.
fn plain(name: &str) -> String {
    name.replace(['_', '-'], "").to_ascii_lowercase()
}

/// The names most similar to a normalized one, if they are similar enough.
fn nearest<'n>(plain: &str, known: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let most = (plain.chars().count() / 3).max(1);
    let mut near: Vec<(usize, &str)> = known
        .map(|name| (strsim::levenshtein(plain, &self::plain(name)), name))
        .filter(|(far, _)| *far <= most)
        .collect();
    near.sort_by_key(|(far, _)| *far);
    let mut names: Vec<&str> = Vec::new();
    for (_, name) in near {
        if names.len() < MAX_NEAREST && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(name: &str, value: Value) -> Result<(), String> {
        let call = RecordedCall {
            path: "root/step:ask".to_owned(),
            model: "m".to_owned(),
            generator: "ask".to_owned(),
            options: vec!["houseStyle".to_owned()],
            tokens: None,
        };
        let axes = [ParameterAxis { name: name.to_owned(), values: vec![value] }];
        check_parameters(&axes, "root/step:ask", &[call]).map_err(|fault| fault.to_string())
    }

    #[test]
    fn known_names_are_accepted_in_each_spelling() {
        for name in ["temperature", "top_p", "TopP", "max_tokens", "presence-penalty", "topK", "houseStyle", "thinking"]
        {
            assert_eq!(check(name, json!(1)), Ok(()), "{name}");
        }
        assert_eq!(check("openai", json!({ "anything": 1 })), Ok(()));
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest() {
        for (name, part) in [
            ("tempurature", "root/step:ask have no such setting; perhaps temperature."),
            ("topPP", "perhaps topP"),
            ("houseStile", "perhaps houseStyle"),
            ("max_token", "perhaps maxTokens"),
            ("headers", "there are temperature, topP, maxTokens"),
            ("openai", "given under its name"),
        ] {
            let error = check(name, json!(1)).err().unwrap_or_default();
            assert!(error.contains(part), "{name}: {error:?}");
        }
    }

    /// Otherwise a temperature that is not a number would be silently left out.
    #[test]
    fn a_value_that_cannot_be_sent_is_refused() {
        for (name, value, part) in [
            ("temperature", json!("hot"), "--parameter temperature: \"hot\" is not a number"),
            ("top_p", json!(true), "true is not a number"),
            ("seed", json!(-1), "-1 is not a whole number"),
            ("stop", json!([1]), "is not a text or a list of texts"),
            ("reasoningEffort", json!("hihg"), "\"hihg\" is not an effort that is known"),
            ("verbosity", json!("loud"), "\"loud\" is not \"low\", \"medium\" or \"high\""),
            ("reasoningMaxTokens", json!(5_000_000_000_u64), "is not a whole number from 0 to 4294967295"),
        ] {
            let error = check(name, value).err().unwrap_or_default();
            assert!(error.contains(part), "{name}: {error:?}");
        }
        // `null` removes the flow's own value.
        for (name, value) in [("temperature", Value::Null), ("stop", json!(["a"])), ("stop", json!("a"))] {
            assert_eq!(check(name, value), Ok(()), "{name}");
        }
    }
}
