//! Whether code may keep state in memory from one block to the next: a variable of a file, a table that a function
//! fills, a closure's counter.
//!
//! If code keeps no state, a block can run alone with the same result. The answer is conservative: "yes" for all code
//! that is not clearly harmless, and then the whole request runs again. Must not run anything.

mod names;
mod values;

use oxc::ast::AstKind;
use oxc::ast::ast::UnaryOperator;
use oxc::semantic::{AstNodes, NodeId, Reference, SemanticBuilder};
use oxc::span::{GetSpan, Span};

use crate::bundle::code::Code;
use crate::bundle::parsed::parsed;
use names::Names;
use values::{Module, Value};

/// Names that give access to the global object, which all blocks share.
const GLOBALS: [&str; 6] = ["globalThis", "global", "self", "window", "eval", "Function"];

/// Methods that do not change a table and return none of its entries.
const LOOKS: [&str; 8] = ["has", "includes", "indexOf", "lastIndexOf", "join", "keys", "startsWith", "toString"];

/// Methods that do not change a table but return its entries, which are not objects if the table is flat.
const READS: [&str; 22] = [
    "at",
    "concat",
    "entries",
    "every",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "flatMap",
    "forEach",
    "get",
    "map",
    "reduce",
    "reduceRight",
    "slice",
    "some",
    "toReversed",
    "toSorted",
    "toSpliced",
    "values",
    "with",
    "hasOwnProperty",
];

/// Functions that neither change nor return their argument.
const PURE: [&str; 14] = [
    "Object.keys",
    "Object.values",
    "Object.entries",
    "Object.hasOwn",
    "Object.fromEntries",
    "JSON.stringify",
    "Array.isArray",
    "Array.from",
    "String",
    "Number",
    "Boolean",
    "structuredClone",
    "Set",
    "Map",
];

impl Code {
    /// Returns whether the code may keep state in memory from one block to the next.
    pub fn may_keep_state(&self) -> bool {
        may_keep_state(self.sources.iter().map(|source| (source.file.as_str(), source.text.as_str())))
    }
}

fn may_keep_state<'s>(sources: impl Iterator<Item = (&'s str, &'s str)> + Clone) -> bool {
    let code = sources.filter(|(file, text)| is_code(file) && !text.is_empty());
    let mut names = Names::default();
    for (file, text) in code.clone() {
        let Some(own) = parsed(text, file, |program| {
            let semantic = SemanticBuilder::new().with_build_nodes(true).build(program).semantic;
            let none = Names::default();
            Module { text, nodes: semantic.nodes(), scoping: semantic.scoping(), names: &none }.names()
        }) else {
            return true;
        };
        names.merge(own);
    }
    names.follow_calls();
    code.into_iter().any(|(file, text)| {
        let keeps = parsed(text, file, |program| {
            let semantic = SemanticBuilder::new().with_build_nodes(true).build(program).semantic;
            let module = Module { text, nodes: semantic.nodes(), scoping: semantic.scoping(), names: &names };
            keeps_state(&module)
        });
        keeps.unwrap_or(true)
    })
}

fn is_code(file: &str) -> bool {
    let ending = file.rsplit_once('.').map_or("", |(_, ending)| ending);
    ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs"].contains(&ending)
}

fn keeps_state(module: &Module<'_, '_>) -> bool {
    let Module { nodes, scoping, .. } = module;
    if nodes.iter().any(|node| module.is_hidden_state(node.kind())) {
        return true;
    }
    let is_value = |reference: &Reference| reference.is_read() || reference.is_write();
    for (name, references) in scoping.root_unresolved_references() {
        let all = references.iter().map(|id| scoping.get_reference(*id)).filter(|reference| is_value(reference));
        let mut in_functions = all.filter(|reference| function_of(nodes, reference.node_id()).is_some());
        let is_global = GLOBALS.contains(&name.as_str());
        if in_functions.any(|reference| is_global || Use::of(module, reference).is_write()) {
            return true;
        }
    }
    scoping.symbol_ids().any(|symbol| {
        let declared = scoping.symbol_declaration(symbol);
        let home = function_of(nodes, declared);
        if home.is_some_and(|home| !module.runs_at_load(home)) {
            return false;
        }
        let all = scoping.get_resolved_references(symbol).filter(|reference| is_value(reference));
        let mut kept = all.filter(|reference| function_of(nodes, reference.node_id()) != home).peekable();
        if kept.peek().is_none() {
            return false;
        }
        let value = module.value_of(symbol, 0);
        kept.any(|reference| !Use::of(module, reference).is_harmless(value))
    })
}

/// Returns the innermost function around a node.
fn function_of(nodes: &AstNodes<'_>, node: NodeId) -> Option<NodeId> {
    let is_function = |kind: AstKind<'_>| matches!(kind, AstKind::Function(_) | AstKind::ArrowFunctionExpression(_));
    let mut at = node;
    loop {
        let parent = nodes.parent_id(at);
        if parent == at {
            return None;
        }
        if is_function(nodes.kind(parent)) {
            return Some(parent);
        }
        if matches!(nodes.kind(parent), AstKind::Program(_)) {
            return None;
        }
        at = parent;
    }
}

/// A use of a name in code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// The name or a member is assigned.
    Write,
    /// It is called.
    Call,
    /// A method of it or of a member is called.
    Method { looks: bool, reads: bool },
    /// It is passed to a function that does not change it.
    Pure,
    /// Its entries are iterated, or it is inspected without being passed on.
    Entries,
    /// A member is read.
    Member,
    /// It is passed on, so that other code may change it.
    Away,
}

impl Use {
    fn of(module: &Module<'_, '_>, reference: &Reference) -> Use {
        let nodes = module.nodes;
        if reference.is_write() {
            return Use::Write;
        }
        let (mut at, mut depth, mut last) = (reference.node_id(), 0_u32, "");
        loop {
            let span = nodes.kind(at).span();
            let parent = nodes.parent_id(at);
            let is_object = match nodes.kind(parent) {
                AstKind::StaticMemberExpression(it) => {
                    let is_object = it.object.span() == span;
                    last = if is_object { it.property.name.as_str() } else { last };
                    is_object
                }
                AstKind::ComputedMemberExpression(it) => {
                    last = if it.object.span() == span { "" } else { last };
                    it.object.span() == span
                }
                AstKind::PrivateFieldExpression(it) => it.object.span() == span,
                AstKind::ChainExpression(_)
                | AstKind::ParenthesizedExpression(_)
                | AstKind::TSAsExpression(_)
                | AstKind::TSNonNullExpression(_)
                | AstKind::TSSatisfiesExpression(_)
                | AstKind::TSTypeAssertion(_) => {
                    at = parent;
                    continue;
                }
                other => return Use::by(module.text, other, span, depth, last),
            };
            if !is_object {
                return Use::by(module.text, nodes.kind(parent), span, depth, last);
            }
            depth += 1;
            at = parent;
        }
    }

    /// How the node around a name, or around a member of it, uses it.
    fn by(text: &str, around: AstKind<'_>, span: Span, depth: u32, last: &str) -> Use {
        let given = |callee: Span| {
            let callee = text.get(callee.start as usize..callee.end as usize).unwrap_or_default();
            let is_pure = PURE.contains(&callee) || callee.starts_with("Math.");
            if is_pure {
                Use::Pure
            } else if depth > 0 {
                Use::Member
            } else {
                Use::Away
            }
        };
        let method = || match depth {
            0 => Use::Call,
            _ => Use::Method { looks: LOOKS.contains(&last), reads: READS.contains(&last) },
        };
        match around {
            AstKind::AssignmentExpression(it) if it.left.span() == span => Use::Write,
            AstKind::UpdateExpression(_)
            | AstKind::ArrayAssignmentTarget(_)
            | AstKind::ObjectAssignmentTarget(_)
            | AstKind::AssignmentTargetRest(_)
            | AstKind::AssignmentTargetWithDefault(_)
            | AstKind::AssignmentTargetPropertyIdentifier(_)
            | AstKind::AssignmentTargetPropertyProperty(_) => Use::Write,
            AstKind::UnaryExpression(it) if it.operator == UnaryOperator::Delete => Use::Write,
            AstKind::ForOfStatement(it) if it.left.span() == span => Use::Write,
            AstKind::ForInStatement(it) if it.left.span() == span => Use::Write,
            AstKind::CallExpression(it) if it.callee.span() == span => method(),
            AstKind::NewExpression(it) if it.callee.span() == span => method(),
            AstKind::CallExpression(it) => given(it.callee.span()),
            AstKind::NewExpression(it) => given(it.callee.span()),
            _ if depth > 0 => Use::Member,
            AstKind::SpreadElement(_)
            | AstKind::ForOfStatement(_)
            | AstKind::ForInStatement(_)
            | AstKind::BinaryExpression(_)
            | AstKind::UnaryExpression(_)
            | AstKind::TemplateLiteral(_) => Use::Entries,
            _ => Use::Away,
        }
    }

    fn is_write(self) -> bool {
        self == Use::Write
    }

    /// Returns whether a use cannot change the value of a name.
    fn is_harmless(self, value: Value) -> bool {
        match (value, self) {
            (_, Use::Write) => false,
            (Value::Plain | Value::Function | Value::Built, _) => true,
            (Value::Flat, Use::Method { looks, reads }) => looks || reads,
            (Value::Flat, Use::Pure | Use::Entries | Use::Member) => true,
            (Value::Table, Use::Method { looks, .. }) => looks,
            (Value::Flat | Value::Table | Value::Unknown, _) => false,
        }
    }
}

#[cfg(test)]
mod tests;
