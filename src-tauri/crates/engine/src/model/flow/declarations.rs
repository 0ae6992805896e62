//! What the blocks of a flow declare of the state that they share, and whether the declarations contradict each other
//! (SEMANTICS §4.6).
//!
//! A scope has one state. A sequencer has one for each run, so a block's declaration of `ctx.sequencer` applies to the
//! nearest enclosing sequencer with a state, and is compared only with those of the same sequencer.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::{Value, json};

use super::clash::{Clash, clash, contradiction};
use super::{Block, Flow};
use crate::model::callable::SchemaRef;
use crate::model::error::FlowError;
use crate::model::event::BlockKind;
use crate::model::scope::ScopeKind;

/// One `…StateSchema` of a flow or of one of its blocks.
#[derive(Clone)]
pub struct Declaration {
    /// The scope.
    pub scope: ScopeKind,
    /// Who declares it: `flow "chat"` or `block "planner"`.
    pub owner: String,
    /// The schema.
    pub schema: SchemaRef,
    /// Where it was written, by a number of the script host.
    pub site: Option<u32>,
}

/// What a block declares of the state of an enclosing block.
#[derive(Clone)]
pub struct Expectation {
    /// The name of that block (`targetStateSchemas`); `None` for the nearest sequencer with a state
    /// (`sequencerStateSchema`).
    pub target: Option<String>,
    /// The declaration.
    pub declaration: Declaration,
}

/// Two declarations that no value satisfies, or one.
pub struct Conflict {
    /// The `SchemaConflictError`.
    pub error: FlowError,
    /// Where the second of them was written.
    pub site: Option<u32>,
}

/// Fails if two declarations of one field contradict each other, or one contradicts itself.
pub fn check_declarations(flow: &Flow) -> Result<(), Conflict> {
    let mut known = Known::default();
    for declaration in &flow.declarations {
        known.add((declaration.scope, None), None, declaration)?;
    }
    for expected in expected(flow.roots()) {
        let holder = &expected.holder;
        let key = (ScopeKind::Sequencer, Some(Rc::as_ptr(holder)));
        if let Some(schema) = holder.state_schema.clone().filter(|_| known.is_new(&key)) {
            let owner = format!("{} \"{}\"", holder.kind().as_str(), holder.name);
            let own = Declaration { scope: ScopeKind::Sequencer, owner, schema, site: None };
            known.add(key, None, &own)?;
        }
        known.add(key, Some(&holder.name), &expected.declaration)?;
    }
    Ok(())
}

/// Sets [`Block::joined`] of every sequencer with a state below these blocks: what the blocks inside it declare of its
/// state. Every write to the state is checked against all of it.
pub fn join_declarations(roots: Vec<Rc<Block>>) {
    let mut joined: HashMap<*const Block, (Rc<Block>, Vec<SchemaRef>)> = HashMap::new();
    for Expected { holder, declaration, is_target } in expected(roots) {
        if !is_target {
            let (_, schemas) = joined.entry(Rc::as_ptr(&holder)).or_insert_with(|| (holder.clone(), Vec::new()));
            schemas.push(declaration.schema);
        }
    }
    for (holder, schemas) in joined.into_values() {
        // A block that a later factory uses again keeps what the flow gave it.
        let _ = holder.joined.set(schemas);
    }
}

/// A block with a state, and what a block inside it declares of that state.
struct Expected {
    holder: Rc<Block>,
    declaration: Declaration,
    is_target: bool,
}

/// The enclosing blocks with a state, as a list: the nearest, then those around it.
struct Around {
    block: Rc<Block>,
    outer: Option<Rc<Around>>,
}

/// Returns every expectation below these blocks, with the block it is about, in the order of the flow. A target name
/// that several blocks have is left out, because which one is meant is known only at run time.
fn expected(roots: Vec<Rc<Block>>) -> Vec<Expected> {
    let mut found = Vec::new();
    let mut names: HashMap<Arc<str>, HashSet<*const Block>> = HashMap::new();
    let mut around: HashMap<(*const Block, *const Around), Rc<Around>> = HashMap::new();
    let mut seen: HashSet<(*const Block, *const Around)> = HashSet::new();
    let mut stack: Vec<(Rc<Block>, Option<Rc<Around>>)> = roots.into_iter().rev().map(|root| (root, None)).collect();
    while let Some((block, outer)) = stack.pop() {
        let place = (Rc::as_ptr(&block), outer.as_ref().map_or(std::ptr::null(), Rc::as_ptr));
        if !seen.insert(place) {
            continue;
        }
        names.entry(block.name.clone()).or_default().insert(place.0);
        let inner = match &block.state_schema {
            Some(_) => {
                let here = || Rc::new(Around { block: block.clone(), outer: outer.clone() });
                Some(around.entry(place).or_insert_with(here).clone())
            }
            None => outer,
        };
        for expectation in &block.expects {
            let mut holders = std::iter::successors(inner.as_deref(), |around| around.outer.as_deref());
            let holder = match &expectation.target {
                None => holders.find(|around| around.block.kind() == BlockKind::Sequencer),
                Some(name) => holders.find(|around| *around.block.name == **name),
            };
            let Some(holder) = holder.map(|around| around.block.clone()) else { continue };
            let declaration = expectation.declaration.clone();
            found.push(Expected { holder, declaration, is_target: expectation.target.is_some() });
        }
        stack.extend(block.children().into_iter().rev().map(|child| (child, inner.clone())));
    }
    found.retain(|one| !one.is_target || names.get(&one.holder.name).is_some_and(|blocks| blocks.len() == 1));
    found
}

/// Whose state: a scope's, or that of a block.
type Holder = (ScopeKind, Option<*const Block>);

/// The declarations so far of each field: their owners and their JSON Schemas.
#[derive(Default)]
struct Known {
    holders: HashSet<Holder>,
    fields: IndexMap<(Holder, String), Vec<(String, Value)>>,
}

impl Known {
    /// Returns whether nothing of this state was declared yet.
    fn is_new(&self, holder: &Holder) -> bool {
        !self.holders.contains(holder)
    }

    /// Adds a declaration, or fails if it contradicts an earlier one. `of` is the name of the block whose state it is.
    fn add(&mut self, holder: Holder, of: Option<&str>, declaration: &Declaration) -> Result<(), Conflict> {
        self.holders.insert(holder);
        let described = declaration.schema.describe_accepted();
        let Some(properties) = described.get("properties").and_then(Value::as_object) else { return Ok(()) };
        for (field, shape) in properties {
            if let Some((path, demanded)) = contradiction(shape) {
                return Err(impossible(&format!("{field}{path}"), of, declaration, demanded));
            }
            let others = self.fields.entry((holder, field.clone())).or_default();
            for (owner, other) in others.iter() {
                if let Some(clash) = clash(other, shape) {
                    return Err(conflict(field, of, owner, declaration, clash));
                }
            }
            others.push((declaration.owner.clone(), shape.clone()));
        }
        Ok(())
    }
}

/// A declaration that no value satisfies.
fn impossible(field: &str, of: Option<&str>, declaration: &Declaration, demanded: String) -> Conflict {
    let scope = declaration.scope.as_str();
    let whose = of.map(|name| format!(" of \"{name}\"")).unwrap_or_default();
    let message = format!(
        "{scope} state field \"{field}\"{whose} is declared as {demanded} by {}, and no value is valid for that",
        declaration.owner
    );
    let details = json!({ "scope": scope, "field": field, "blocks": [declaration.owner], "types": [demanded] });
    Conflict { error: schema_conflict(message, details), site: declaration.site }
}

fn conflict(field: &str, of: Option<&str>, owner: &str, declaration: &Declaration, clash: Clash) -> Conflict {
    let scope = declaration.scope.as_str();
    let field = format!("{field}{}", clash.path);
    let whose = of.map(|name| format!(" of \"{name}\"")).unwrap_or_default();
    let message = format!(
        "{scope} state field \"{field}\"{whose} is declared as {} by {owner} and as {} by {}",
        clash.one, clash.two, declaration.owner
    );
    let details = json!({
        "scope": scope,
        "field": field,
        "blocks": [owner, declaration.owner],
        "types": [clash.one, clash.two],
    });
    Conflict { error: schema_conflict(message, details), site: declaration.site }
}

fn schema_conflict(message: String, details: Value) -> FlowError {
    FlowError {
        code: Some("schema_conflict".to_owned()),
        details: Some(details),
        ..FlowError::new("SchemaConflictError", message)
    }
}
