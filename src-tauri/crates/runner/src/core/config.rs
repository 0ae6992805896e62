//! `flowglass.json`: what a workspace may say about itself. An unknown key is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use engine::json::MAX_DEPTH;
use engine::redaction::{Redaction, Secrets};
use serde::Deserialize;
use serde_json::Value;

use crate::core::allowed_hosts::AllowedHost;
use crate::core::fault::Fault;
use crate::core::guarded_file;
use crate::core::ordinary_files::{self, short};
use crate::core::prices::{CallTokens, Prices};

/// The file's name.
pub(crate) const FILE: &str = "flowglass.json";

/// The settings of a workspace; all optional (GUIDE.md, "Models and the network"; SEMANTICS §13.1).
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Config {
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    pub(crate) flows: Option<Vec<PathBuf>>,
    pub(crate) models: BTreeMap<String, Model>,
    pub(crate) fetch: Fetch,
    pub(crate) limits: Limits,
    pub(crate) durability: Option<Durability>,
    /// What flows see as their environment, by name.
    pub(crate) env: BTreeMap<String, EnvValue>,
    /// What models cost, by the name that flows use or the provider's own.
    pub(crate) prices: Prices,
    /// Names under which secrets stand, besides those of SEMANTICS §14.
    redact: Vec<String>,
    /// What names the content of the file that this was read from; `None` without a file.
    #[serde(skip)]
    pub(crate) stamp: Option<String>,
}

/// A model by the name flows use.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Model {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key_env: Option<String>,
    pub(crate) timeout_ms: Option<u64>,
}

/// A value of `env`: the text itself, or the variable of the environment that has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, expecting = "a value of env is a text, or { \"valueEnv\": \"NAME\" }")]
pub(crate) enum EnvValue {
    Text(String),
    Named(NamedValue),
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NamedValue {
    value_env: String,
}

impl EnvValue {
    /// The variable of the environment that has it.
    pub(crate) fn variable(&self) -> Option<&str> {
        match self {
            EnvValue::Text(_) => None,
            EnvValue::Named(named) => Some(&named.value_env),
        }
    }

    /// The variable that it names, if the environment has no value of it.
    pub(crate) fn missing_variable(&self) -> Option<&str> {
        self.variable().filter(|name| std::env::var_os(name).is_none_or(|value| is_no_value(name, &value)))
    }

    /// The value now; `None` where the environment has none.
    fn read(&self) -> Option<String> {
        match self {
            EnvValue::Text(text) => Some(text.clone()),
            EnvValue::Named(named) => std::env::var(&named.value_env).ok(),
        }
    }
}

/// Whether a variable is empty, or is the placeholder that a client should have replaced with its value.
fn is_no_value(name: &str, value: &std::ffi::OsStr) -> bool {
    value.is_empty() || value == format!("${{{name}}}").as_str() || value == format!("${{env:{name}}}").as_str()
}

/// Which hosts flows may fetch from.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Fetch {
    pub(crate) allow: Vec<AllowedHost>,
}

/// The memory, in megabytes, that a flow needs to be loaded: with 4 MB not even an empty one is.
const LEAST_MEMORY_MB: u64 = 8;

/// What a flow may take, and what may come in.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub(crate) struct Limits {
    pub(crate) memory_mb: Option<usize>,
    pub(crate) yield_ms: Option<u64>,
    /// The longest reply of a model's server, or of a page that a flow fetches.
    pub(crate) reply_bytes: usize,
    /// The longest event of a reply that streams.
    pub(crate) line_bytes: usize,
    /// How much is read of a reply that says no.
    pub(crate) error_bytes: usize,
    /// The longest import, as it is when it is not compressed.
    pub(crate) import_bytes: u64,
    /// How deep JSON from outside may be nested.
    pub(crate) depth: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            memory_mb: None,
            yield_ms: None,
            reply_bytes: 16 << 20,
            line_bytes: 1 << 20,
            error_bytes: 64 << 10,
            import_bytes: 1 << 30,
            depth: engine::json::DEFAULT_MAX_DEPTH,
        }
    }
}

impl Limits {
    /// The limits that a workspace may set, each with what it is set to, if it is, and the least that it may be.
    fn least(&self) -> [(&'static str, Option<u64>, u64); 7] {
        [
            ("memoryMb", self.memory_mb.map(|mb| mb as u64), LEAST_MEMORY_MB),
            ("yieldMs", self.yield_ms, 1),
            ("replyBytes", Some(self.reply_bytes as u64), 1),
            ("lineBytes", Some(self.line_bytes as u64), 1),
            ("errorBytes", Some(self.error_bytes as u64), 1),
            ("importBytes", Some(self.import_bytes), 1),
            ("depth", Some(self.depth as u64), 1),
        ]
    }

    /// Whether no flow could run, nothing could come in, or what comes in could be deeper than anybody can hold.
    fn check(&self) -> Result<(), String> {
        for (name, value, least) in self.least() {
            if let Some(value) = value.filter(|value| *value < least) {
                return Err(format!("limits.{name} must be at least {least}, not {value}"));
            }
        }
        if self.depth > MAX_DEPTH {
            return Err(format!("limits.depth must be at most {MAX_DEPTH}, not {}", self.depth));
        }
        Ok(())
    }
}

/// What anything survives that was seen outside of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Durability {
    /// A killed process.
    Process,
    /// A lost power supply.
    Power,
    /// A lost power supply, and no step begins before the one before it is safe.
    Each,
    /// Nothing: the database is temporary, and of this process alone. No setting can ask for it.
    #[serde(skip)]
    Scratch,
}

impl Config {
    /// The text of a workspace's file of settings, if there is one.
    pub(crate) fn text(workspace: &Path) -> Result<Option<String>, Fault> {
        match ordinary_files::read_text(&workspace.join(FILE), ordinary_files::SETTINGS_BYTES) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Fault::invalid(format!("{FILE} cannot be read: {error}"))),
        }
    }

    /// The settings that a text is.
    pub(crate) fn parse(text: &str) -> Result<Config, Fault> {
        let wrong = |error: serde_json::Error| Fault::invalid(short(&format!("{FILE}: {error}")));
        check_objects(&engine::json::parse_input(text).map_err(wrong)?)?;
        let mut config: Config = engine::json::from_input(text).map_err(wrong)?;
        let checked = config.limits.check().and_then(|()| config.prices.check());
        checked.map_err(|error| Fault::invalid(format!("{FILE}: {error}")))?;
        config.stamp = Some(guarded_file::stamp_of(text.as_bytes()));
        Ok(config)
    }

    /// What these settings let flows reach, in no order that means anything.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let models = self.models.values().filter_map(|model| model.base_url.clone());
        self.fetch.allow.iter().map(ToString::to_string).chain(models).collect()
    }

    /// What no record may hold: what the list or this file names, and what came from the environment.
    pub(crate) fn redaction(&self) -> Redaction {
        let keys = self.models.values().filter_map(|model| model.api_key_env.as_deref());
        let named = self.env.values().filter_map(EnvValue::variable);
        let values = keys.chain(named).filter_map(|name| Some((name, std::env::var(name).ok()?)));
        let secrets = Secrets::named(values.map(|(name, value)| (name, value.trim().to_owned())));
        Redaction::new(self.redact.iter().map(String::as_str), secrets)
    }

    /// What a call of a model costs in US dollars; `None` without a price, or where the provider told no tokens.
    /// `asked` is the name in the flow, `reply` what was recorded of the answer.
    pub(crate) fn cost(&self, asked: &str, reply: &serde_json::Value) -> Option<f64> {
        // Another sample of the same experiment paid for it.
        if reply.get("sharedMs").is_some_and(serde_json::Value::is_u64) {
            return Some(0.0);
        }
        self.value_of(asked, reply)
    }

    /// The same as [`cost`](Self::cost), also for a call that another request paid for.
    pub(crate) fn value_of(&self, asked: &str, reply: &serde_json::Value) -> Option<f64> {
        let configured = self.models.get(asked).and_then(|model| model.model.as_deref());
        let names = [Some(asked), configured, reply.get("model").and_then(serde_json::Value::as_str)];
        let tokens = CallTokens::read(reply);
        let priced = tokens.and_then(|tokens| self.prices.cost(names.into_iter().flatten(), tokens));
        // Another program may say what its call cost.
        priced.or_else(|| reply.get("cost")?.as_f64())
    }

    /// What so many tokens of a model cost in US dollars; `None` without a price. `asked` is the name in the flow.
    pub(crate) fn price_of(&self, asked: &str, tokens: CallTokens) -> Option<f64> {
        let configured = self.models.get(asked).and_then(|model| model.model.as_deref());
        self.prices.cost([Some(asked), configured].into_iter().flatten(), tokens)
    }

    /// What a token costs, as [`Prices::of_token`]; `None` without a price. `answered` is the name that the provider
    /// gave.
    pub(crate) fn token_prices(&self, asked: &str, answered: &str) -> Option<[f64; 3]> {
        let configured = self.models.get(asked).and_then(|model| model.model.as_deref());
        self.prices.of_token([Some(asked), configured, Some(answered)].into_iter().flatten())
    }

    /// The hosts that flows may fetch from.
    pub(crate) fn fetch_hosts(&self) -> Vec<String> {
        self.fetch.allow.iter().map(ToString::to_string).collect()
    }

    /// `env` as flows see it.
    pub(crate) fn flow_env(&self) -> serde_json::Value {
        let values = self.env.iter().filter_map(|(name, value)| Some((name.clone(), value.read()?.into())));
        serde_json::Value::Object(values.collect())
    }

    /// The names in `env` whose values the environment has.
    pub(crate) fn secret_names(&self) -> Vec<String> {
        let named = self.env.iter().filter(|(_, value)| value.variable().is_some());
        named.map(|(name, _)| name.clone()).collect()
    }

    /// The variables of the environment that `env` names, each once.
    pub(crate) fn secret_variables(&self) -> Vec<String> {
        each_once(self.env.values().filter_map(EnvValue::variable))
    }

    /// Those that have no value here, each once.
    pub(crate) fn missing_variables(&self) -> Vec<String> {
        each_once(self.env.values().filter_map(EnvValue::missing_variable))
    }

    pub(crate) fn script_limits(&self) -> script::Limits {
        let default = script::Limits::default();
        script::Limits {
            memory_bytes: self.limits.memory_mb.map_or(default.memory_bytes, |mb| mb.saturating_mul(1 << 20)),
            yield_ms: self.limits.yield_ms.unwrap_or(default.yield_ms),
        }
    }
}

/// The paths of settings that must be objects. `*` is any name.
const OBJECTS: [&[&str]; 6] = [&[], &["models", "*"], &["fetch"], &["limits"], &["prices", "*"], &["env", "*"]];

/// Refuses a list where an object belongs: serde would read it as the object's values in their order.
fn check_objects(settings: &Value) -> Result<(), Fault> {
    OBJECTS.iter().try_for_each(|path| check_object(settings, path, ""))
}

fn check_object(value: &Value, path: &[&str], place: &str) -> Result<(), Fault> {
    let named = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    match (path, value) {
        ([], Value::Array(_)) if place.is_empty() => {
            Err(Fault::invalid(format!("{FILE} must be an object, such as {{}}, and is a list")))
        }
        ([], Value::Array(_)) => Err(Fault::invalid(format!("{FILE}: {place} must be an object, and is a list"))),
        (["*", rest @ ..], Value::Object(fields)) => {
            fields.iter().try_for_each(|(name, value)| check_object(value, rest, &named(name)))
        }
        ([name, rest @ ..], Value::Object(fields)) => {
            fields.get(*name).map_or(Ok(()), |value| check_object(value, rest, &named(name)))
        }
        _ => Ok(()),
    }
}

fn each_once<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    names.map(str::to_owned).collect::<BTreeSet<_>>().into_iter().collect()
}
