//! What is known of the code that an arm runs before it runs: which models its generators name, and whether it still
//! has the block that the forks begin with.
//!
//! A recording says what was asked of models; the code says what will be asked. Must not run a block.

use std::collections::BTreeMap;

use engine::event::Event;
use engine::flow::{AgentPart, Body, CallPart, Flow, Model, ValueOrCall};
use engine::plan::has_no_block;
use serde_json::Value;

use super::place::Place;
use crate::catalogue::fatal_signals::FlowOnThread;
use crate::catalogue::{LoadedFlow, STACK};
use crate::core::fault::Fault;
use crate::effects::outside::live;
use crate::run::prepare::load;
use crate::workspace::Workspace;

/// What is known of a version of the code.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct CodeFacts {
    /// The generators that an action reaches, as far as they are described.
    pub(crate) generators: Vec<GeneratorModels>,
    /// Names that the flow gives to models.
    pub(crate) defined_models: BTreeMap<String, String>,
    /// Whether the block at the place is gone.
    pub(crate) has_no_place: bool,
}

/// The models of one generator.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct GeneratorModels {
    pub(crate) name: String,
    /// The names that it tries in turn; `None` if a function decides, and empty if the author's own code answers.
    pub(crate) models: Option<Vec<String>>,
}

impl CodeFacts {
    /// The models that a generator names. `None` if that is not known.
    pub(crate) fn models_of(&self, generator: &str) -> Option<&[String]> {
        let mut same = self.generators.iter().filter(|known| known.name == generator);
        match (same.next(), same.next()) {
            (Some(known), None) => known.models.as_deref(),
            _ => None,
        }
    }

    /// How many generators have a name.
    pub(crate) fn count(&self, generator: &str) -> usize {
        self.generators.iter().filter(|known| known.name == generator).count()
    }

    fn of(flow: &Flow, action: &str, has_no_place: bool) -> CodeFacts {
        let mut facts = CodeFacts { has_no_place, ..CodeFacts::default() };
        for block in flow.blocks_of(action) {
            match &block.body {
                Body::Generator(generator) => {
                    facts.add(&block.name, models_of(&generator.model));
                }
                Body::Calls(CallPart::Agent(agent) | CallPart::Tick(agent) | CallPart::Request(agent), ..) => {
                    facts.add(&agent.name, Some(agent.models.clone()));
                }
                Body::Agent(AgentPart::Conversation(of), ..) => {
                    facts.defined_models.extend(of.models.clone());
                    for prompt in of.prompts.values() {
                        facts.add(&prompt.name, Some(prompt.models.clone()));
                    }
                }
                _ => {}
            }
        }
        facts
    }

    fn add(&mut self, name: &str, models: Option<Vec<String>>) {
        self.generators.push(GeneratorModels { name: name.to_owned(), models });
    }
}

fn models_of(model: &Model) -> Option<Vec<String>> {
    let name = |value: &Value| value.as_str().or_else(|| value.get("model")?.as_str()).map(str::to_owned);
    match model {
        Model::Instance(_) => Some(Vec::new()),
        Model::Named(ValueOrCall::Call(_)) => None,
        Model::Named(ValueOrCall::Fixed(Value::Array(names))) => Some(names.iter().filter_map(name).collect()),
        Model::Named(ValueOrCall::Fixed(value)) => name(value).map(|name| vec![name]),
    }
}

impl Workspace {
    /// What is known of a version of a request's code.
    pub(super) fn code_facts(
        &self,
        loaded_flow: &LoadedFlow,
        action: &str,
        events: &[Event],
        place: &Place,
    ) -> Result<CodeFacts, Fault> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("facts".to_owned()).stack_size(STACK);
            let thread = thread.spawn_scoped(scope, || {
                let _flow = FlowOnThread::on_this_thread(&loaded_flow.end_record);
                let load_time = live(events, self.config.flow_env());
                self.known_samples.count_evaluation();
                let mut loaded = load(&self.dir, loaded_flow, self.config.script_limits(), load_time)?;
                loaded.resolve(action).map_err(|error| Fault::invalid(error.to_string()))?;
                let flow = loaded.flow.clone().ok_or_else(|| Fault::internal("the file defines no flow"))?;
                let has_no_place = has_no_block(events, &flow, action, &place.path);
                Ok(CodeFacts::of(&flow, action, has_no_place))
            })?;
            thread.join().map_err(|_| Fault::internal("the evaluation of a flow panicked"))?
        })
    }
}
