//! What an experiment varies: its axes, and its arms, which are their product.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::score::Score;
use crate::core::fault::Fault;
use crate::models::call_meter::Budget;
use crate::workspace::Mock;

/// How many samples an experiment may have, all arms together.
const MAX_SAMPLES: usize = 10_000;

/// What to try: forks of a request from just before a block, each with other values of these axes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase", default)]
pub struct TryQuery {
    /// The request.
    pub request: String,
    /// The path of the block; `#N` after it names an execution, from 0.
    pub at: String,
    /// Models that the generator there asks.
    pub models: Vec<String>,
    /// Texts in place of the generator's `prompt`, `user` or `context`; each of these fields is an axis of its own.
    pub prompts: Vec<PromptText>,
    /// Other parameters of its model calls.
    pub parameters: Vec<ParameterAxis>,
    /// Places in state, and what is there.
    pub set: Vec<SetAxis>,
    /// What the block gives, so that it is not run.
    #[specta(type = Vec<specta_typescript::Unknown>)]
    #[serde(deserialize_with = "engine::json::exact")]
    pub outputs: Vec<Value>,
    /// Revisions of the repository whose code runs; an empty name is the working copy.
    pub code: Vec<String>,
    /// How often each arm is sampled; 0 is 1.
    pub samples: u32,
    /// What tells how good a sample is.
    pub score: Option<Score>,
    /// The limit of the spending.
    pub budget: Option<Budget>,
    /// How model calls are answered.
    pub models_by: ModelsBy,
    /// How many samples run at once.
    pub jobs: Option<u32>,
}

/// A text of a generator that another text can take the place of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "lowercase")]
pub enum PromptField {
    /// What the system says.
    #[default]
    Prompt,
    /// What the user says.
    User,
    /// What the model is told beside the prompt.
    Context,
}

impl PromptField {
    /// All of them, in the order in which they vary.
    pub const ALL: [PromptField; 3] = [PromptField::Prompt, PromptField::User, PromptField::Context];

    /// The name of the generator's option.
    pub fn name(self) -> &'static str {
        match self {
            PromptField::Prompt => "prompt",
            PromptField::User => "user",
            PromptField::Context => "context",
        }
    }
}

/// A text in place of a prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, specta::Type)]
pub struct PromptText {
    /// The option of the generator that it takes the place of.
    #[serde(default)]
    pub field: PromptField,
    /// The file it was read from, or another name for it.
    pub name: String,
    /// It.
    pub text: String,
}

/// A parameter of model calls, and its values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, specta::Type)]
pub struct ParameterAxis {
    /// As `temperature`.
    pub name: String,
    /// One arm each.
    #[specta(type = Vec<specta_typescript::Unknown>)]
    #[serde(deserialize_with = "engine::json::exact")]
    pub values: Vec<Value>,
}

/// A place in state, and its values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, specta::Type)]
pub struct SetAxis {
    /// As `session.mode`.
    pub place: String,
    /// One arm each.
    #[specta(type = Vec<specta_typescript::Unknown>)]
    #[serde(deserialize_with = "engine::json::exact")]
    pub values: Vec<Value>,
}

/// Who answers the models of an experiment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub enum ModelsBy {
    /// Whoever answered the request's.
    #[default]
    AsRecorded,
    /// Real models.
    Real,
    /// The mock script beside the flow.
    Mock,
    /// This mock script.
    MockFile(std::path::PathBuf),
}

impl From<&ModelsBy> for Mock {
    fn from(models_by: &ModelsBy) -> Mock {
        match models_by {
            ModelsBy::AsRecorded => Mock::Inherit,
            ModelsBy::Real => Mock::Off,
            ModelsBy::Mock => Mock::Beside,
            ModelsBy::MockFile(file) => Mock::File(file.clone()),
        }
    }
}

/// One combination of values. Of the base arm everything is as it was.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Arm {
    pub(crate) model: Option<String>,
    /// At most one of a field.
    pub(crate) prompts: Vec<PromptText>,
    pub(crate) options: Map<String, Value>,
    pub(crate) set: Vec<(String, Value)>,
    pub(crate) output: Option<Value>,
    pub(crate) code: Option<String>,
}

impl Arm {
    /// Whether nothing is otherwise.
    pub(crate) fn is_base(&self) -> bool {
        *self == Arm::default()
    }

    /// Its values by axis, as they are shown.
    pub(crate) fn axes(&self) -> Map<String, Value> {
        let mut axes = Map::new();
        let mut put = |name: String, value: Option<Value>| {
            if let Some(value) = value {
                axes.insert(name, value);
            }
        };
        put("model".to_owned(), self.model.clone().map(Value::from));
        for PromptText { field, name, .. } in &self.prompts {
            put(field.name().to_owned(), Some(name.clone().into()));
        }
        self.options.iter().for_each(|(name, value)| put(name.clone(), Some(value.clone())));
        self.set.iter().for_each(|(place, value)| put(place.clone(), Some(value.clone())));
        put("output".to_owned(), self.output.clone());
        put("code".to_owned(), self.code.clone().map(Value::from));
        axes
    }
}

impl TryQuery {
    /// How often each arm is sampled.
    pub(crate) fn samples(&self) -> u32 {
        self.samples.max(1)
    }

    /// Whether an axis is about the generator, so that there must be one.
    pub(crate) fn needs_generator(&self) -> bool {
        !self.models.is_empty() || !self.prompts.is_empty() || !self.parameters.is_empty()
    }

    /// The texts in place of a field.
    fn prompts_of(&self, field: PromptField) -> impl Iterator<Item = &PromptText> {
        self.prompts.iter().filter(move |prompt| prompt.field == field)
    }

    /// How many combinations of texts and revisions there are: as many versions of the code.
    pub(crate) fn versions(&self) -> usize {
        let texts = PromptField::ALL.map(|field| self.prompts_of(field).count().max(1));
        texts.into_iter().fold(self.code.len().max(1), usize::saturating_mul)
    }

    /// The arms, those of the last axis next to each other. Without axes it is the base arm alone.
    pub(crate) fn arms(&self) -> Result<Vec<Arm>, Fault> {
        self.check()?;
        let mut arms = vec![Arm::default()];
        let mut vary = |count: usize, put: &dyn Fn(&mut Arm, usize)| {
            if count == 0 {
                return;
            }
            let before = std::mem::take(&mut arms);
            for arm in before {
                arms.extend((0..count).map(|value| {
                    let mut arm = arm.clone();
                    put(&mut arm, value);
                    arm
                }));
            }
        };
        vary(self.models.len(), &|arm, value| arm.model = Some(self.models[value].clone()));
        for field in PromptField::ALL {
            let texts: Vec<&PromptText> = self.prompts_of(field).collect();
            vary(texts.len(), &|arm, value| arm.prompts.push(texts[value].clone()));
        }
        for axis in &self.parameters {
            vary(axis.values.len(), &|arm, value| {
                arm.options.insert(axis.name.clone(), axis.values[value].clone());
            });
        }
        for axis in &self.set {
            vary(axis.values.len(), &|arm, value| arm.set.push((axis.place.clone(), axis.values[value].clone())));
        }
        vary(self.outputs.len(), &|arm, value| arm.output = Some(self.outputs[value].clone()));
        vary(self.code.len(), &|arm, value| arm.code = Some(self.code[value].clone()));
        Ok(arms)
    }

    fn check(&self) -> Result<(), Fault> {
        let axes = [self.models.len(), self.outputs.len(), self.code.len()];
        let values = PromptField::ALL.into_iter().map(|field| self.prompts_of(field).count());
        let values = values.chain(self.parameters.iter().map(|axis| axis.values.len()));
        let values = values.chain(self.set.iter().map(|axis| axis.values.len()));
        let arms = axes.into_iter().chain(values).filter(|count| *count > 0);
        let all = arms.fold(1_usize, usize::saturating_mul).saturating_mul(self.samples() as usize);
        if all > MAX_SAMPLES {
            return Err(Fault::invalid(format!(
                "these are {all} samples, all arms together; an experiment has at most {MAX_SAMPLES}: try fewer \
                 values, or fewer samples"
            )));
        }
        for (what, names) in [("--model", &self.models), ("--code", &self.code)] {
            if names.iter().any(|name| name.trim().is_empty()) {
                return Err(Fault::invalid(format!("{what}: a name is empty")));
            }
        }
        if self.parameters.iter().any(|axis| axis.name.trim().is_empty()) {
            return Err(Fault::invalid("--parameter: a name is empty; write it like temperature=0,1"));
        }
        for axis in self.parameters.iter().filter(|axis| matches!(axis.name.as_str(), "maxTokens" | "maxOutputTokens"))
        {
            let is_count = |value: &Value| value.as_u64().is_some_and(|most| most > 0 && most <= u32::MAX.into());
            if let Some(wrong) = axis.values.iter().find(|value| !is_count(value)) {
                return Err(Fault::invalid(format!("--parameter {}: {wrong} is no number of tokens", axis.name)));
            }
        }
        let texts = |values: &[Value]| -> Vec<String> { values.iter().map(Value::to_string).collect() };
        let mut given: Vec<(String, Vec<String>)> = vec![
            ("--model".to_owned(), self.models.clone()),
            ("--code".to_owned(), self.code.clone()),
            ("--set".to_owned(), self.set.iter().map(|axis| axis.place.clone()).collect()),
            ("--parameter".to_owned(), self.parameters.iter().map(|axis| axis.name.clone()).collect()),
            ("--output".to_owned(), self.outputs.iter().map(Value::to_string).collect()),
        ];
        for field in PromptField::ALL {
            let flag = match field {
                PromptField::Prompt => "--prompt".to_owned(),
                other => format!("--prompt {}", other.name()),
            };
            given.push((flag, self.prompts_of(field).map(|text| text.name.clone()).collect()));
        }
        given.extend(self.set.iter().map(|axis| (format!("--set {}", axis.place), texts(&axis.values))));
        given.extend(self.parameters.iter().map(|axis| (format!("--parameter {}", axis.name), texts(&axis.values))));
        for (flag, mut values) in given {
            values.sort_unstable();
            if let Some(twice) = values.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(Fault::invalid(format!("{flag}: {} is given twice", twice[0])));
            }
        }
        match self.budget {
            Some(Budget::Calls(0) | Budget::Tokens(0)) => Err(Fault::invalid(format!(
                "--budget: a budget of 0 allows no model call; give a whole number from 1 to {}",
                u32::MAX
            ))),
            Some(Budget::Usd(usd)) if !(usd > 0.0 && usd <= Budget::MAX_USD) => Err(Fault::invalid(format!(
                "--budget: {usd} US dollars: give more than 0 and at most {}",
                Budget::MAX_USD
            ))),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arms_are_the_product_of_the_axes() {
        let query = TryQuery {
            models: vec!["a".to_owned(), "b".to_owned()],
            set: vec![SetAxis { place: "session.n".to_owned(), values: vec![json!(1), json!(2), json!(3)] }],
            outputs: vec![json!(null)],
            ..TryQuery::default()
        };
        let arms = query.arms().unwrap();
        let axes: Vec<String> = arms.iter().map(|arm| Value::from(arm.axes()).to_string()).collect();
        assert_eq!(axes.len(), 6);
        assert_eq!(axes[0], r#"{"model":"a","session.n":1,"output":null}"#);
        assert_eq!(axes[5], r#"{"model":"b","session.n":3,"output":null}"#);
        let nothing = TryQuery::default().arms().unwrap();
        assert!(nothing.len() == 1 && nothing[0].is_base());
    }

    #[test]
    fn each_text_of_a_generator_is_an_axis() {
        let text = |field, name: &str| PromptText { field, name: name.to_owned(), text: "t".to_owned() };
        let prompts = vec![
            text(PromptField::User, "u.md"),
            text(PromptField::Prompt, "a.md"),
            text(PromptField::Prompt, "b.md"),
            text(PromptField::User, "a.md"),
        ];
        let query = TryQuery { prompts, ..TryQuery::default() };
        let arms = query.arms().unwrap();
        let axes: Vec<String> = arms.iter().map(|arm| Value::from(arm.axes()).to_string()).collect();
        assert_eq!(
            axes,
            [
                r#"{"prompt":"a.md","user":"u.md"}"#,
                r#"{"prompt":"a.md","user":"a.md"}"#,
                r#"{"prompt":"b.md","user":"u.md"}"#,
                r#"{"prompt":"b.md","user":"a.md"}"#,
            ]
        );
        assert_eq!(query.versions(), 4);
        // Experiments of earlier versions have no field.
        let old: PromptText = serde_json::from_value(json!({ "name": "a", "text": "b" })).unwrap();
        assert_eq!(old.field, PromptField::Prompt);
    }

    #[test]
    fn what_cannot_be_tried_is_refused() {
        let check = |query: TryQuery, part: &str| {
            let fault = query.arms().unwrap_err().to_string();
            assert!(fault.contains(part), "{fault}");
        };
        let many: Vec<String> = (0..200).map(|n| format!("m{n}")).collect();
        check(TryQuery { models: many, samples: 51, ..TryQuery::default() }, "10200 samples");
        check(TryQuery { budget: Some(Budget::Calls(0)), ..TryQuery::default() }, "allows no model call");
        for usd in [-1.0, 0.0, f64::NAN, f64::INFINITY, 1e300] {
            check(
                TryQuery { budget: Some(Budget::Usd(usd)), ..TryQuery::default() },
                "more than 0 and at most 1000000000",
            );
        }
        check(TryQuery { models: vec![String::new()], ..TryQuery::default() }, "--model: a name is empty");
        let axis = |value: Value| SetAxis { place: "session.n".to_owned(), values: vec![value] };
        check(TryQuery { set: vec![axis(json!(1)), axis(json!(2))], ..TryQuery::default() }, "given twice");
    }
}
