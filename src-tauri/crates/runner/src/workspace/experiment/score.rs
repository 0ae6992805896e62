//! Scores: what tells how good a sample is. Each looks at the recorded end of a sample, so scoring again runs no sample
//! again.

mod command;

use std::sync::Mutex;
use std::time::Duration;

use engine::effects::{Effects, Message, ModelCall};
use engine::event::RequestStatus;
use script::{Expression, WrongExpression};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::axes::PromptText;
use crate::core::fault::Fault;
use crate::core::ordinary_files::short;
use crate::core::sync::lock;
use crate::effects::outside::World;
use crate::models::call_meter::SampleCalls;
use crate::models::mock_script::MockModels;
use crate::run::batch::Cancel;
use crate::workspace::starting::Origin;
use crate::workspace::{Mock, RunOptions, Workspace};
use command::by_command;

/// The names that an expression over a run may use.
pub(crate) const NAMES: [&str; 7] = ["status", "output", "error", "state", "items", "usage", "durationMs"];
/// How often it is looked whether a command or a model has ended.
const LOOK: Duration = Duration::from_millis(10);
/// The generator that a mock script answers for.
const GENERATOR: &str = "score";

/// What tells how good a sample is: a number, or whether it passes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub enum Score {
    /// A TypeScript expression over `status`, `output`, `error`, `state`, `items`, `usage` and `durationMs`.
    Expression(String),
    /// An action of a flow that gets these as its input, and returns the score.
    Block {
        /// The flow.
        flow: String,
        /// Its action.
        action: String,
    },
    /// A command that gets these as JSON on its standard input, and prints the score; if it prints nothing, exit code 0
    /// passes.
    Command(String),
    /// A JSON Schema: an output passes that fits it.
    Schema {
        /// The file that it was read from.
        name: String,
        /// It.
        #[specta(type = specta_typescript::Unknown)]
        #[serde(deserialize_with = "engine::json::exact")]
        schema: Value,
    },
    /// A model that is told these as JSON after a prompt, and answers with the score.
    Model {
        /// The model.
        model: String,
        /// What it is told first.
        prompt: PromptText,
    },
}

/// A score that is ready to be given.
pub(crate) enum Scorer<'s> {
    Expression(Expression),
    Schema(Box<jsonschema::Validator>),
    Other(&'s Score),
}

/// Whose score is given, and by whom.
pub(crate) struct Scored<'s> {
    /// The user of the request.
    pub(crate) user: &'s str,
    /// The flow file of the request.
    pub(crate) file: &'s str,
    /// How model calls are answered.
    pub(crate) mock: Mock,
    /// Counts its model calls.
    pub(crate) calls: SampleCalls,
    /// Ends a command.
    pub(crate) cancel: Cancel,
}

impl Score {
    /// Reads an expression, and checks a schema. Fails with what is wrong, and where.
    pub(crate) fn ready(&self) -> Result<Scorer<'_>, Fault> {
        match self {
            Score::Expression(text) => Ok(Scorer::Expression(expression("--score", text)?)),
            Score::Schema { name, schema } => {
                let validator = jsonschema::validator_for(schema)
                    .map_err(|error| Fault::invalid(format!("--score-schema {name} is not a JSON Schema: {error}")))?;
                Ok(Scorer::Schema(Box::new(validator)))
            }
            Score::Command(command) if command.trim().is_empty() => {
                Err(Fault::invalid("--score-command: the command is empty; give one that prints the score"))
            }
            other => Ok(Scorer::Other(other)),
        }
    }
}

/// Reads an expression over a run; `flag` is how it was given.
pub(crate) fn expression(flag: &str, text: &str) -> Result<Expression, Fault> {
    Expression::parse(text, &NAMES).map_err(|WrongExpression { message, column }| {
        Fault::invalid(match message.strip_prefix("has a syntax error: ") {
            Some(what) => format!("{flag}: syntax error at column {column}: {what}"),
            None => format!("{flag}: column {column}: the expression {message}"),
        })
    })
}

impl Workspace {
    /// Scores a run, if the budget has room for that. `None` if it has not, or the experiment was cancelled.
    pub(super) fn score_in_budget(
        &self,
        scorer: &Scorer<'_>,
        run: &Value,
        of: &Scored<'_>,
        is_refused: &Mutex<bool>,
    ) -> Option<Value> {
        let Scored { calls, cancel, .. } = of;
        let (is_block, has_room) = match scorer {
            Scorer::Other(Score::Model { model, .. }) => {
                (false, calls.wait_for_room(model, &|| cancel.is_cancelled(), &|| false))
            }
            Scorer::Other(Score::Block { .. }) => (true, !*lock(is_refused)),
            _ => (false, true),
        };
        if !has_room {
            return None;
        }
        // A block may ask no model. With a spent budget one is tried at a time, until one asks.
        let mut alone = (is_block && calls.is_budget_spent()).then(|| lock(is_refused));
        if alone.as_deref() == Some(&true) {
            return None;
        }
        let score = self.score(scorer, run, of);
        calls.give_room_back();
        if let (true, Some(is_refused)) = (calls.is_refused(), alone.as_deref_mut()) {
            *is_refused = true;
        }
        drop(alone);
        match score {
            Ok(value) => Some(json!({ "value": value })),
            Err(_) if calls.is_refused() => {
                *lock(is_refused) = true;
                None
            }
            Err(_) if cancel.is_cancelled() => None,
            Err(why) => Some(json!({ "error": why })),
        }
    }

    /// The score of a run by what is told of it. `Err` is why it has none.
    pub(super) fn score(&self, scorer: &Scorer<'_>, run: &Value, of: &Scored<'_>) -> Result<Value, String> {
        let value = match scorer {
            Scorer::Expression(expression) => {
                expression.evaluate(run)?.ok_or_else(|| "the score is undefined".to_owned())?
            }
            // A run that did not complete has no output that could fit.
            Scorer::Schema(validator) => {
                (run["status"] == RequestStatus::Completed.as_str() && validator.is_valid(&run["output"])).into()
            }
            Scorer::Other(Score::Command(command)) => by_command(command, &self.dir, run, &of.cancel)?,
            Scorer::Other(Score::Block { flow, action }) => {
                let options = RunOptions {
                    flow: flow.clone(),
                    action: action.clone(),
                    user: of.user.to_owned(),
                    input: Some(run.clone()),
                    mock: of.mock.clone(),
                    ..RunOptions::default()
                };
                let origin = Origin { calls: Some(of.calls.clone()), ..Origin::default() };
                let running = self.run_as(options, origin).map_err(|fault| fault.to_string())?;
                let ended = self.finish_sample(running, &of.calls, &of.cancel).map_err(|fault| fault.to_string())?;
                match ended.error {
                    Some(error) => return Err(format!("{}: {}", error.name, error.message)),
                    None => ended.output.to_option().unwrap_or_default(),
                }
            }
            Scorer::Other(Score::Model { model, prompt }) => self.by_model(model, &prompt.text, run, of)?,
            Scorer::Other(Score::Expression(_) | Score::Schema { .. }) => return Err("it is not ready".to_owned()),
        };
        match value {
            Value::Bool(_) => Ok(value),
            Value::Number(ref number) if number.as_f64().is_some_and(f64::is_finite) => Ok(value),
            Value::Null => Err("a score is a number, true or false, not null, NaN or Infinity".to_owned()),
            other => Err(format!("a score is a number, true or false, not {}", short(&other.to_string()))),
        }
    }

    fn by_model(&self, model: &str, prompt: &str, run: &Value, of: &Scored<'_>) -> Result<Value, String> {
        let message = |role: &str, content: String| Message { role: role.to_owned(), content: content.into() };
        let schema = json!({
            "type": "object",
            "properties": { "score": { "type": ["number", "boolean"] } },
            "required": ["score"],
            "additionalProperties": false,
        });
        let call = ModelCall {
            generator: GENERATOR.to_owned(),
            model: model.to_owned(),
            messages: vec![message("system", prompt.to_owned()), message("user", run.to_string())],
            tools: Vec::new(),
            output_schema: Some(schema),
            step: 0,
            max_tokens: None,
            provider_options: None,
            defined_models: std::collections::BTreeMap::new(),
            coerces: false,
        };
        let (script, _) = self.mock_of(&of.mock, of.file).map_err(|fault| fault.to_string())?;
        let world = World::new(script.map(MockModels::new), &self.config, self.trust).metered(of.calls.clone());
        let runtime = crate::run::threads::runtime().map_err(|error| error.to_string())?;
        let reply = runtime.block_on(async {
            let mut answer = world.model(call, None);
            loop {
                match tokio::time::timeout(LOOK, &mut answer).await {
                    Ok(reply) => return reply.map_err(|error| format!("{}: {}", error.name, error.message)),
                    Err(_) if of.calls.is_refused() => return Err("the budget is spent".to_owned()),
                    Err(_) => {}
                }
            }
        })?;
        let said = reply.candidate().to_option().unwrap_or_default();
        let said = match said {
            Value::String(text) => engine::json::parse(text.trim()).unwrap_or(Value::String(text)),
            other => other,
        };
        Ok(said.get("score").cloned().unwrap_or(said))
    }
}
