//! What the commands about experiments may be told: `try`, `experiments`, `adopt`, `culprit`.

use std::path::PathBuf;

use clap::{ArgGroup, Args};
use engine::json::parse_input;
use runner::{Budget, CulpritQuery, Fault, ModelsBy, ParameterAxis, PromptField, PromptText, Score, SetAxis, TryQuery};
use serde_json::Value;

use super::value::file;
use crate::cli::given::{end_of_place, read_json, read_json_file};

/// `try`.
#[derive(Args)]
#[command(group = ArgGroup::new("scoring"))]
#[command(after_help = "Examples:
  flowglass try req_3f2a --at root/step:ask --model gpt-5-mini,claude-haiku-4-5 --samples 5 --score 'output.eur <= 100'
  flowglass try req_3f2a --at root/step:ask --prompt short.md,long.md --plan
  flowglass try req_3f2a --at root/step:ask --prompt short.md --prompt user:question.md,order.md
  flowglass try req_3f2a --at root/step:ask --set session.mode=strict,free --budget 20
  flowglass try --go-on exp_7c1e --samples 20 --score 'output.lines.length'
An arm is one combination of the values; beside the arms the base arm is sampled, in which everything is as it was. What
came before the block is taken from the log, and no model is asked for it again. Each sample is a forked request.")]
pub(crate) struct Try {
    /// The request whose forks are compared
    #[arg(required_unless_present = "go_on", conflicts_with = "go_on")]
    request: Option<String>,
    /// The block that the forks begin with; #N after it names an execution, from 0
    #[arg(long, value_name = "PATH", required_unless_present = "go_on", conflicts_with = "go_on")]
    at: Option<String>,
    /// Models that the generator there asks, one arm each
    #[arg(long, value_name = "A,B", value_delimiter = ',', conflicts_with = "go_on")]
    model: Vec<String>,
    /// Files with other prompts of the generator; ${…} in them is code if the prompt is a function or a template. With
    /// user: or context: before them the files take the place of its user or context
    #[arg(long, alias = "prompt-file", value_name = "[user:|context:]FILE,…", conflicts_with = "go_on")]
    prompt: Vec<String>,
    /// A parameter of its model calls, like temperature=0,1; an option that one provider alone has like
    /// 'openai={"store":true}'
    #[arg(long, value_name = "NAME=A,B", conflicts_with = "go_on")]
    parameter: Vec<String>,
    /// A place in state, and values there as JSON: session.mode=strict,free. Texts need no quotes
    #[arg(long, value_name = "SCOPE.PATH=JSON", conflicts_with = "go_on")]
    set: Vec<String>,
    /// What the block gives, as JSON; it is not run then
    #[arg(long, value_name = "JSON,…", conflicts_with_all = ["go_on", "model", "prompt", "parameter"])]
    output: Vec<String>,
    /// Revisions of the Git repository whose code runs
    #[arg(long, value_name = "REV,…", value_delimiter = ',', conflicts_with = "go_on")]
    code: Vec<String>,
    /// How often each arm is sampled (default: 1)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    samples: Option<u32>,
    /// A TypeScript expression over status, output, error, state, items, usage, durationMs: true, false or a number
    #[arg(long, value_name = "EXPR", group = "scoring")]
    score: Option<String>,
    /// An action that gets these as its input, and returns the score
    #[arg(long, value_name = "FLOW.ACTION", group = "scoring")]
    score_block: Option<String>,
    /// A command that gets these as JSON on stdin, and prints the score alone; without output exit code 0 passes. It is
    /// ended after 60 seconds; one that a signal ends gives no score
    #[arg(long, value_name = "CMD", group = "scoring")]
    score_command: Option<String>,
    /// A file with a JSON Schema that the output must fit
    #[arg(long, value_name = "FILE", group = "scoring")]
    score_schema: Option<PathBuf>,
    /// A model that answers with the score
    #[arg(long, value_name = "MODEL", group = "scoring", requires = "score_prompt")]
    score_model: Option<String>,
    /// A file with what that model is told before the result
    #[arg(long, value_name = "FILE", requires = "score_model")]
    score_prompt: Option<PathBuf>,
    /// What may be spent at most, all samples together: 50 (model calls, also refused ones), 20000tokens, 0.5usd
    #[arg(long, value_name = "BUDGET", value_parser = budget, allow_negative_numbers = true)]
    budget: Option<Budget>,
    /// Say what it will take, and run nothing; with --go-on what is left to do
    #[arg(long)]
    pub(crate) plan: bool,
    /// Go on with an experiment that was stopped, take more samples of it, or score it otherwise
    #[arg(long, value_name = "EXPERIMENT", conflicts_with_all = ["mock", "real"])]
    pub(crate) go_on: Option<String>,
    #[command(flatten)]
    models: TriedModels,
    /// How many samples run at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
}

/// Who answers models.
#[derive(Args)]
struct TriedModels {
    /// Models answer from the mock script beside the flow, or from this one (default: as in the request)
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    #[arg(value_parser = file(), conflicts_with = "real")]
    mock: Option<PathBuf>,
    /// Real models answer, although the request's were mocked
    #[arg(long)]
    real: bool,
}

impl TriedModels {
    fn models_by(&self) -> ModelsBy {
        match &self.mock {
            Some(file) if file.as_os_str().is_empty() => ModelsBy::Mock,
            Some(file) => ModelsBy::MockFile(std::path::absolute(file).unwrap_or_else(|_| file.clone())),
            None if self.real => ModelsBy::Real,
            None => ModelsBy::AsRecorded,
        }
    }
}

impl Try {
    pub(crate) fn query(&self) -> Result<TryQuery, Fault> {
        let axis = |text: &String, flag: &str| -> Result<(String, Vec<Value>), Fault> {
            let at = end_of_place(text)
                .ok_or_else(|| invalid(format!("{flag} {text:?} has no \"=\"; write it like name=value")))?;
            let (name, values) = (&text[..at], &text[at + 1..]);
            Ok((name.to_owned(), values_of(&format!("{flag} {name}"), values)?))
        };
        let parameter = |text| {
            let (name, values) = axis(text, "--parameter")?;
            Ok(ParameterAxis { name, values })
        };
        let set = |text| {
            let (place, values) = axis(text, "--set")?;
            Ok(SetAxis { place, values })
        };
        let outputs = self.output.iter().map(|text| list_of("--output", text)).collect::<Result<Vec<_>, Fault>>()?;
        Ok(TryQuery {
            request: self.request.clone().unwrap_or_default(),
            at: self.at.clone().unwrap_or_default(),
            models: self.model.clone(),
            prompts: prompts(&self.prompt)?,
            parameters: self.parameter.iter().map(parameter).collect::<Result<_, Fault>>()?,
            set: self.set.iter().map(set).collect::<Result<_, Fault>>()?,
            outputs: outputs.into_iter().flatten().collect(),
            code: self.code.clone(),
            samples: self.samples.unwrap_or_default(),
            score: self.score()?,
            budget: self.budget,
            models_by: self.models.models_by(),
            jobs: self.jobs,
        })
    }

    fn score(&self) -> Result<Option<Score>, Fault> {
        if let Some(text) = &self.score {
            return Ok(Some(Score::Expression(text.clone())));
        }
        if let Some(name) = &self.score_block {
            let (flow, action) = name
                .rsplit_once('.')
                .ok_or_else(|| invalid(format!("--score-block {name}: write FLOW.ACTION, like judge.rate")))?;
            return Ok(Some(Score::Block { flow: flow.to_owned(), action: action.to_owned() }));
        }
        if let Some(command) = &self.score_command {
            return Ok(Some(Score::Command(command.clone())));
        }
        if let Some(file) = &self.score_schema {
            let name = file.display().to_string();
            let schema = read_json_file("--score-schema", file)?;
            return Ok(Some(Score::Schema { name, schema }));
        }
        match (&self.score_model, &self.score_prompt) {
            (Some(model), Some(file)) => {
                Ok(Some(Score::Model { model: model.clone(), prompt: prompt("--score-prompt", file)? }))
            }
            _ => Ok(None),
        }
    }
}

/// Files with prompts, separated by commas; one that has a comma in its name stands alone. `user:` or `context:` before
/// the first one is about all of them.
fn prompts(given: &[String]) -> Result<Vec<PromptText>, Fault> {
    let mut prompts = Vec::new();
    for text in given {
        let is_file = |text: &str| std::path::Path::new(text).is_file();
        let named = PromptField::ALL.into_iter().find_map(|field| {
            let files = text.strip_prefix(field.name())?.strip_prefix(':')?;
            Some((field, files))
        });
        let (field, files) = named.filter(|_| !is_file(text)).unwrap_or((PromptField::Prompt, text.as_str()));
        let flag = match field {
            PromptField::Prompt => "--prompt".to_owned(),
            other => format!("--prompt {}", other.name()),
        };
        let files = if is_file(files) { vec![files] } else { files.split(',').collect() };
        for file in files {
            prompts.push(PromptText { field, ..prompt(&flag, std::path::Path::new(file))? });
        }
    }
    Ok(prompts)
}

fn prompt(flag: &str, file: &std::path::Path) -> Result<PromptText, Fault> {
    let name = file.display().to_string();
    if name.is_empty() {
        return Err(invalid(format!("{flag}: the name of a file is missing")));
    }
    let text = runner::read_text(file).map_err(|error| invalid(format!("{flag} {name}: {error}")))?;
    // Editors end a file with a newline.
    let text = text.trim_end_matches(['\n', '\r']).to_owned();
    Ok(PromptText { name, text, ..PromptText::default() })
}

/// JSON values with commas between them; a plain word is a text.
fn values_of(flag: &str, text: &str) -> Result<Vec<Value>, Fault> {
    if let Ok(values) = list_of(flag, text) {
        return Ok(values);
    }
    let plain = |part: &str| {
        part.starts_with(|c: char| c.is_alphanumeric() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || "_-./: ".contains(c))
    };
    if text.split(',').all(plain) {
        let value = |part: &str| parse_input(part).unwrap_or_else(|_| part.into());
        return Ok(text.split(',').map(value).collect());
    }
    list_of(flag, text)
}

fn list_of(flag: &str, text: &str) -> Result<Vec<Value>, Fault> {
    // Said of the values alone, and not of the brackets around them.
    match parse_input(&format!("[{text}]")) {
        Ok(Value::Array(values)) if !values.is_empty() => Ok(values),
        _ => read_json(flag, text).map(|value| vec![value]),
    }
}

/// `50`, `50calls`, `20000tokens`, `0.5usd`. An error says what range the number has to be in.
fn budget(text: &str) -> Result<Budget, String> {
    const UNITS: [(&str, &str); 6] = [
        ("calls", "model calls"),
        ("call", "model calls"),
        ("tokens", "tokens"),
        ("token", "tokens"),
        ("usd", "US dollars"),
        ("$", "US dollars"),
    ];
    let text = text.trim().to_ascii_lowercase().replace([' ', '_'], "");
    let with_unit = UNITS.iter().find_map(|(word, unit)| Some((text.strip_suffix(*word)?, *unit)));
    let (number, unit) = with_unit.unwrap_or((text.as_str(), "model calls"));
    let (most, most_usd) = (u32::MAX, Budget::MAX_USD);
    let Ok(amount) = number.parse::<f64>() else {
        return Err(format!(
            "write model calls, like 50, tokens, like 20000tokens (both 1 to {most}), or US dollars, like 0.5usd (more \
             than 0, at most {most_usd})"
        ));
    };
    let count = number.parse::<u32>().ok().filter(|count| *count > 0);
    match (unit, count) {
        ("US dollars", _) if amount > 0.0 && amount <= most_usd => Ok(Budget::Usd(amount)),
        ("US dollars", _) => Err(format!("{number} US dollars: give more than 0 and at most {most_usd}")),
        ("tokens", Some(count)) => Ok(Budget::Tokens(count)),
        (_, Some(count)) => Ok(Budget::Calls(count)),
        (unit, None) => Err(format!("{number} {unit}: give a whole number from 1 to {most}")),
    }
}

fn invalid(message: String) -> Fault {
    Fault::Invalid { message, details: Vec::new() }
}

/// `experiments`.
#[derive(Args)]
pub(crate) struct Experiments {
    /// One of them, with its arms and samples
    pub(crate) experiment: Option<String>,
    #[command(flatten)]
    pub(crate) page: super::Page,
}

/// `adopt`.
#[derive(Args)]
#[command(after_help = "Example:
  flowglass adopt exp_7c1e 2            show the edit of the flow's file
  flowglass adopt exp_7c1e 2 --write    make it")]
pub(crate) struct Adopt {
    /// The experiment
    pub(crate) experiment: String,
    /// The arm whose model, prompt and parameters are written into the flow's file
    pub(crate) arm: String,
    /// Write the file; without it the edit is only shown
    #[arg(long)]
    pub(crate) write: bool,
}

/// `culprit`.
#[derive(Args)]
#[command(after_help = "Example:
  flowglass culprit req_3f2a --fails 'status == \"failed\"' --budget 100
Forks the request from before its steps, and finds the step before which forks fail by chance, and behind which they
fail as the request did. At most 200 forks are run; each is a request of its own.")]
pub(crate) struct Culprit {
    /// The request that fails
    request: String,
    /// A TypeScript expression over status, output, error, state, items, usage, durationMs that is true of a run that
    /// fails
    #[arg(long, value_name = "EXPR")]
    fails: String,
    /// How many forks from before a step at least (default: 8)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=200))]
    samples: Option<u32>,
    /// What may be spent at most: 50 (model calls), 20000tokens, 0.5usd
    #[arg(long, value_name = "BUDGET", value_parser = budget, allow_negative_numbers = true)]
    budget: Option<Budget>,
    #[command(flatten)]
    models: TriedModels,
    /// How many forks run at once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    jobs: Option<u32>,
}

impl Culprit {
    pub(crate) fn query(&self) -> CulpritQuery {
        CulpritQuery {
            request: self.request.clone(),
            fails: self.fails.clone(),
            samples: self.samples.unwrap_or_default(),
            budget: self.budget,
            models_by: self.models.models_by(),
            jobs: self.jobs,
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_budget_has_a_unit() {
        assert_eq!(budget("50"), Ok(Budget::Calls(50)));
        assert_eq!(budget("50 calls"), Ok(Budget::Calls(50)));
        assert_eq!(budget("20000tokens"), Ok(Budget::Tokens(20_000)));
        assert_eq!(budget("0.5USD"), Ok(Budget::Usd(0.5)));
        // As the window reads its budget field.
        assert_eq!((budget(" 5 "), budget("+7")), (Ok(Budget::Calls(5)), Ok(Budget::Calls(7))));
        assert_eq!((budget("20_000 tokens"), budget(".5usd")), (Ok(Budget::Tokens(20_000)), Ok(Budget::Usd(0.5))));
        for text in ["", "much", "ten", "5eur", "calls", "0x10", "١٢", "1,000"] {
            assert!(budget(text).unwrap_err().contains("both 1 to 4294967295"), "{text}");
        }
    }

    #[test]
    fn a_budget_out_of_range_is_refused_with_the_range() {
        let whole = "give a whole number from 1 to 4294967295";
        for text in ["99999999999", "4294967296", "-1", "0", "0.5", "NaN", "inf", "1e400", "1e3"] {
            let error = budget(text).unwrap_err();
            assert_eq!(error, format!("{} model calls: {whole}", text.to_ascii_lowercase()));
            let error = budget(&format!("{text} tokens")).unwrap_err();
            assert_eq!(error, format!("{} tokens: {whole}", text.to_ascii_lowercase()));
        }
        for text in ["-1", "0", "nan", "1e400", "1000000001"] {
            let error = budget(&format!("{text}usd")).unwrap_err();
            assert_eq!(error, format!("{text} US dollars: give more than 0 and at most 1000000000"));
        }
        assert_eq!(budget("4294967295"), Ok(Budget::Calls(u32::MAX)));
        assert_eq!(budget("1e-3$"), Ok(Budget::Usd(0.001)));
    }

    #[test]
    fn a_text_of_a_generator_is_named_before_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, format!("{name}\n")).unwrap();
            path.display().to_string()
        };
        let (a, b) = (file("a.md"), file("b,c.md"));
        let given = [a.clone(), format!("user:{a},{a}"), format!("context:{b}"), format!("prompt:{a}")];
        let texts: Vec<(PromptField, String)> =
            prompts(&given).unwrap().into_iter().map(|prompt| (prompt.field, prompt.text)).collect();
        let expected = [
            (PromptField::Prompt, "a.md"),
            (PromptField::User, "a.md"),
            (PromptField::User, "a.md"),
            (PromptField::Context, "b,c.md"),
            (PromptField::Prompt, "a.md"),
        ];
        assert_eq!(texts, expected.map(|(field, text)| (field, text.to_owned())));
        let refused = prompts(&["user:".to_owned()]).unwrap_err().to_string();
        assert!(refused.contains("--prompt user: the name of a file is missing"), "{refused}");
    }

    #[test]
    fn values_are_json_or_plain_words() {
        assert_eq!(values_of("--set a", "1,2").unwrap(), [json!(1), json!(2)]);
        assert_eq!(values_of("--set a", "strict,free").unwrap(), [json!("strict"), json!("free")]);
        assert_eq!(values_of("--set a", r#"{"a":1,"b":2},[3]"#).unwrap(), [json!({ "a": 1, "b": 2 }), json!([3])]);
        assert_eq!(values_of("--set a", r#""a,b""#).unwrap(), [json!("a,b")]);
        for text in ["", "{", "\"a", "[1,", "{a: 1}"] {
            assert!(values_of("--set a", text).is_err(), "{text}");
        }
    }
}
