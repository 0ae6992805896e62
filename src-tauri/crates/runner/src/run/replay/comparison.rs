//! Compares a replay with the recording: the first difference in the order of the log, and all differences together.
//!
//! Pure functions of the two logs. Must not depend on the purpose of the replay.

mod accepted;
mod dispatches;
mod entry;
mod left_out;
mod outside_of_blocks;
mod questions;
mod refused;
mod request_end;
mod shortened;
mod unacceptable;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use engine::effect_log::{Missing, ReplayedQuestion};
use engine::effects::EffectKind;
use engine::event::{Event, EventKind, RequestStatus, Seq};
use engine::loading::LOAD;
use engine::operation::equal;
use engine::path::ROOT;
use engine::redaction::Redaction;
use engine::views::trace::{Did, as_stored_before, traces};
use indexmap::IndexMap;
use serde::Serialize;
use serde_json::{Value, json};

use crate::views::{Divergence, Json, Replay};
use outside_of_blocks::OUTSIDE;
use shortened::hide;
pub(crate) use unacceptable::Unacceptable;

/// The expected behaviour of blocks where it differs from the request's events: by path, in order. `None` for
/// a block that is expected not to run. Empty if nothing differs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Expectation(pub(crate) BTreeMap<Arc<str>, Option<Vec<Value>>>);

/// The field of a block's first entry with the format of all its entries; earlier versions wrote none.
const FORM: &str = "form";
const FORM_OF_TODAY: u32 = 2;

/// A difference between a replay and the recording.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    pub(crate) divergence: Divergence,
    /// Whether the replay made a call that is not in the log; then its further behaviour is unknown.
    pub(crate) is_asked: bool,
}

/// How a replay differs from what was expected.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// How many blocks were compared.
    pub(crate) compared: u32,
    /// The first difference.
    pub(crate) first: Option<Difference>,
    /// The expected behaviour if all differences are accepted. `None` if they cannot be accepted.
    pub(crate) accepted: Option<Expectation>,
    /// Why the differences cannot be accepted.
    pub(crate) unacceptable: Option<Unacceptable>,
    /// Why nothing can be compared, if so.
    pub(crate) nothing: Option<&'static str>,
}

/// The result of a replay.
pub(crate) struct Found<'r> {
    /// Its events.
    pub(crate) events: &'r [Event],
    /// The effect that it requested and that is not in the log.
    pub(crate) missing: Option<Missing>,
    /// The questions that it asked.
    pub(crate) questions: Vec<ReplayedQuestion>,
    /// How the recorded input differs after today's action has parsed it.
    pub(crate) input: Option<Divergence>,
}

impl Comparison {
    /// Compares as [`of`](Self::of) does, after `form` has transformed both sides.
    fn in_form(
        recorded: &[Event],
        expectation: &Expectation,
        found: &Found<'_>,
        redaction: &Redaction,
        form: impl Fn(&mut Trace),
    ) -> Comparison {
        let Found { events: replayed, missing, questions, input } = found;
        let (recorded, is_refused) = refused::as_waiting(recorded);
        let recorded = &*recorded;
        let mut came = Came::of(recorded);
        let of_recorded = traces(recorded);
        let ended: HashSet<Arc<str>> = of_recorded.ended.keys().cloned().collect();
        let mut was = questions::with_waiting(of_recorded, recorded, came.waits);
        form(&mut was);
        let mut is = questions::with_waiting(traces(replayed), replayed, Came::of(replayed).waits);
        form(&mut is);
        left_out::leave_out(&mut was, &is, recorded);
        questions::add_asked((&mut was, &mut is), recorded, questions, &ended);
        dispatches::add_dispatches(&mut was, &mut is, recorded, replayed);
        hide(&mut was, redaction);
        hide(&mut is, redaction);
        let is_in_blocks = |path: &Arc<str>| was.contains_key(path) || is.contains_key(path);
        let is_compared = missing.is_none() && came.is_to_its_end;
        let question = || outside_of_blocks::first_question(recorded, replayed, redaction, is_in_blocks);
        let question = (is_compared && came.waits).then(question).flatten();
        let otherwise = is_compared.then(|| outside_of_blocks::first_difference(recorded, replayed)).flatten();
        let end = is_compared.then(|| request_end::first_difference(recorded, replayed, redaction)).flatten();
        let unacceptable = if missing.is_some() {
            Some(Unacceptable::Asks)
        } else if is.values().flatten().any(is_ended_by_limit) {
            Some(Unacceptable::Limit)
        } else if input.is_some() {
            Some(Unacceptable::Input)
        } else if end.is_some() && !is.contains_key(ROOT) {
            Some(Unacceptable::End)
        } else {
            question.is_some().then_some(Unacceptable::Question)
        };
        let accepted = unacceptable.is_none().then(|| {
            let mut changes = accepted::changes(&was, &is, came.is_to_its_end);
            if end.is_some() {
                accepted::add_end(&mut changes, &is);
            }
            let all = otherwise.is_some().then(|| outside_of_blocks::all(replayed, redaction));
            changes.0.extend(all.map(|all| (OUTSIDE.into(), Some(all))));
            changes
        });
        let outside = match expectation.0.get(OUTSIDE) {
            Some(Some(expected)) if is_compared => {
                outside_of_blocks::first_unexpected(expected, recorded, replayed, redaction)
            }
            _ => otherwise,
        };
        // A refused answer interrupted the blocks that ran in parallel with its question.
        came.is_to_its_end &= !is_refused;
        expectation.put_in_old_form(&mut is);
        let expected = expectation.on(was);
        let last = recorded.last().map_or(0, |event| event.seq);
        let sides = Sides { was: &expected, is: &is, ended: &ended, expectation, came, last };
        let (compared, first) = sides.first_difference(missing.clone());
        let not_asked = |divergence| Difference { divergence, is_asked: false };
        // An accepted root block already determines the expected end of the request.
        let end = end.filter(|_| !expectation.0.contains_key(ROOT));
        let first = input.clone().map(not_asked).or(first).or(end.or(outside).or(question).map(not_asked));
        let is_empty = first.is_none() && expected.is_empty() && !request_end::is_compared(recorded, is_compared);
        let nothing = is_empty.then(|| request_end::why_nothing(recorded));
        Comparison { compared, first, accepted, unacceptable, nothing }
    }

    /// The flow's file used an effect such as the clock while it was loaded, and the recording has none.
    pub(crate) fn at_load(kind: EffectKind, ordinal: u32) -> Comparison {
        let found = json!(format!("{}, call {}", kind.as_str(), ordinal + 1));
        let difference = Difference { divergence: divergence(1, LOAD, Value::Null, found), is_asked: true };
        let unacceptable = Some(Unacceptable::Asks);
        Comparison { first: Some(difference), unacceptable, ..Comparison::default() }
    }
}

impl From<Comparison> for Replay {
    fn from(comparison: Comparison) -> Replay {
        let Comparison { compared, first, nothing, .. } = comparison;
        Replay {
            identical: first.is_none() && nothing.is_none(),
            compared,
            divergence: first.map(|first| first.divergence),
            why: nothing.map(str::to_owned),
            unset_variables: Vec::new(),
        }
    }
}

/// The behaviour of blocks, by path.
type Trace = IndexMap<Arc<str>, Vec<Did>>;

/// The progress of a recorded request.
#[derive(Clone, Default)]
struct Came {
    /// Whether it ran completely: it ended without an abort, or waits for an answer.
    is_to_its_end: bool,
    /// Whether it waits for an answer.
    waits: bool,
    /// The blocks that began.
    began: HashSet<Arc<str>>,
}

impl Came {
    fn of(recorded: &[Event]) -> Came {
        let status = recorded.iter().rev().find_map(|event| match &event.kind {
            EventKind::RequestFinished { status, .. } | EventKind::RequestStatus { status } => Some(*status),
            EventKind::RequestResumed { .. } | EventKind::RequestAdopted { .. } => Some(RequestStatus::InProgress),
            _ => None,
        });
        let waits = status == Some(RequestStatus::Suspended);
        let has_ended = recorded.last().is_some_and(|event| matches!(event.kind, EventKind::RequestFinished { .. }));
        let is_begin = |event: &&Event| matches!(event.kind, EventKind::BlockStarted { .. });
        let began = recorded.iter().filter(is_begin).filter_map(|event| event.path.clone()).collect();
        Came { is_to_its_end: waits || has_ended && status != Some(RequestStatus::Aborted), waits, began }
    }
}

/// Whether a limit ended a block. The point at which it does depends on the machine, so such an end cannot be accepted.
fn is_ended_by_limit(did: &Did) -> bool {
    did.what["error"]["code"] == "limit_exceeded"
}

impl Expectation {
    /// Parses a stored expectation: an object with a list or null for each path.
    pub(crate) fn read(stored: Value) -> Result<Expectation, String> {
        let Value::Object(paths) = stored else { return Err("the expectation is not an object".to_owned()) };
        let read = |(path, did): (String, Value)| Ok((path.into(), Expectation::read_did(did)?));
        Ok(Expectation(paths.into_iter().map(read).collect::<Result<_, String>>()?))
    }

    /// Parses the expected behaviour of one block; `None` if it must not run.
    fn read_did(did: Value) -> Result<Option<Vec<Value>>, String> {
        match did {
            Value::Null => Ok(None),
            Value::Array(did) if !did.is_empty() => Ok(Some(did)),
            _ => Err("\"did\" must be a list of at least one entry, or null if the block does not run".to_owned()),
        }
    }

    /// Parses the expected behaviour of one block from a file, which a person may have edited.
    pub(crate) fn read_did_of_file(did: Value) -> Result<Option<Vec<Value>>, String> {
        let did = Expectation::read_did(did)?;
        did.iter().flatten().try_for_each(entry::check)?;
        Ok(did)
    }

    /// Hides all secrets that are known now.
    pub(crate) fn redact(&mut self, redaction: &Redaction) {
        self.0.values_mut().flatten().flatten().for_each(|what| redaction.known(what));
    }

    /// Whether the expected behaviour is that of the events.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Converts the behaviour of blocks to the form in which earlier versions stored their expectation.
    fn put_in_old_form(&self, is: &mut Trace) {
        for (path, did) in &self.0 {
            let is_old = did.as_ref().and_then(|did| did.first()).is_some_and(|first| first.get(FORM).is_none());
            if let Some(is) = is.get_mut(path).filter(|_| is_old) {
                *is = as_stored_before(is);
            }
        }
    }

    /// The expected behaviour of a request, given the behaviour recorded by its events.
    fn on(&self, recorded: Trace) -> Trace {
        let mut expected = recorded;
        for (path, did) in self.0.iter().filter(|(path, _)| &***path != OUTSIDE) {
            let Some(did) = did else {
                expected.shift_remove(path);
                continue;
            };
            // An entry gets the number of the event that it replaces.
            let seqs: Vec<Seq> = expected.get(path).into_iter().flatten().map(|did| did.seq).collect();
            let last = seqs.last().copied().or_else(|| around(&expected, path)).unwrap_or(0);
            let place = |(at, what): (usize, &Value)| {
                let mut what = what.clone();
                if let Some(fields) = what.as_object_mut() {
                    fields.remove(FORM);
                }
                Did::expected(seqs.get(at).copied().unwrap_or(last), what)
            };
            expected.insert(path.clone(), did.iter().enumerate().map(place).collect());
        }
        expected
    }
}

/// The two sides of a comparison.
struct Sides<'t> {
    was: &'t Trace,
    is: &'t Trace,
    /// The blocks that had ended.
    ended: &'t HashSet<Arc<str>>,
    expectation: &'t Expectation,
    came: Came,
    /// The last recorded event.
    last: Seq,
}

impl Sides<'_> {
    /// The number of compared blocks, which had ended, and the first difference in recorded order.
    fn first_difference(&self, missing: Option<Missing>) -> (u32, Option<Difference>) {
        let Sides { was, is, last, .. } = *self;
        let mut found: Vec<Difference> = Vec::new();
        let did = |divergence| Difference { divergence, is_asked: false };
        let mut compared = 0;
        for (path, was) in was {
            match is.get(path) {
                Some(is) if !is_cut_short(is) || missing.is_none() => {
                    compared += u32::from(self.ended.contains(path));
                    found.extend(first_difference(path, without_abort(was), is).map(did));
                }
                None if missing.is_none() => {
                    let first = was.first();
                    let what = first.map(|did| did.what.clone()).unwrap_or_default();
                    let seq = first.map_or(0, |did| did.seq);
                    found.push(did(divergence(seq, path, what, json!("did not run"))));
                }
                _ => {}
            }
        }
        if missing.is_none() {
            let news = is.iter().filter(|(path, _)| !was.contains_key(*path));
            // Later differences follow from this one.
            found.splice(0..0, news.filter_map(|(path, news)| self.news(path, news.first()?)).map(did));
        }
        if let Some(Missing { path, asked, recorded }) = missing
            && self.is_missed(&path)
        {
            let own = was.get(&path).and_then(|did| did.last()).map(|did| (did.seq, json!("no such call")));
            let none = || (around(was, &path).unwrap_or(last), json!("did not run"));
            let (seq, recorded) = recorded.or(own).unwrap_or_else(none);
            // Put it before the differences at the same event, which follow from it.
            found.insert(0, Difference { divergence: divergence(seq, &path, recorded, asked), is_asked: true });
        }
        (compared, found.into_iter().min_by_key(|difference| difference.divergence.seq))
    }

    /// The difference for a block that ended only in the replay. `None` if the recorded request was stopped before it
    /// could reach this block: no recorded block began after it.
    fn news(&self, path: &Arc<str>, first: &Did) -> Option<Divergence> {
        let had_begun = self.came.began.contains(path);
        let next = next_known(self.was, self.is, first.seq).filter(|_| !had_begun);
        let is_expected_not_to_run = self.expectation.0.get(path).is_some_and(Option::is_none);
        if !self.came.is_to_its_end && !is_expected_not_to_run && next.is_none() {
            return None;
        }
        let seq = next.or_else(|| around(self.was, path)).unwrap_or(self.last);
        let recorded = if had_begun { "did not end" } else { "did not run" };
        Some(divergence(seq, path, json!(recorded), first.what.clone()))
    }

    /// Whether an effect that is not in the log is a difference. It is not if the recorded request was
    /// stopped before its block could request the effect.
    fn is_missed(&self, path: &Arc<str>) -> bool {
        let has_ended = self.was.get(path).is_some_and(|did| !is_cut_short(did));
        let stands_before_known =
            || !self.came.began.contains(path) && self.was.keys().any(|known| !self.is.contains_key(known));
        self.came.is_to_its_end || has_ended || stands_before_known()
    }
}

fn first_difference(path: &str, was: &[Did], is: &[Did]) -> Option<Divergence> {
    for (at, did) in was.iter().enumerate() {
        match is.get(at) {
            Some(other) if equal(&did.what, &other.what) => {}
            other => {
                let found = other.map_or_else(|| json!("nothing more"), |other| other.what.clone());
                return Some(divergence(did.seq, path, did.what.clone(), found));
            }
        }
    }
    None
}

pub(super) fn divergence(seq: Seq, path: &str, recorded: Value, found: Value) -> Divergence {
    Divergence { seq, path: path.to_owned(), recorded: Json(recorded), found: Json(found) }
}

/// The behaviour of a block without the entry of its abort.
fn without_abort(did: &[Did]) -> &[Did] {
    &did[..did.len() - usize::from(is_cut_short(did))]
}

/// Whether a block was stopped while it ran.
fn is_cut_short(did: &[Did]) -> bool {
    did.last().is_some_and(|did| did.what["error"]["code"] == "aborted")
}

/// The event at which the recording started the block that the replay started next after `after`.
fn next_known(was: &Trace, is: &Trace, after: Seq) -> Option<Seq> {
    let began = is.iter().filter_map(|(path, did)| Some((did.first()?.seq, was.get(path)?.first()?.seq)));
    began.filter(|(now, _)| *now > after).min().map(|(_, then)| then)
}

/// The end of the nearest block around a path.
fn around(was: &Trace, path: &str) -> Option<Seq> {
    let outer = std::iter::successors(path.rsplit_once('/'), |(outer, _)| outer.rsplit_once('/'));
    outer.filter_map(|(outer, _)| was.get(outer)?.last()).map(|did| did.seq).next()
}
