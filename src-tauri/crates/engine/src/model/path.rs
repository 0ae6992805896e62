//! Logical paths: where a block stands in a request, by names instead of positions.
//!
//! Inserting a step before another must not change its path, because a resume finds finished work
//! by path (SEMANTICS §3.2). One segment per operation:
//!
//! | operation | segment | | operation | segment |
//! |---|---|---|---|---|
//! | action's root | `root` | | `forEach(b)` | `forEach:<b>[n]` |
//! | `step(b)` | `step:<b>` | | `doUntil` `doWhile` | `doUntil:<b>[n]` |
//! | `stepIf(c, b)` | `stepIf:<b>` | | `branch` | `branch:<key>` |
//! | `tap(b)` `tapIf(c, b)` | `tap:<b>` | | a router's choice | `route:<b>` |
//! | `work(b)` `workIf(c, b)` | `work:<b>` | | a generator's tool | `tool:<name>[<step>.<n>]` |
//! | `parallel` | `parallel/<key>` | | `rescue` | `rescue:<b>` |
//! | `stepAll` `stepAny` `race` | `stepAll[n]` … | | a loopBack pass | `loop[g]/` before the segment |
//! | an action's hook | `action.onCompleted:<b>` … | | a request's hook | `request.onStarted:<b>` … |
//! | `onStepErrored` | `onStepErrored:<b>` below what failed | | | |
//!
//! A segment that repeats within one chain gets `~2`, `~3` on its operation; indexes start at 0,
//! the first loopBack pass is `loop[1]`. A pass counts for the steps from its loopBack's target up to
//! the loopBack itself; within several loopBacks the outer one comes first: `loop~2[1]/loop[3]/step:a`
//! is the second pass of the chain's second loopBack. In names, `% / : [ ] ~` are percent-encoded.

use std::collections::HashMap;

/// The path of an action's root block.
pub const ROOT: &str = "root";

/// A name made safe for a segment.
pub fn encode(name: &str) -> String {
    let mut encoded = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '%' | '/' | ':' | '[' | ']' | '~' => encoded.push_str(&format!("%{:02X}", c as u32)),
            c => encoded.push(c),
        }
    }
    encoded
}

/// Numbers repeated segments of one chain in the order they stand in it.
#[derive(Default)]
pub struct Numbering(HashMap<String, u32>);

impl Numbering {
    /// `step:writer` the first time, `step:writer~2` the second.
    pub fn number(&mut self, segment: String) -> String {
        let count = self.0.entry(segment.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { segment } else { format!("{segment}~{count}") }
    }
}

/// A child's path.
pub fn join(parent: &str, segment: &str) -> String {
    format!("{parent}/{segment}")
}

/// The path around a path; nothing around a root.
pub fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(around, _)| around)
}

/// A path and every path around it, from the inside out.
pub fn with_ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| parent(path))
}

/// Whether a path is another one, or inside it.
pub fn is_at_or_inside(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// What a path has below another one, without the slash; nothing where it is not inside that.
pub fn path_below<'p>(path: &'p str, outer: &str) -> Option<&'p str> {
    path.strip_prefix(outer)?.strip_prefix('/')
}

/// Whether a path is inside another one, and not that one itself.
pub fn is_inside(path: &str, outer: &str) -> bool {
    path_below(path, outer).is_some()
}

/// What a path has in common with those of the other blocks of its operation: all but the index.
pub fn operation(path: &str) -> &str {
    let start = path.rfind('/').map_or(0, |at| at + 1);
    path[start..].find('[').map_or(path, |at| &path[..start + at])
}

/// The innermost background work that a path is or belongs to, if any.
pub fn background_task(path: &str) -> Option<&str> {
    let mut end = path.len();
    for segment in path.rsplit('/') {
        if is_background(segment) {
            return Some(&path[..end]);
        }
        end = end.saturating_sub(segment.len() + 1);
    }
    None
}

fn is_background(segment: &str) -> bool {
    segment.starts_with("work:") || segment.starts_with("forEachBackground")
}

/// The block around the outermost background work that a path belongs to, if it belongs to any.
pub fn beside(path: &str) -> Option<&str> {
    let mut end = 0;
    for segment in path.split('/') {
        if is_background(segment) {
            return path[..end].strip_suffix('/');
        }
        end += segment.len() + 1;
    }
    None
}

/// The segment of a hook that runs when a step failed, up to its block's name.
pub(crate) const ON_STEP_ERRORED: &str = "onStepErrored:";

/// Whether a path is that of a hook that runs when a step failed, or inside one.
pub(crate) fn is_of_step_hook(path: &str) -> bool {
    path.split('/').any(|segment| segment.starts_with(ON_STEP_ERRORED))
}
