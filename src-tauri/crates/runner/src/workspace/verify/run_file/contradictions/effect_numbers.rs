//! The numbers of effects: `ordinal` counts the effects of one kind in one execution, from 0.
//!
//! An execution that takes effects of an earlier one, and one that goes on after an interruption, has other numbers, so
//! only first executions before the first resume are counted.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::effects::EffectKind;
use engine::event::{Event, EventKind, Seq};

use super::super::line_reader::LineFault;

/// The effects of one kind in the first execution at a path.
type Key = (Arc<str>, EffectKind);

/// The effects of one request.
#[derive(Default)]
pub(super) struct EffectNumbers {
    /// How many have begun, or ended at once.
    counts: HashMap<Key, u32>,
    /// Those that are not counted.
    odd: HashSet<Key>,
    /// Those that have begun.
    begun: HashMap<Seq, Begun>,
    /// Those that have an end in another line than their begin.
    begin_first: HashSet<Key>,
}

/// The begin of an effect.
struct Begun {
    ordinal: u32,
    line: usize,
    has_request: bool,
}

impl EffectNumbers {
    /// Checks an event, and reads it. `is_counted` tells whether the request was not resumed before.
    pub(super) fn event(&mut self, event: &Event, number: usize, is_counted: bool) -> Result<(), LineFault> {
        let Some(path) = &event.path else { return Ok(()) };
        let is_counted = is_counted && event.attempt == 0;
        match &event.kind {
            EventKind::EffectStarted { effect, ordinal, request } => {
                let begun = Begun { ordinal: *ordinal, line: number, has_request: request.is_some() };
                self.begun.insert(event.seq, begun);
                let key = (path.clone(), *effect);
                self.begin_first.insert(key.clone());
                Ok(self.count(key, *ordinal, is_counted)?)
            }
            EventKind::EffectFinished { ordinal, started: Some(started), effect, memoized, request, .. } => {
                if *memoized {
                    self.odd.insert((path.clone(), *effect));
                    return Ok(());
                }
                let (Some(begun), name) = (self.begun.get(started), effect.as_str()) else { return Ok(()) };
                if begun.ordinal != *ordinal {
                    let Begun { ordinal: other, line, .. } = begun;
                    let what =
                        format!("\"ordinal\" is {ordinal}, and {other} in line {line}, where this {name} begins");
                    return Err(format!("{what}: write the same in both").into());
                }
                // Earlier versions wrote what was asked at the end.
                if !begun.has_request && request.is_none() {
                    let what = format!("\"request\" is missing: it is what this {name} was asked");
                    return Err(LineFault::at(begun.line, what));
                }
                Ok(())
            }
            // Earlier versions wrote only the end of an effect, with what was asked.
            EventKind::EffectFinished { effect, ordinal, started: None, request, memoized, .. } => {
                let key = (path.clone(), *effect);
                if self.begin_first.contains(&key) && !memoized && request.is_none() {
                    let name = effect.as_str();
                    let what = format!("\"started\" is missing: it is the seq of the begin of this {name} at {path}");
                    return Err(what.into());
                }
                if *memoized || request.is_some() {
                    self.odd.insert(key);
                    return Ok(());
                }
                Ok(self.count(key, *ordinal, is_counted)?)
            }
            _ => Ok(()),
        }
    }

    fn count(&mut self, key: Key, ordinal: u32, is_counted: bool) -> Result<(), String> {
        if !is_counted || self.odd.contains(&key) {
            return Ok(());
        }
        let (path, effect) = &key;
        let expected = self.counts.get(&key).copied().unwrap_or(0);
        if ordinal != expected {
            let name = effect.as_str();
            return Err(format!(
                "\"ordinal\" is {ordinal}: this is {name} number {expected} at {path}, counted from 0"
            ));
        }
        self.counts.insert(key, expected + 1);
        Ok(())
    }
}
