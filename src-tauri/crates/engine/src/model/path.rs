//! Logical paths: the place of a block in a request, by names instead of positions.
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
use std::ops::Range;

/// The path of an action's root block.
pub const ROOT: &str = "root";

/// Percent-encodes a name for a segment.
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

/// Numbers repeated segments of one chain, in its order.
#[derive(Default)]
pub struct Numbering(HashMap<String, u32>);

impl Numbering {
    /// Returns `step:writer` the first time, `step:writer~2` the second.
    pub fn number(&mut self, segment: String) -> String {
        let count = self.0.entry(segment.clone()).or_insert(0);
        *count += 1;
        if *count == 1 { segment } else { format!("{segment}~{count}") }
    }
}

/// Returns a child's path.
pub fn join(parent: &str, segment: &str) -> String {
    format!("{parent}/{segment}")
}

/// Returns the parent of a path; `None` for a root.
pub fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(around, _)| around)
}

/// Iterates over a path and its ancestors, from the inside out.
pub fn with_ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| parent(path))
}

#[cfg(test)]
thread_local! {
    /// How often two paths were compared, for tests of the amount of work.
    pub(crate) static COMPARED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Returns whether a path equals another one, or is inside it.
pub fn is_at_or_inside(path: &str, outer: &str) -> bool {
    #[cfg(test)]
    COMPARED.set(COMPARED.get() + 1);
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the part of a path below another one, without the slash; `None` if it is not inside it.
pub fn path_below<'p>(path: &'p str, outer: &str) -> Option<&'p str> {
    #[cfg(test)]
    COMPARED.set(COMPARED.get() + 1);
    path.strip_prefix(outer)?.strip_prefix('/')
}

/// Returns whether a path is inside another one and does not equal it.
pub fn is_inside(path: &str, outer: &str) -> bool {
    path_below(path, outer).is_some()
}

/// Returns the range of exactly the paths inside a path, in alphabetical order.
pub fn range_inside(path: &str) -> Range<String> {
    // `0` is the character after `/`.
    format!("{path}/")..format!("{path}0")
}

/// Returns a path without the index of its last segment: the same for all blocks of one operation.
pub fn operation(path: &str) -> &str {
    let start = path.rfind('/').map_or(0, |at| at + 1);
    path[start..].find('[').map_or(path, |at| &path[..start + at])
}

/// Returns a path without any index: the same for all blocks of one operation in all passes around it.
pub fn without_indices(path: &str) -> String {
    let mut depth = 0_u32;
    let kept = path.chars().filter(|c| {
        let was_inside = depth > 0;
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        !was_inside && depth == 0
    });
    kept.collect()
}

/// Returns whether a path is that of a block that a function (`block.run`) or a model (a tool) called.
pub(crate) fn is_called(path: &str) -> bool {
    let segment = path.rsplit('/').next().unwrap_or_default();
    segment.starts_with("run:") || segment.starts_with("tool:")
}

/// Returns the path of the innermost background task that a path is or is inside of, if any.
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

/// Returns the parent of the outermost background task that a path is or is inside of, if any.
pub fn background_parent(path: &str) -> Option<&str> {
    let mut end = 0;
    for segment in path.split('/') {
        if is_background(segment) {
            return path[..end].strip_suffix('/');
        }
        end += segment.len() + 1;
    }
    None
}

/// Returns whether a path is in a hook that runs at the end of every request, or of a failed one.
pub fn is_of_end_hook(path: &str) -> bool {
    END_HOOKS.iter().any(|hook| path.starts_with(hook))
}

/// The prefixes of the paths of the hooks that run at the end of every request, or of a failed one.
pub(crate) const END_HOOKS: [&str; 3] = ["action.onErrored:", "request.onErrored:", "request.onFinished:"];

/// The segment of `request.onStepErrored`, before its block's name.
pub(crate) const ON_STEP_ERRORED: &str = "onStepErrored:";

/// Returns whether a path is that of `request.onStepErrored`, or inside it.
pub(crate) fn is_of_step_hook(path: &str) -> bool {
    path.split('/').any(|segment| segment.starts_with(ON_STEP_ERRORED))
}
