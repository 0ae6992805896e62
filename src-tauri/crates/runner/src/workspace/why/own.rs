//! Values that the code of a block may have made or copied, where their content alone does not tell which: short ones,
//! and those that the code has as a text, too.

use std::sync::Arc;

use script::Made;
use serde_json::Value;

use super::causes::Cause;
use super::code::OfCode;
use super::near::{self, field_of, named};
use super::record::NO_EXECUTION;
use super::spot::{Spot, StateSpot, name_in};
use super::walk::{MAX_DEPTH, Walk, edge};
use crate::core::fault::Fault;
use crate::views::{Json, WhyEdge, WhyKind, WhyPlace};
use crate::workspace::At;

/// A text of the code.
pub(super) struct CodeText {
    /// Its place in the file.
    pub(super) at: usize,
    /// Whether the one expression that makes the field has it.
    pub(super) is_of_made: bool,
}

impl Walk<'_> {
    /// Explains a value that is too common to be looked for everywhere: by a field of the same name that the block got,
    /// by the state that it saw, by a text of its code, or by the only place with that value that it got.
    pub(super) fn explain_short(&mut self, spot: &Spot, value: &Value, depth: u32) -> Result<(), Fault> {
        let code = self.whole_in_code(spot, value);
        let near = near::same_field(spot);
        match (near, code) {
            (Some((of, operation)), code) if code.as_ref().is_none_or(|code| !code.is_of_made) => {
                self.copied_or_code(spot, Cause::known(of), (depth, Some(operation)), code)
            }
            (near, Some(code)) if code.is_of_made || near.is_some() => {
                let ties = near.map(|(of, _)| of.view());
                self.of_code(spot, depth, (code.at, None), ties.into_iter().collect())
            }
            (_, code) => {
                if let Some(state) = self.state_seen(spot, value) {
                    return self.copied_from_state(spot, &state, depth, code);
                }
                if let Some(code) = code {
                    return self.of_code(spot, depth, (code.at, None), Vec::new());
                }
                if let Some((of, operation)) = near::only_place(spot) {
                    return self.copied(spot, Cause::known(of), depth, (false, Some(operation)));
                }
                self.computed(spot, depth, value.as_str(), false)
            }
        }
    }

    /// Adds that an earlier value is the same, and that a text of the code is, too.
    pub(super) fn copied_or_code(
        &mut self,
        spot: &Spot,
        mut cause: Cause,
        (depth, operation): (u32, Option<&'static str>),
        code: Option<CodeText>,
    ) -> Result<(), Fault> {
        cause.spot.span = spot.span;
        let at = self.edges.len();
        let by = code.and_then(|code| self.source_of(spot, code.at));
        self.copied(spot, cause, depth, (false, operation))?;
        if let Some(edge) = self.edges.get_mut(at) {
            edge.by = by;
        }
        Ok(())
    }

    fn source_of(&mut self, spot: &Spot, at: usize) -> Option<crate::views::WhyBy> {
        let path = self.maker_of(spot).1?;
        let value = spot.value();
        let text = value.as_ref().and_then(|value| value.as_str()).unwrap_or_default();
        Some(self.definitions.text_at(self.workspace, (&spot.log.row.id, &path), at, text))
    }

    /// The field of the same name in a state, as the block saw it before it made a value.
    fn state_seen(&self, spot: &Spot, value: &Value) -> Option<StateSpot> {
        let record = spot.record();
        if record.execution == NO_EXECUTION || record.place == WhyPlace::Prompt {
            return None;
        }
        let (name, seq) = (field_of(spot)?, record.seq.checked_sub(1)?);
        // A request of another framework has no state.
        let view = self.workspace.state_at(&spot.log.row.id, Some(&At::Seq(seq))).ok()?;
        let scopes =
            [("request", view.request), ("session", view.session), ("user", view.user), ("project", view.project)];
        scopes.into_iter().find_map(|(scope, state)| {
            let Json(state) = state?;
            let pointer = named(&state, &name, value)?;
            let (address, scope) = (name_in(scope, &pointer), scope.to_owned());
            Some(StateSpot { log: spot.log.clone(), address, scope, pointer, seq, value: value.clone() })
        })
    }

    fn copied_from_state(
        &mut self,
        spot: &Spot,
        state: &StateSpot,
        depth: u32,
        code: Option<CodeText>,
    ) -> Result<(), Fault> {
        let by = code.and_then(|code| self.source_of(spot, code.at));
        let (of, operation) = (Some(state.view()), Some("state_seen".to_owned()));
        let is_pushed = self.push(WhyEdge { of, operation, by, ..edge(WhyKind::Copied, depth, spot.view()) });
        if depth >= MAX_DEPTH {
            self.truncated = true;
            return Ok(());
        }
        if is_pushed { self.explain_state(state, depth + 1) } else { Ok(()) }
    }

    /// The field of the same name that the block got, before a value that is the same only by its content.
    pub(super) fn nearest(&self, spot: &Spot, cause: Option<Cause>) -> Option<Cause> {
        let mut cause = cause?;
        let near = near::same_field(spot).filter(|_| spot.record().place != WhyPlace::Prompt);
        let Some((near, _)) =
            near.filter(|(near, _)| near.key() != (Spot { span: near.span, ..cause.spot.clone() }).key())
        else {
            return Some(cause);
        };
        let is_same = |view: &crate::views::WhySpot| *view == (Spot { span: None, ..near.clone() }).view();
        let other = Spot { span: None, ..cause.spot.clone() }.view();
        cause.ties.retain(|tie| !is_same(tie));
        // A value that the near one refers to, or that refers to it, is no other origin.
        let refers = spot.log.source_of(near.record) == spot.log.source_of(cause.spot.record);
        if !refers {
            cause.ties.insert(0, other);
            cause.others += u64::from(cause.others == 0);
        }
        Some(Cause { spot: near, is_own: true, ..cause })
    }

    /// The code that could make a value, and the part of it that does: the path of its block, what is made, and whether
    /// the block's options count.
    fn code_of<'f>(&self, spot: &Spot, field: Option<&'f str>, scope: Option<&'f str>) -> Option<Code<'f>> {
        let path = self.maker_of(spot).1?;
        let place = spot.record().place;
        let made = match (field, scope) {
            (Some(field), Some(scope)) => Some(Made::Write { scope, field }),
            (Some(field), None) if !matches!(place, WhyPlace::Prompt | WhyPlace::Error) => Some(Made::Field(field)),
            _ => None,
        };
        Some(Code { path, made, with_options: place == WhyPlace::Prompt })
    }

    /// A text that is, as a whole, one of the block's code.
    pub(super) fn whole_in_code(&mut self, spot: &Spot, value: &Value) -> Option<CodeText> {
        let text = value.as_str().filter(|text| !text.is_empty())?;
        let (field, scope) = names_of(spot);
        let code = self.code_of(spot, field.as_deref(), scope.as_deref())?;
        let what = (code.made, code.with_options);
        let found = self.definitions.whole(self.workspace, (&spot.log.row.id, &code.path), what, text);
        found.map(|(at, is_of_made)| CodeText { at, is_of_made })
    }

    /// The parts of a text that the block's code has.
    pub(super) fn parts_in_code(&mut self, spot: &Spot, text: &str) -> OfCode {
        let (field, scope) = names_of(spot);
        let Some(code) = self.code_of(spot, field.as_deref(), scope.as_deref()) else { return OfCode::default() };
        let what = (code.made, code.with_options);
        self.definitions.parts(self.workspace, (&spot.log.row.id, &code.path), what, text)
    }

    /// Whether the code has most of a text, so that it can be made anew.
    pub(super) fn is_mostly_code(&mut self, spot: &Spot, value: &Value) -> bool {
        let Value::String(text) = value else { return false };
        let (from, to) = spot.span.unwrap_or((0, text.len()));
        self.parts_in_code(spot, text).bytes_in((from, to)) * 2 >= (to - from).max(1)
    }
}

struct Code<'f> {
    path: Arc<str>,
    made: Option<Made<'f>>,
    with_options: bool,
}

/// The field that a value is, and of a write the scope.
fn names_of(spot: &Spot) -> (Option<String>, Option<String>) {
    let Some((scope, base, _)) = spot.log.scope_of(&spot.record()) else { return (field_of(spot), None) };
    let scope = scope.split('[').next().unwrap_or_default().to_owned();
    let place = format!("{base}{}", spot.pointer);
    (super::pointer::segments(&place).into_iter().next(), Some(scope))
}
