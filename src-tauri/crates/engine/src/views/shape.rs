//! View: a flow's structure before anything runs, for the list and the graph of a flow.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::model::event::BlockKind;
use crate::model::flow::{AgentPart, Block, Body, Side};
use crate::model::path::encode;

/// Deeper nesting is not drawn; a block that is reused at many places would grow without end.
const DEEPEST: usize = 24;

/// A block and what it may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, specta::Type)]
pub struct BlockShape {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: BlockKind,
    /// The part that its path adds to that of the block around it, without the index of an item, a call or a pass:
    /// `step:plan`, `parallel/left`. Absent where only a run decides it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
    /// For people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A sequencer's operations, a router's routes, a generator's tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<Vec<StepShape>>,
}

/// One operation of a chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, specta::Type)]
pub struct StepShape {
    /// As the author wrote it: `step`, `map`, …
    pub op: String,
    /// What a row says.
    pub label: String,
    /// The blocks it may run.
    pub blocks: Vec<BlockShape>,
}

/// The shape of a block.
pub fn shape(block: &Rc<Block>) -> BlockShape {
    shape_at(block, 0)
}

fn shape_at(block: &Rc<Block>, depth: usize) -> BlockShape {
    let steps = match &block.body {
        _ if depth > DEEPEST => None,
        Body::Sequencer { steps, .. } => Some(
            steps
                .iter()
                .map(|step| {
                    let inner = |(key, block): (String, &Rc<Block>)| {
                        let segment = Some(format!("{}{key}", step.segment));
                        BlockShape { segment, ..shape_at(block, depth + 1) }
                    };
                    let blocks: Vec<_> = step.operation.blocks_by_key().into_iter().map(inner).collect();
                    let names = blocks.iter().map(|block| block.name.as_str()).collect::<Vec<_>>().join(", ");
                    let op = step.operation.name().to_owned();
                    let label = if names.is_empty() { op.clone() } else { format!("{op} {names}") };
                    StepShape { op, label, blocks }
                })
                .collect(),
        ),
        Body::Router { routes, .. } => Some(
            routes
                .iter()
                .map(|route| StepShape {
                    op: "route".to_owned(),
                    label: format!("route {}", route.name),
                    blocks: vec![named("route", route, depth + 1)],
                })
                .collect(),
        ),
        Body::Tool { block, .. } => Some(vec![StepShape {
            op: "tool".to_owned(),
            label: format!("tool {}", block.name),
            blocks: vec![named("tool", block, depth + 1)],
        }]),
        Body::Agent(part, ..) => Some(agent_steps(part, depth)),
        Body::Calls(part, ..) => Some(
            part.agent()
                .registered
                .activities
                .values()
                .map(|block| StepShape {
                    op: "activity".to_owned(),
                    label: format!("activity {}", block.name),
                    blocks: vec![shape_at(block, depth + 1)],
                })
                .collect(),
        ),
        Body::Handler { .. } | Body::Generator(_) => None,
    };
    BlockShape {
        name: block.name.to_string(),
        kind: block.kind(),
        segment: None,
        description: block.description.clone(),
        steps,
    }
}

/// The shape of a block whose segment is its name after a word.
fn named(word: &str, block: &Rc<Block>, depth: usize) -> BlockShape {
    BlockShape { segment: Some(format!("{word}:{}", encode(&block.name))), ..shape_at(block, depth) }
}

/// The sides of an agent with their prompts, and the tools of its file.
fn agent_steps(part: &AgentPart, depth: usize) -> Vec<StepShape> {
    let of = part.definitions();
    let sides = of.agents.get(&of.main).into_iter().flat_map(|agent| {
        [Side::A, Side::B].into_iter().map(|side| {
            let speaks = agent.side(side).prompt.as_deref().map_or("a human", |prompt| prompt);
            let label = format!("side {}: {speaks}", side.as_str());
            StepShape { op: format!("side {}", side.as_str()), label, blocks: Vec::new() }
        })
    });
    let prompts = of.prompts.values().map(|prompt| StepShape {
        op: "prompt".to_owned(),
        label: format!("prompt {}", prompt.name),
        blocks: Vec::new(),
    });
    let tools = of.tools.iter().map(|(name, block)| StepShape {
        op: "tool".to_owned(),
        label: format!("tool {name}"),
        blocks: vec![shape_at(block, depth + 1)],
    });
    sides.chain(prompts).chain(tools).collect()
}
