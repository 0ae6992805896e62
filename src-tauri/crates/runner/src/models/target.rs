//! From a generator's model string to a provider, its model, an address and a key.
//!
//! `flowglass.json` comes first, then what the flow defines, then a provider's prefix, then well-known names. Nothing
//! is asked of the network here.

use std::collections::BTreeMap;
use std::time::Duration;

use engine::effects::ModelCall;
use engine::error::FlowError;
use engine::provider::provider_error;
use reqwest::Url;

use super::provider::{Kind, default_key, kind, kind_of_model};
use crate::core::config::{FILE, Model};
use crate::core::fault::Fault;
use crate::models::http;

/// How long a server may say nothing.
const TIMEOUT_MS: u64 = 60_000;

/// Prefixes that name a purpose instead of a provider.
const PURPOSES: [&str; 2] = ["preset/", "intent/"];

/// Who answers a call.
#[derive(Debug)]
pub(crate) struct Target {
    /// The name the flow uses.
    pub(crate) asked: String,
    pub(crate) kind: Kind,
    /// The provider's own name of the model.
    pub(crate) model: String,
    /// An address other than the provider's own, with a slash at its end.
    pub(crate) base: Option<Url>,
    pub(crate) key: Option<String>,
    /// The variable the key came from.
    variable: Option<String>,
    pub(crate) timeout: Duration,
    /// Host and port, as people read them; known once settled.
    pub(crate) host: String,
}

/// Finds out who answers; `read` reads an environment variable.
pub(crate) fn find(
    call: &ModelCall,
    named: &BTreeMap<String, Model>,
    read: impl Fn(&str) -> Option<String>,
) -> Result<Target, FlowError> {
    let defined = call.defined_models.get(&call.model).filter(|_| !named.contains_key(&call.model));
    let asked = defined.unwrap_or(&call.model).as_str();
    let entry = named.get(asked);
    let default = Model::default();
    let settings = entry.unwrap_or(&default);
    let (prefix, plain) = match asked.split_once('/') {
        Some((prefix, plain)) => (kind(prefix), plain),
        None => (None, asked),
    };
    let base = settings.base_url.as_deref().map(|base| address(asked, base)).transpose()?;
    let chosen = match &settings.provider {
        Some(provider) => Some(kind(provider).ok_or_else(|| unconfigured(unknown_provider(asked, provider)))?),
        None if entry.is_none() && PURPOSES.iter().any(|purpose| asked.starts_with(purpose)) => {
            return Err(unconfigured(format!(
                "{} is not configured: it names a purpose, so add \"{asked}\" to \"models\" in {FILE} with a \
                 provider and a model, or run with mock models (in a terminal: --mock)",
                named_in(asked, call)
            )));
        }
        None => prefix.or_else(|| kind_of_model(asked)).or(base.as_ref().and_then(|_| kind("openai"))),
    };
    let Some(chosen) = chosen else {
        return Err(unconfigured(format!(
            "{} is not configured: add it to \"models\" in {FILE} with its provider and the environment variable \
             that holds its key (apiKeyEnv), name it with a provider before a slash (openai/…), or run with mock \
             models (in a terminal: --mock)",
            named_in(asked, call)
        )));
    };
    let model = settings.model.clone().unwrap_or_else(|| if prefix.is_some() { plain } else { asked }.to_owned());
    let variable = settings.api_key_env.clone().or_else(|| default_key(chosen).map(str::to_owned));
    let key = variable.as_deref().and_then(&read).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty());
    if let (None, Some(variable)) = (&key, &variable)
        // A server of one's own may ask for no key.
        && (settings.api_key_env.is_some() || base.is_none())
    {
        return Err(unconfigured(format!(
            "{} is not configured: set the environment variable {variable} to its key, or name another in \
             \"models\" of {FILE} (apiKeyEnv), or run with mock models (in a terminal: --mock)",
            named_in(asked, call)
        )));
    }
    let timeout = Duration::from_millis(settings.timeout_ms.unwrap_or(TIMEOUT_MS));
    let host = base.as_ref().map(http::place).unwrap_or_default();
    Ok(Target { asked: call.model.clone(), kind: chosen, model, base, key, variable, timeout, host })
}

/// Refuses settings that name an unknown provider, before they are written: no run is needed to see it.
pub(crate) fn check_providers(models: &BTreeMap<String, Model>) -> Result<(), Fault> {
    let unknown = models.iter().find_map(|(name, model)| {
        let provider = model.provider.as_deref().filter(|provider| kind(provider).is_none())?;
        Some(unknown_provider(name, provider))
    });
    unknown.map_or(Ok(()), |message| Err(Fault::invalid(message)))
}

fn unknown_provider(model: &str, provider: &str) -> String {
    format!(
        "{FILE}: models.{model}.provider: \"{provider}\" is no known provider; known are openai (with a baseUrl \
         anything that speaks like it), anthropic, gemini, ollama, openrouter, groq, mistral, deepseek, xai …"
    )
}

/// A model as errors name it: with the generator that asks it. A test call has none.
fn named_in(asked: &str, call: &ModelCall) -> String {
    if call.generator.is_empty() {
        return format!("model \"{asked}\"");
    }
    format!("model \"{asked}\" of \"{}\"", call.generator)
}

/// Who would answer a model, as far as settings and the environment tell.
pub(crate) struct Answerer {
    pub(crate) provider: Option<String>,
    pub(crate) variable: Option<String>,
    pub(crate) has_key: bool,
    pub(crate) problem: Option<String>,
}

/// Finds out who would answer a model that a flow names so. Nothing is asked.
pub(crate) fn who_answers(asked: &str, named: &BTreeMap<String, Model>) -> Answerer {
    let call = call_of(asked, "", BTreeMap::new());
    let real = |name: &str| std::env::var(name).ok();
    // With any key in the place of one that is missing, the rest of what is known is still told.
    let found = find(&call, named, |name| Some(real(name).unwrap_or_else(|| "missing".to_owned())));
    let (provider, variable) = match found {
        Ok(target) => (Some(target.kind.as_lower_str().to_owned()), target.variable),
        Err(_) => (None, named.get(asked).and_then(|model| model.api_key_env.clone())),
    };
    let has_key = variable.as_deref().is_some_and(|name| real(name).is_some_and(|key| !key.trim().is_empty()));
    let problem = find(&call, named, real).err().map(|error| error.message);
    Answerer { provider, variable, has_key, problem }
}

/// Says why nobody would answer a generator that asks a model; `defined` are the names that its flow gives to models.
pub(crate) fn problem_of(
    asked: &str,
    generator: &str,
    named: &BTreeMap<String, Model>,
    defined: BTreeMap<String, String>,
) -> Option<String> {
    let found = find(&call_of(asked, generator, defined), named, |name| std::env::var(name).ok());
    found.err().map(|error| error.message)
}

fn call_of(asked: &str, generator: &str, defined_models: BTreeMap<String, String>) -> ModelCall {
    ModelCall {
        generator: generator.to_owned(),
        model: asked.to_owned(),
        messages: Vec::new(),
        tools: Vec::new(),
        output_schema: None,
        step: 0,
        max_tokens: None,
        provider_options: None,
        defined_models,
        coerces: false,
    }
}

impl Target {
    /// Knows the provider's own address. A key goes there, to this machine, or where the person who
    /// runs the flow has said so (ARCHITECTURE §6.6).
    pub(crate) fn settle(&mut self, own: Option<Url>, trust: bool) -> Result<(), FlowError> {
        let Some(base) = &self.base else {
            self.host = own.as_ref().map(http::place).unwrap_or_default();
            return Ok(());
        };
        let known = own.is_some_and(|own| own.origin() == base.origin()) || http::is_loopback(base);
        match (&self.key, &self.variable) {
            (Some(_), Some(variable)) if !known && !trust => Err(FlowError {
                code: Some("untrusted_address".to_owned()),
                ..provider_error(
                    "ModelError",
                    format!(
                        "model \"{}\": the key in {variable} would go to {}, which is neither the provider's own \
                         address nor this machine; if that is right, confirm with --trust",
                        self.asked, self.host
                    ),
                )
            })
            .map_err(|error| FlowError { retryable: false, ..error }),
            _ => Ok(()),
        }
    }
}

fn address(asked: &str, base: &str) -> Result<Url, FlowError> {
    let wrong = |why: String| unconfigured(format!("{FILE}: the baseUrl \"{base}\" of model \"{asked}\" {why}"));
    let mut url = Url::parse(base).map_err(|error| wrong(format!("is no address: {error}")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("must begin with http:// or https://".to_owned()));
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

fn unconfigured(message: String) -> FlowError {
    let code = Some("model_not_configured".to_owned());
    FlowError { code, retryable: false, ..provider_error("ModelError", message) }
}
