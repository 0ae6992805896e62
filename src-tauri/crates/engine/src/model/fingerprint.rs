//! Fingerprints: hashes of sources, by which a resume recognizes a function or a block that has moved
//! (ARCHITECTURE §4.2).
//!
//! A function has one if its language host knows its source. A handler's is that of its function; that of any other
//! block covers everything it is made of, so that blocks of the same name differ. Must not run an author's code, nor
//! decide what a difference means: that is for `execution::record` and `execution::run`.

use std::rc::Rc;
use std::sync::Arc;

use serde_json::Value;

use crate::model::callable::Fun;
use crate::model::flow::{
    AgentPart, Arm, Block, Body, CallPart, Child, Each, Generator, History, Hook, Model, ModelInstance, Operation,
    Prompt, StepOptions, ValueOrCall,
};
use crate::model::path::encode;

/// How many hexadecimal digits a fingerprint has: 64 bits.
const DIGITS: usize = 16;

/// Returns the fingerprint of some bytes.
pub fn fingerprint(bytes: &[u8]) -> Arc<str> {
    blake3::hash(bytes).to_hex()[..DIGITS].into()
}

impl Block {
    /// Returns its fingerprint; `None` for a handler whose function's source is not known.
    pub fn fingerprint(&self) -> Option<Arc<str>> {
        self.fingerprint.get_or_init(|| of_block(self)).clone()
    }
}

fn of_block(block: &Block) -> Option<Arc<str>> {
    let mut parts = Parts::default();
    if let Body::Handler { execute } = &block.body {
        let own = execute.fingerprint()?;
        let own_layers = block.middleware.iter().any(|layer| !layer.is_of_flow);
        if block.connect_input.is_none() && block.connect_output.is_none() && !own_layers {
            return Some(own);
        }
        parts.text(&own);
    } else {
        parts.text(block.kind().as_str());
        parts.text(&block.name);
        parts.body(&block.body);
    }
    parts.function(block.connect_input.as_ref());
    parts.function(block.connect_output.as_ref());
    // What the flow puts around every block tells none of them apart.
    block.middleware.iter().filter(|layer| !layer.is_of_flow).for_each(|layer| parts.function(Some(&layer.around)));
    Some(fingerprint(&parts.0))
}

/// The bytes that are hashed: the parts of a block, each prefixed with its length.
#[derive(Default)]
struct Parts(Vec<u8>);

impl Parts {
    fn text(&mut self, text: &str) {
        self.0.extend((text.len() as u64).to_le_bytes());
        self.0.extend(text.as_bytes());
    }

    fn function(&mut self, function: Option<&Fun>) {
        self.text(&function.and_then(|function| function.fingerprint()).unwrap_or_default());
    }

    fn block(&mut self, block: &Rc<Block>) {
        self.text(&block.name);
        self.text(&block.fingerprint().unwrap_or_default());
    }

    fn value(&mut self, value: &Value) {
        self.text(&value.to_string());
    }

    fn value_or_function(&mut self, text: &ValueOrCall) {
        match text {
            ValueOrCall::Fixed(value) => self.value(value),
            ValueOrCall::Call(function) => self.function(Some(function)),
        }
    }

    fn body(&mut self, body: &Body) {
        match body {
            Body::Handler { execute } => self.function(Some(execute)),
            Body::Tool { block, .. } => self.block(block),
            Body::Sequencer { steps, .. } => {
                for step in steps {
                    self.text(&step.label);
                    for (role, function) in step.operation.functions() {
                        self.text(role);
                        self.function(Some(function));
                    }
                    for (key, block) in step.operation.blocks_by_key() {
                        self.text(&key);
                        self.block(block);
                    }
                }
            }
            Body::Router { routes, execute, validate } => {
                self.function(Some(execute));
                self.function(validate.as_ref());
                routes.iter().for_each(|route| self.block(route));
            }
            Body::Generator(generator) => self.generator(generator),
            Body::Agent(part, ..) => self.agent(part),
            Body::Calls(part, ..) => self.calls(part),
        }
    }

    fn generator(&mut self, generator: &Generator) {
        self.model(&generator.model);
        let texts = generator.prompt.iter().chain(&generator.context).chain(&generator.user);
        texts.chain(&generator.provider_options).for_each(|text| self.value_or_function(text));
        match &generator.history {
            Some(History::Query(query)) => self.value(query),
            Some(History::Slot(text)) => self.value_or_function(text),
            None => {}
        }
        generator.tools.iter().for_each(|tool| self.block(tool));
        self.function(generator.tools_call.as_ref());
        self.function(generator.stop_when.as_ref());
        if let Some(model @ (Model::Instance(_) | Model::Named(ValueOrCall::Call(_)))) = &generator.repair.coerce {
            self.model(model);
        }
        let settings = &generator.tool_settings;
        for hook in [&settings.on_started, &settings.on_completed, &settings.on_errored] {
            match hook {
                Some(Hook::Call(function)) => self.function(Some(function)),
                Some(Hook::Block(block)) => self.block(block),
                None => {}
            }
        }
    }

    fn model(&mut self, model: &Model) {
        match model {
            Model::Named(text) => self.value_or_function(text),
            Model::Instance(instance) => self.instance(instance),
        }
    }

    /// What a part of an agent says and does; tools are blocks of their own.
    fn agent(&mut self, part: &AgentPart) {
        let of = part.definitions();
        match part {
            AgentPart::Conversation(_) => of.agents.values().for_each(|agent| self.value(&agent.config)),
            AgentPart::Message(_) => {}
            AgentPart::Turn(_, side) => {
                let agent = of.agents.get(&of.main);
                let prompt = agent.and_then(|agent| agent.side(*side).prompt.as_deref());
                self.prompt(prompt.and_then(|name| of.prompts.get(name)));
            }
            AgentPart::SubPrompt(_, name) => self.prompt(of.prompts.get(&**name)),
        }
    }

    fn prompt(&mut self, prompt: Option<&Prompt>) {
        let Some(prompt) = prompt else { return };
        self.text(&format!("{:?} {:?} {:?}", prompt.parts, prompt.models, prompt.tools));
        prompt.options.iter().for_each(|options| self.value(options));
    }

    /// What a part of an agent with Calls is told and checks; Activities are blocks of their own.
    fn calls(&mut self, part: &CallPart) {
        let of = part.agent();
        match part {
            CallPart::Agent(_) => {
                self.value_or_function(&of.context);
                self.text(&format!("{:?} {:?} {} {}", of.models, of.schema, of.max_ticks, of.max_depth));
            }
            CallPart::Tick(_) => of.confirm.iter().for_each(|confirm| self.value_or_function(confirm)),
            CallPart::Request(_) => self.text(&format!("{:?}", of.models)),
            CallPart::Call(..) => {}
            CallPart::Delegate(_, name) => {
                self.text(&format!("{:?}", of.registered.delegates.get(&**name)));
            }
        }
    }

    fn instance(&mut self, instance: &ModelInstance) {
        self.text(&instance.id);
        for function in [&instance.step, &instance.whole, &instance.stream_step, &instance.stream] {
            self.function(function.as_ref());
        }
    }
}

impl Operation {
    /// Returns the functions it calls, each with its role in the log.
    pub fn functions(&self) -> Vec<(&'static str, &Fun)> {
        let mut found: Vec<(&'static str, &Fun)> = Vec::new();
        match self {
            Operation::Map(call) | Operation::ConnectInput(call) | Operation::TapCall(call) => found.push(("", call)),
            Operation::ExitIf(condition) => found.push(("condition", condition)),
            Operation::TapCallIf { condition, call } | Operation::ThrowIf { condition, call } => {
                found.extend([("condition", condition), ("call", call)]);
            }
            Operation::Step(child) | Operation::Tap(child) => found.extend(of_child(child)),
            Operation::StepIf { condition, child }
            | Operation::TapIf { condition, child }
            | Operation::Loop { condition, child, .. } => {
                found.push(("condition", condition));
                found.extend(of_child(child));
            }
            Operation::Work { condition, child, .. } => {
                found.extend(condition.as_ref().map(|condition| ("condition", condition)));
                found.extend(of_child(child));
            }
            Operation::Parallel { arms, .. }
            | Operation::StepAll { arms, .. }
            | Operation::StepAny { arms }
            | Operation::Race { arms, .. }
            | Operation::Branch { arms } => {
                for arm in arms {
                    found.extend(arm.condition.as_ref().map(|condition| ("condition", condition)));
                    found.extend(of_child(&arm.child));
                }
            }
            Operation::ForEach { connector, each, .. } | Operation::ForEachBackground { connector, each, .. } => {
                found.extend(connector.as_ref().map(|connector| ("connector", connector)));
                if let Each::Factory(factory) = each {
                    found.push(("factory", factory));
                }
            }
            Operation::LoopBack { when, .. } => found.extend(when.as_ref().map(|when| ("condition", when))),
            Operation::WaitForCondition { condition, wake_on, .. } => {
                found.push(("condition", condition));
                found.extend(wake_on.as_ref().map(|wake_on| ("wakeOn", wake_on)));
            }
            Operation::WaitForWork { .. } => {}
        }
        found
    }

    /// Returns the blocks it may run, each with what follows the operation's segment in its path: `/left`, `[0]`,
    /// `:key`, or nothing.
    pub fn blocks_by_key(&self) -> Vec<(String, &Rc<Block>)> {
        let arms = |arms: &'_ [Arm]| -> Vec<String> {
            let key = |(at, arm): (usize, &Arm)| match self {
                Operation::Parallel { .. } => format!("/{}", encode(&arm.key)),
                Operation::Branch { .. } => format!(":{}", encode(&arm.key)),
                _ => format!("[{at}]"),
            };
            arms.iter().enumerate().map(key).collect()
        };
        let keys = match self {
            Operation::Parallel { arms: all, .. }
            | Operation::StepAll { arms: all, .. }
            | Operation::StepAny { arms: all }
            | Operation::Race { arms: all, .. }
            | Operation::Branch { arms: all } => arms(all),
            _ => vec![String::new()],
        };
        keys.into_iter().zip(self.blocks()).collect()
    }
}

/// Returns the functions of a child of a chain, each with its role.
fn of_child(child: &Child) -> impl Iterator<Item = (&'static str, &Fun)> {
    let StepOptions { signal, settled } = &child.options;
    [("connector", &child.connector), ("signal", signal), ("settled", settled)]
        .into_iter()
        .filter_map(|(role, function)| function.as_ref().map(|function| (role, function)))
}
