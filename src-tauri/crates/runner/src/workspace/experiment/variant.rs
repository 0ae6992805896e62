//! The variant that an arm runs: its code, and the edits of its forks.
//!
//! Another model or parameter is an event of the fork. Another prompt is an edit of the author's file, so that the fork
//! runs exactly the code that would be adopted.

use std::collections::HashMap;
use std::sync::{Arc, MutexGuard};

use engine::event::{Event, ModelEdit, Seq};
use script::{Bundler, Code, NoDefinition, OptionValue, Source};

use super::Experiment;
use super::axes::{Arm, PromptField, PromptText};
use super::code::CodeFacts;
use super::place::{AnsweredBeside, Place};
use crate::catalogue::LoadedFlow;
use crate::core::fault::Fault;
use crate::models::target::problem_of;
use crate::run::batch::Cancel;
use crate::run::prepare::gone;
use crate::workspace::{Edits, Mock, Workspace, lock};

/// The code and the edits of an arm.
#[derive(Clone)]
pub(crate) struct Variant {
    pub(crate) loaded_flow: Arc<LoadedFlow>,
    /// The last event that its forks share with the request.
    pub(crate) cut: Seq,
    pub(crate) edits: Edits,
    /// The questions of concurrent blocks with their answers, so that no fork asks them again.
    pub(crate) answered: Arc<Vec<AnsweredBeside>>,
    /// Facts about its code.
    pub(crate) facts: Arc<CodeFacts>,
}

impl Workspace {
    /// Returns the variant of each arm; `Err` is why an arm cannot run. After a cancel, the remaining arms have none.
    pub(super) fn variants(
        &self,
        Experiment { query, row, events, place, mock, codes, .. }: &Experiment,
        arms: &[Arm],
        cancel: &Cancel,
    ) -> Result<Vec<Result<Variant, String>>, Fault> {
        let generator = if query.needs_generator() { Some(place.generator(events)?) } else { None };
        let of = Recording { flow: &row.flow, action: &row.action, events, place };
        let mut codes = Codes { workspace: self, of, bundler: None, known: lock(codes) };
        let answered = Arc::new(place.answers_beside(events, place.before));
        let answered_behind = place.ended.map(|ended| Arc::new(place.answers_beside(events, ended)));
        let variants = arms.iter().take_while(|_| !cancel.is_cancelled()).map(|arm| {
            let (loaded_flow, facts) = codes.get(arm, generator.as_deref()).map_err(|fault| fault.to_string())?;
            if facts.has_no_place {
                return Err(gone(&place.path));
            }
            if let (Some(model), Mock::Off) = (&arm.model, mock) {
                let name = generator.as_deref().unwrap_or_default();
                let problem = problem_of(model, name, &self.config.models, facts.defined_models.clone());
                problem.map_or(Ok(()), |problem| Err(format!("--model {model}: {problem}")))?;
            }
            let edit = ModelEdit {
                generator: generator.clone().unwrap_or_default(),
                at: Some(place.path.clone()),
                model: arm.model.clone(),
                options: arm.options.clone(),
            };
            let is_edited = edit.model.is_some() || !edit.options.is_empty();
            let edits = Edits {
                output: arm.output.clone(),
                set: arm.set.clone(),
                model: is_edited.then_some(edit),
                ..Edits::default()
            };
            let (cut, answered) = match (&arm.output, place.ended, &answered_behind) {
                (Some(_), Some(ended), Some(answered)) => (ended, answered.clone()),
                (Some(_), ..) => return Err(format!("{} did not end, so its output cannot be given", place.path)),
                (None, ..) => (place.before, answered.clone()),
            };
            Ok(Variant { loaded_flow, cut, edits, answered, facts })
        });
        Ok(variants.collect())
    }
}

/// The revision and the texts of an arm, which determine its code.
type CodeKey = (Option<String>, Vec<(PromptField, String)>);

/// The code of arms, by its key. An experiment builds and evaluates each code once.
pub(super) type KnownCodes = HashMap<CodeKey, Result<KnownCode, Fault>>;

/// The code of the arms. Arms with equal texts share a bundle.
struct Codes<'w> {
    workspace: &'w Workspace,
    of: Recording<'w>,
    bundler: Option<Bundler>,
    known: MutexGuard<'w, KnownCodes>,
}

/// A version of the code, and facts about it.
type KnownCode = (Arc<LoadedFlow>, Arc<CodeFacts>);

/// The request that is forked.
#[derive(Clone, Copy)]
struct Recording<'w> {
    flow: &'w str,
    action: &'w str,
    events: &'w [Event],
    place: &'w Place,
}

impl Codes<'_> {
    fn get(&mut self, arm: &Arm, generator: Option<&str>) -> Result<KnownCode, Fault> {
        let key: CodeKey =
            (arm.code.clone(), arm.prompts.iter().map(|prompt| (prompt.field, prompt.text.clone())).collect());
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let Recording { action, events, place, .. } = self.of;
        let made = self.make(arm, generator).and_then(|loaded_flow| {
            let facts = self.workspace.code_facts(&loaded_flow, action, events, place)?;
            Ok((loaded_flow, Arc::new(facts)))
        });
        self.known.insert(key, made.clone());
        made
    }

    fn make(&mut self, arm: &Arm, generator: Option<&str>) -> Result<Arc<LoadedFlow>, Fault> {
        let workspace = self.workspace;
        let generator = generator.unwrap_or_default();
        if let Some(revision) = &arm.code {
            let edit = |code: Code| with_texts(code, generator, &arm.prompts);
            return workspace.flow_of_revision(revision, self.of.flow, edit);
        }
        let base = workspace.with_catalogue(|catalogue| catalogue.find(self.of.flow))?;
        let texts = with_texts(Code::of(&base.bundle, &workspace.dir), generator, &arm.prompts)?;
        if texts.is_empty() {
            return Ok(base);
        }
        if self.bundler.is_none() {
            self.bundler = Some(Bundler::new()?);
        }
        let Some(bundler) = &self.bundler else { return Err(Fault::internal("the bundler cannot start its threads")) };
        let file = workspace.dir.join(&base.bundle.file);
        let texts = texts.into_iter().map(|source| (workspace.dir.join(source.file), source.text)).collect();
        let bundle = bundler.bundle_texts(&workspace.dir, &file, texts).map_err(|error| {
            let names: Vec<&str> = arm.prompts.iter().map(|prompt| prompt.name.as_str()).collect();
            Fault::NotLoaded { message: format!("with prompt {}: {error}", names.join(" and ")) }
        })?;
        Ok(Arc::new(LoadedFlow {
            bundle: Arc::new(bundle),
            flow: base.flow.clone(),
            end_record: base.end_record.clone(),
        }))
    }
}

/// Returns the files with these texts in the definition of a generator. Refuses a text that cannot be put there.
fn with_texts(mut code: Code, generator: &str, texts: &[PromptText]) -> Result<Vec<Source>, Fault> {
    let mut edited: Vec<Source> = Vec::new();
    for PromptText { field, text, .. } in texts {
        let value = OptionValue::Text(text.clone());
        let new = code
            .with_option(generator, &[field.name()], &value)
            .map_err(|reason| no_definition(generator, field.name(), reason))?;
        // The next text is put into the new version of the file.
        if let Some(source) = code.sources.iter_mut().find(|source| source.file == new.file) {
            source.text.clone_from(&new.text);
        }
        edited.retain(|source| source.file != new.file);
        edited.push(new);
    }
    Ok(edited)
}

/// The error for a text of a generator that cannot be edited.
pub(super) fn no_definition(generator: &str, option: &str, reason: NoDefinition) -> Fault {
    Fault::invalid(match reason {
        NoDefinition::Missing => format!(
            "the definition of generator \"{generator}\" is not found in the files of its flow: its name must be a \
             plain text there, like generator({{ name: \"{generator}\", … }})"
        ),
        NoDefinition::SeveralReturns => format!(
            "the {option} of generator \"{generator}\" returns in several places, so ${{…}} in a text has no one \
             place: write a text without it, or return in one place"
        ),
        NoDefinition::Several => {
            format!("several definitions are named \"{generator}\": give each a name of its own")
        }
    })
}
