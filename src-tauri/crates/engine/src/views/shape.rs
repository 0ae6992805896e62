//! View: a flow's structure before anything runs, for the list and the graph of a flow.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::model::event::BlockKind;
use crate::model::flow::{Block, Body};

/// Deeper nesting is not drawn; a block that is reused at many places would grow without end.
const DEEPEST: usize = 24;

/// A block and what it may run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, specta::Type)]
pub struct BlockShape {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: BlockKind,
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
                    let blocks: Vec<_> =
                        step.operation.blocks().into_iter().map(|block| shape_at(block, depth + 1)).collect();
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
                    blocks: vec![shape_at(route, depth + 1)],
                })
                .collect(),
        ),
        Body::Tool { block, .. } => Some(vec![StepShape {
            op: "tool".to_owned(),
            label: format!("tool {}", block.name),
            blocks: vec![shape_at(block, depth + 1)],
        }]),
        Body::Calls(part) => Some(
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
    BlockShape { name: block.name.to_string(), kind: block.kind(), description: block.description.clone(), steps }
}
