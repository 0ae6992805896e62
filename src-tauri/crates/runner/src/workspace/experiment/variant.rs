//! What an arm runs: its code, and the edits of its forks.
//!
//! Another model or parameter is an event of the fork. Another prompt is an edit of the author's text, so that the fork
//! runs what would be adopted.

use std::collections::HashMap;
use std::sync::Arc;

use engine::event::{Event, ModelEdit, Seq};
use script::{Bundler, Code, NoDefinition, OptionValue};

use super::axes::{Arm, TryQuery};
use super::place::Place;
use crate::catalogue::LoadedFlow;
use crate::core::fault::Fault;
use crate::workspace::{Edits, Workspace};

/// What an arm runs.
#[derive(Clone)]
pub(crate) struct Variant {
    pub(crate) loaded_flow: Arc<LoadedFlow>,
    /// The last event that its forks have in common with the request.
    pub(crate) cut: Seq,
    pub(crate) edits: Edits,
}

impl Workspace {
    /// What each arm runs; `Err` is why one cannot be run.
    pub(super) fn variants(
        &self,
        query: &TryQuery,
        flow: &str,
        events: &[Event],
        place: &Place,
        arms: &[Arm],
    ) -> Result<Vec<Result<Variant, String>>, Fault> {
        let generator = if query.needs_generator() { Some(place.generator(events)?) } else { None };
        let mut codes = Codes { workspace: self, flow, bundler: None, known: HashMap::new() };
        let variants = arms.iter().map(|arm| {
            let loaded_flow = codes.get(arm, generator.as_deref()).map_err(|fault| fault.to_string())?;
            let edit = ModelEdit {
                generator: generator.clone().unwrap_or_default(),
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
            let cut = match (&arm.output, place.ended) {
                (Some(_), Some(ended)) => ended,
                (Some(_), None) => return Err(format!("{} did not end, so its output cannot be given", place.path)),
                (None, _) => place.before,
            };
            Ok(Variant { loaded_flow, cut, edits })
        });
        Ok(variants.collect())
    }
}

/// The revision and the prompt of an arm, which decide what code it runs.
type CodeKey = (Option<String>, Option<String>);

/// The code of the arms. Those that differ in no text share a bundle.
struct Codes<'w> {
    workspace: &'w Workspace,
    flow: &'w str,
    bundler: Option<Bundler>,
    known: HashMap<CodeKey, Result<Arc<LoadedFlow>, Fault>>,
}

impl Codes<'_> {
    fn get(&mut self, arm: &Arm, generator: Option<&str>) -> Result<Arc<LoadedFlow>, Fault> {
        let key = (arm.code.clone(), arm.prompt.as_ref().map(|prompt| prompt.text.clone()));
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let made = self.make(arm, generator);
        self.known.insert(key, made.clone());
        made
    }

    fn make(&mut self, arm: &Arm, generator: Option<&str>) -> Result<Arc<LoadedFlow>, Fault> {
        let workspace = self.workspace;
        let base = match &arm.code {
            None => workspace.with_catalogue(|catalogue| catalogue.find(self.flow))?,
            Some(revision) => workspace.flow_of_revision(revision, self.flow)?,
        };
        let Some(prompt) = &arm.prompt else { return Ok(base) };
        if arm.code.is_some() {
            return Err(Fault::invalid("--prompt and --code cannot be tried together: a revision has its own prompt"));
        }
        let generator = generator.unwrap_or_default();
        let code = Code::of(&base.bundle, &workspace.dir);
        let value = OptionValue::Text(prompt.text.clone());
        let edited =
            code.with_option(generator, &["prompt"], &value).map_err(|reason| no_definition(generator, reason))?;
        if self.bundler.is_none() {
            self.bundler = Some(Bundler::new()?);
        }
        let Some(bundler) = &self.bundler else { return Err(Fault::internal("the bundler cannot start its threads")) };
        let (file, texts) = (workspace.dir.join(&base.bundle.file), workspace.dir.join(&edited.file));
        let bundle = bundler
            .bundle_texts(&workspace.dir, &file, HashMap::from([(texts, edited.text)]))
            .map_err(|error| Fault::NotLoaded { message: format!("with prompt {}: {error}", prompt.name) })?;
        Ok(Arc::new(LoadedFlow {
            bundle: Arc::new(bundle),
            flow: base.flow.clone(),
            end_record: base.end_record.clone(),
        }))
    }
}

/// Says why the text of a generator cannot be edited.
pub(super) fn no_definition(generator: &str, reason: NoDefinition) -> Fault {
    Fault::invalid(match reason {
        NoDefinition::Missing => format!(
            "the definition of generator \"{generator}\" is not found in the files of its flow: its name must be a \
             plain text there, like generator({{ name: \"{generator}\", … }})"
        ),
        NoDefinition::SeveralReturns => format!(
            "the prompt of generator \"{generator}\" returns in several places, so ${{…}} in a text has no one place: \
             write a text without it, or return in one place"
        ),
        NoDefinition::Several => {
            format!("several definitions are named \"{generator}\": give each a name of its own")
        }
    })
}
