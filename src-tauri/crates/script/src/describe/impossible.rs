//! Warnings of schemas of actions and blocks that no value satisfies, such as `z.number().min(10).max(5)`.
//!
//! Such a declaration of a state fails the load in the engine. Here it is a warning, because other blocks can run.

use std::rc::Rc;

use engine::callable::SchemaRef;
use engine::error::Location;
use engine::flow::{Flow, contradiction};

use crate::bundle::error::{LoadError, LoadErrorKind};

/// Returns a warning for each schema of a flow that no value satisfies, at the flow's definition.
pub(crate) fn warnings(flow: &Flow, file: &str, place: &Option<Location>) -> Vec<LoadError> {
    let of = |owner: String, role: &str, schema: &Option<SchemaRef>| {
        let (path, demanded) = contradiction(&schema.as_ref()?.describe())?;
        let path = path.trim_start_matches('.');
        let inside = if path.is_empty() { String::new() } else { format!(" at \"{path}\"") };
        let message = format!("no value is valid for the {role} of {owner}: it demands {demanded}{inside}");
        Some(LoadError::at(LoadErrorKind::Warning, file, place.clone(), message))
    };
    let actions = flow.actions.iter().filter_map(|(name, action)| {
        // An action without a schema has that of its block.
        let of_block = action.block.input_schema.as_ref();
        let is_own = action.input_schema.as_ref().zip(of_block).is_none_or(|(own, other)| !Rc::ptr_eq(own, other));
        of(format!("action \"{name}\""), "inputSchema", &action.input_schema).filter(|_| is_own)
    });
    let blocks = flow.blocks().into_iter().flat_map(|block| {
        let owner = || format!("{} \"{}\"", block.kind().as_str(), block.name);
        [of(owner(), "inputSchema", &block.input_schema), of(owner(), "outputSchema", &block.output_schema)]
    });
    actions.chain(blocks.flatten()).collect()
}
