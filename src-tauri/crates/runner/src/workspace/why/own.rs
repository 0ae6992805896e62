//! Values that the code of a block may have made or copied, where their content alone does not tell which: short ones,
//! and those that the code has as a text, too.

use std::sync::Arc;

use engine::event::BlockKind;
use script::Made;
use serde_json::Value;

use super::causes::Cause;
use super::code::OfCode;
use super::had;
use super::near::field_of;
use super::seen::Seen;
use super::spot::Spot;
use super::walk::Walk;
use crate::core::fault::Fault;
use crate::views::{WhyPlace, WhySpot};

/// So many values that are as likely are named.
const MAX_TIES: usize = 3;

/// A text of the code.
pub(super) struct CodeText {
    /// Its place in the file.
    pub(super) at: usize,
    /// Whether the one expression that makes the field has it.
    pub(super) is_of_made: bool,
}

impl Walk<'_> {
    /// Explains a value that is too common to be looked for everywhere: by a field of the same name that the block had,
    /// by the state that it saw, by a text of its code, or by the places with that value in what it had. Names the
    /// nearest one, and the others that are as likely.
    pub(super) fn explain_short(&mut self, spot: &Spot, value: &Value, depth: u32) -> Result<(), Fault> {
        let code = self.whole_in_code(spot, value);
        let mut fields = had::same_fields(spot, MAX_TIES + 1).into_iter();
        let is_made_by_code = code.as_ref().is_some_and(|code| code.is_of_made);
        match (fields.next(), code) {
            (near, Some(code)) if is_made_by_code => {
                let ties = near.into_iter().chain(fields).map(|of| of.view()).take(MAX_TIES).collect();
                self.of_code(spot, depth, (code.at, None), ties)
            }
            (Some(of), code) => {
                let mut ties: Vec<WhySpot> = fields.map(|of| of.view()).collect();
                ties.extend(self.states_before(spot, value).iter().map(Seen::view));
                let others = ties.len() as u64;
                ties.truncate(MAX_TIES);
                self.copied_or_code(spot, Cause::tied(of, others, ties), (depth, Some("same_field")), code)
            }
            (None, code) => self.explain_unnamed(spot, value, (depth, code)),
        }
    }

    /// Explains a short value that has the name of no field that the block had.
    fn explain_unnamed(
        &mut self,
        spot: &Spot,
        value: &Value,
        (depth, code): (u32, Option<CodeText>),
    ) -> Result<(), Fault> {
        let seq = spot.record().seq.saturating_sub(1);
        let mut states = self.states_seen(spot, value, seq).into_iter();
        if let Some(state) = states.next() {
            let ties = states.map(|state| state.view()).take(MAX_TIES).collect();
            return self.copied_from_state(spot, &state, (depth, code), ties);
        }
        let (places, count) = had::places(spot);
        if let Some(code) = code {
            let ties = places.iter().map(Spot::view).take(MAX_TIES);
            let ties = if had::is_common(value) { Vec::new() } else { ties.collect() };
            return self.of_code(spot, depth, (code.at, None), ties);
        }
        let ties_from =
            |first: usize| -> Vec<WhySpot> { places.iter().skip(first).take(MAX_TIES).map(Spot::view).collect() };
        // Of several places in one value, none is nearer.
        let nearest = places.first().filter(|first| places.get(1).is_none_or(|next| next.record != first.record));
        if let Some(nearest) = nearest.filter(|_| !had::is_common(value)) {
            let cause = Cause::tied(nearest.clone(), count - 1, ties_from(1));
            return self.copied(spot, cause, depth, (false, Some("same_value")));
        }
        let (at, ties) = (self.edges.len(), ties_from(0));
        self.computed(spot, depth, value.as_str(), false)?;
        if let Some(edge) = self.edges.get_mut(at) {
            edge.others = Some(count).filter(|count| *count > 0);
            edge.ties = ties;
        }
        Ok(())
    }

    /// The fields of states with the same name and value before the block wrote anything itself.
    fn states_before(&self, spot: &Spot, value: &Value) -> Vec<Seen> {
        let (log, record) = (&spot.log, spot.record());
        let own = log.executions.get(record.execution as usize);
        // What a chain hands on flows on by itself.
        match own.filter(|own| self.maker_of(spot).0 == record.execution && own.kind != BlockKind::Sequencer) {
            Some(own) => self.states_seen(spot, value, own.start),
            None => Vec::new(),
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

    pub(super) fn source_of(&mut self, spot: &Spot, at: usize) -> Option<crate::views::WhyBy> {
        let path = self.maker_of(spot).1?;
        let value = spot.value();
        let text = value.as_ref().and_then(|value| value.as_str()).unwrap_or_default();
        Some(self.definitions.text_at(self.workspace, (&spot.log.row.id, &path), at, text))
    }

    /// The field of the same name that the block got, before a value that is the same only by its content.
    pub(super) fn nearest(&self, spot: &Spot, cause: Option<Cause>) -> Option<Cause> {
        let mut cause = cause?;
        let near = had::same_fields(spot, 1).pop().filter(|_| spot.record().place != WhyPlace::Prompt);
        let is_other = |near: &Spot| near.key() != (Spot { span: near.span, ..cause.spot.clone() }).key();
        let Some(near) = near.filter(is_other) else { return Some(cause) };
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
