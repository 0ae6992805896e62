//! The questions that blocks ask, as something that they do: those that were answered, those that a block ended
//! without an answer to, and those that blocks wait for.
//!
//! A block that suspends runs again from its top, and a recorded question is in an attempt that no longer counts; so
//! questions are compared by their block, its try, and their number there, not by their place among what else the block
//! did.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::effect_log::ReplayedQuestion;
use engine::event::{Event, EventKind, Seq};
use engine::suspension::{SuspensionRequest, SuspensionStatus};
use engine::views::Events;
use engine::views::fork_edits::edited_input;
use engine::views::suspensions::{AskedQuestion, asked, suspensions};
use engine::views::trace::{Did, Traces};
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::Trace;

/// The open questions of a block, by the callback that asks and the number there: the event, and what is asked.
type ByNumber = IndexMap<(Option<String>, u32), (Seq, Value)>;

/// What blocks did, with those that wait for an answer where the request does: a last entry says for which.
pub(super) fn with_waiting(traces: Traces, events: &[Event], waits: bool) -> Trace {
    let Traces { ended: mut trace, waiting } = traces;
    if !waits {
        return trace;
    }
    // A replay shows the questions of earlier tries, too: of one number the newest counts.
    let mut newest: HashMap<Arc<str>, ByNumber> = HashMap::new();
    for one in suspensions(Events::new(events), false, 0) {
        if one.status == SuspensionStatus::Pending && !one.is_moot {
            let number = (one.asking.callback.clone(), one.asking.ordinal);
            newest.entry(one.path).or_default().insert(number, (one.seq, one.asking.question()));
        }
    }
    let mut asked: HashMap<Arc<str>, Vec<(Seq, Value)>> =
        newest.into_iter().map(|(path, questions)| (path, questions.into_values().collect())).collect();
    let last = events.last().map_or(0, |event| event.seq);
    for (path, mut did) in waiting {
        let mut asked = asked.remove(&path).unwrap_or_default();
        let (seq, end) = match asked.len() {
            // A block inside it asks.
            0 => (last, json!({ "waits": true })),
            1 => {
                let (seq, question) = asked.swap_remove(0);
                (seq, json!({ "question": question }))
            }
            _ => {
                let seq = asked.iter().map(|(seq, _)| *seq).min().unwrap_or(last);
                let questions: Vec<Value> = asked.into_iter().map(|(_, question)| question).collect();
                (seq, json!({ "question": questions }))
            }
        };
        did.push(Did::added(seq, end));
        trace.insert(path, did);
    }
    trace
}

/// The callback of a block that asks, the number of its question there, and which attempt of the block asks it.
type Number<'q> = (Option<&'q str>, u32, u32);

/// The questions of one block.
type OfBlock<'q> = IndexMap<Number<'q>, Did>;

/// Adds the questions that were asked to what both did; of blocks that have not `ended`, only those that were answered.
/// `replayed` are those of the replay.
pub(super) fn add_asked(
    (was, is): (&mut Trace, &mut Trace),
    recorded: &[Event],
    replayed: &[ReplayedQuestion],
    ended: &HashSet<Arc<str>>,
) {
    let own = edited_input(recorded).unwrap_or(0);
    let mut questions = asked(recorded);
    questions.retain(|question| question.seq > own && (question.is_answered || ended.contains(&question.path)));
    let replayed = replayed.iter().filter(|question| question.is_answered || ended.contains(&question.path));
    let before = by_block(questions.iter().map(|question| (&question.path, question.seq, number(question))));
    let now = by_block(replayed.map(|question| (&question.path, 0, replayed_number(question))));
    // A resume of a failed request ran the block again, and may have asked something else. So may the next try of a
    // block that had no answer.
    let may_be_left_out =
        |question: &&AskedQuestion<'_>| question.is_withdrawn || !question.is_answered && !question.is_of_counting_try;
    let left_out: HashSet<(&str, Number<'_>)> =
        questions.iter().filter(may_be_left_out).map(|question| (&*question.path, number(question).0)).collect();
    let is_one_code = ran_one_code(recorded);
    let none = OfBlock::new();
    let paths: Vec<Arc<str>> = was.keys().filter(|path| is.contains_key(*path)).cloned().collect();
    for path in paths {
        let (before, now) = (before.get(&path).unwrap_or(&none), now.get(&path).unwrap_or(&none));
        // Code that ran before the answer may have asked what later code did not.
        let is_due = |number: &Number<'_>| is_one_code && !left_out.contains(&(&*path, *number));
        let asks = |number: &Number<'_>| is_due(number) || now.contains_key(number);
        add(was, &path, before.iter().filter(|(number, _)| asks(number)));
        add(is, &path, now.iter());
    }
}

fn number<'q>(question: &AskedQuestion<'q>) -> (Number<'q>, &'q SuspensionRequest) {
    (number_of(question.asking, question.place), question.asking)
}

fn replayed_number(question: &ReplayedQuestion) -> (Number<'_>, &SuspensionRequest) {
    (number_of(&question.asking, question.place), &question.asking)
}

fn number_of(asking: &SuspensionRequest, place: u32) -> Number<'_> {
    (asking.callback.as_deref(), asking.ordinal, place)
}

fn by_block<'q>(
    questions: impl Iterator<Item = (&'q Arc<str>, Seq, (Number<'q>, &'q SuspensionRequest))>,
) -> HashMap<Arc<str>, OfBlock<'q>> {
    let mut blocks: HashMap<Arc<str>, OfBlock<'q>> = HashMap::new();
    for (path, seq, (number, asking)) in questions {
        let question = Did::added(seq, json!({ "question": asking.question() }));
        blocks.entry(path.clone()).or_default().insert(number, question);
    }
    blocks
}

/// Adds questions behind the beginning of their block.
fn add<'d>(trace: &mut Trace, path: &Arc<str>, questions: impl Iterator<Item = (&'d Number<'d>, &'d Did)>) {
    let Some(did) = trace.get_mut(path) else { return };
    let begin = begin_of(did);
    did.splice(begin..begin, questions.map(|(_, question)| question.clone()));
}

/// The place behind the beginning of a block.
pub(super) fn begin_of(did: &[Did]) -> usize {
    did.iter().position(|did| did.what.get("block").is_some()).map_or(0, |begin| begin + 1)
}

/// Whether a request ran one version of the code.
pub(super) fn ran_one_code(events: &[Event]) -> bool {
    let mut hashes = events.iter().filter_map(|event| match &event.kind {
        EventKind::RequestStarted { code_hash, .. } | EventKind::RequestResumed { code_hash, .. } => Some(code_hash),
        _ => None,
    });
    let first = hashes.next();
    hashes.all(|hash| Some(hash) == first)
}
