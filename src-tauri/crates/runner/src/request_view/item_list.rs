//! The items of an open request as one list: for each the audiences that see it, and from which to which event it is
//! an item.
//!
//! Made from what events say of items, and kept up to date by what is new: an update costs what came, however long the
//! request is. It never holds what an item shows. Which events are items is decided by the rules of
//! [`engine::views::items`]; its test compares it with them after every batch, for each audience and at any instant.

mod read;
mod take_in;
pub(crate) mod whole;

use std::collections::{HashMap, HashSet};

use engine::event::Seq;
use engine::views::attempts::Stands;
use engine::views::items::Audience;
use engine::views::items::follow::AUDIENCES;
use engine::views::items::rules::Mark;
use engine::views::spans::PathNumber;

pub(crate) use read::{MAX_SHOWN_BYTES, Wanted};

/// Entries of one chunk, whose items are counted together.
const CHUNK: usize = 256;
/// An event that has not come, and the newest instant.
const NEVER: u32 = u32::MAX;
/// No entry, or no attempt.
const NONE: u32 = u32::MAX;

const IS_BEFORE_BEGIN: u16 = 1;
const IS_QUESTION: u16 = 1 << 1;
const IS_TOLD_FAILURE: u16 = 1 << 2;
const IS_SHARED_WRITE: u16 = 1 << 3;
const IS_KEPT: u16 = 1 << 4;
const IS_REPEATED: u16 = 1 << 5;
const IS_SUPERSEDED: u16 = 1 << 6;
const IS_KEYED: u16 = 1 << 7;
const IS_OUTPUT: u16 = 1 << 8;
const IS_OF_RUN: u16 = 1 << 9;

/// Which of the counts is an audience's, and which bit.
fn index_of(audience: Audience) -> usize {
    AUDIENCES.iter().position(|known| *known == audience).unwrap_or_default()
}

fn short(seq: Seq) -> u32 {
    u32::try_from(seq).unwrap_or(NEVER - 1)
}

/// What is, or may become, an item.
struct Entry {
    seq: u32,
    /// The event from which on it is an item, for keyed ones without regard to others of their identity.
    from: u32,
    /// The event from which on it is none any more.
    until: u32,
    attempt: u32,
    /// The entry of the same attempt before it.
    before: u32,
    flags: u16,
    /// Who sees what the entry's own event says, as bits.
    audiences: u8,
    /// Who sees the item now that stands at this entry, as bits: who sees the newest entry of its identity. None if no
    /// item is shown here.
    shown_to: u8,
}

/// One execution of a block.
struct Attempt {
    started: u32,
    input: u32,
    finished: u32,
    /// When it had ended for good, or would never.
    over: u32,
    newest: u32,
    stands: Stands,
    is_memoized: bool,
    was_cut: bool,
    runs_again: bool,
    went_on: bool,
}

/// What became of an item that was added in progress, or changed.
#[derive(Default)]
struct Growth {
    /// Pieces of its text: the event, and how long the text is after it.
    pieces: Vec<(u32, u64)>,
    /// Changes of fields, and the end.
    patches: Vec<u32>,
    done: Option<u32>,
}

/// Entries of one identity.
struct Group {
    members: Vec<u32>,
    /// The one that is shown: the first, if one of them is an item.
    shown: u32,
}

type AttemptKey = (PathNumber, u32);
/// For each audience.
pub(crate) type Counts = [u64; 4];

/// See the module.
pub(crate) struct ItemList {
    entries: Vec<Entry>,
    chunks: Vec<[u32; 4]>,
    attempts: Vec<Attempt>,
    /// The key of each attempt; those that went on have one for each run.
    keys: Vec<AttemptKey>,
    by_key: HashMap<AttemptKey, u32>,
    running: HashSet<u32>,
    /// By path, the newest attempt that waits.
    waiting: HashMap<PathNumber, u32>,
    /// The entries of earlier runs with which a run of their attempt went on.
    carried: HashMap<u32, Vec<u32>>,
    /// When those were no items: from the end of one run until the next went on with them.
    gaps: HashMap<u32, Vec<(u32, u32)>>,
    growing: HashMap<u32, Growth>,
    /// Changes of items that were done when they were added: of components, and of messages that were emitted.
    replaced: HashMap<u32, Vec<u32>>,
    /// The event of the newest answer to each question.
    answers: HashMap<String, u32>,
    /// The entries of each identity, in order.
    groups: Vec<Group>,
    by_identity: HashMap<String, u32>,
    group_of: HashMap<u32, u32>,
    /// The answers of models to an attempt.
    models: HashMap<u32, Vec<u32>>,
    /// Where a continued request had come to.
    continued: HashMap<u32, Place>,
    place: Where,
    last: Seq,
    is_live: bool,
    /// The first entry that may differ since that was asked.
    changed: usize,
    is_any_shown_changed: bool,
}

/// A path by its number, or by its text.
#[derive(Clone)]
pub(crate) enum Place {
    Number(PathNumber),
    Text(String),
    Nowhere,
}

/// Where the request has come to.
#[derive(Default)]
struct Where {
    open: Vec<AttemptKey>,
    goes_on: bool,
    failed_at: Option<String>,
}

impl ItemList {
    /// A list of nothing.
    pub(crate) fn new() -> ItemList {
        ItemList {
            entries: Vec::new(),
            chunks: Vec::new(),
            attempts: Vec::new(),
            keys: Vec::new(),
            by_key: HashMap::new(),
            running: HashSet::new(),
            waiting: HashMap::new(),
            carried: HashMap::new(),
            gaps: HashMap::new(),
            growing: HashMap::new(),
            replaced: HashMap::new(),
            answers: HashMap::new(),
            groups: Vec::new(),
            by_identity: HashMap::new(),
            group_of: HashMap::new(),
            models: HashMap::new(),
            continued: HashMap::new(),
            place: Where::default(),
            last: 0,
            is_live: true,
            changed: 0,
            is_any_shown_changed: false,
        }
    }

    /// The newest event that is taken in.
    pub(crate) fn last(&self) -> Seq {
        self.last
    }

    /// How many items each audience sees now.
    pub(crate) fn counts(&self) -> Counts {
        self.chunks.iter().fold([0; 4], |sum, chunk| std::array::from_fn(|n| sum[n] + u64::from(chunk[n])))
    }

    /// The first item of each audience that may differ since this was last asked; none where nothing does.
    pub(crate) fn take_changed(&mut self) -> Option<Counts> {
        let first = std::mem::replace(&mut self.changed, self.entries.len());
        std::mem::take(&mut self.is_any_shown_changed).then(|| self.before(first))
    }

    /// How many items stand before an entry now.
    fn before(&self, entry: usize) -> Counts {
        let mut counts = [0; 4];
        let whole = entry / CHUNK;
        for chunk in &self.chunks[..whole.min(self.chunks.len())] {
            counts = std::array::from_fn(|n| counts[n] + u64::from(chunk[n]));
        }
        for entry in self.entries[(whole * CHUNK).min(self.entries.len())..entry].iter() {
            counts = std::array::from_fn(|n| counts[n] + u64::from(entry.shown_to >> n & 1));
        }
        counts
    }

    fn mark(&self, entry: &Entry) -> Mark {
        let has = |flag: u16| entry.flags & flag != 0;
        let attempt = self.attempts.get(entry.attempt as usize).filter(|attempt| attempt.started != NEVER);
        Mark {
            stands: attempt.map(|attempt| attempt.stands),
            was_cut: attempt.is_some_and(|attempt| attempt.was_cut),
            runs_again: attempt.is_some_and(|attempt| attempt.runs_again),
            is_before_begin: has(IS_BEFORE_BEGIN) && attempt.is_some(),
            is_question: has(IS_QUESTION),
            is_told_failure: has(IS_TOLD_FAILURE),
            is_shared_write: has(IS_SHARED_WRITE),
            is_kept: has(IS_KEPT),
            is_repeated: has(IS_REPEATED),
            is_superseded: has(IS_SUPERSEDED),
            is_taken_from_log: attempt.is_some_and(|attempt| attempt.is_memoized && entry.seq <= attempt.finished),
            is_of_run: has(IS_OF_RUN),
            went_on: attempt.is_some_and(|attempt| attempt.went_on),
        }
    }

    /// Looks again whether an entry is an item, as of an event.
    fn look(&mut self, at: u32, seq: u32) {
        let entry = &self.entries[at as usize];
        let known = entry.until;
        let is_dropped = entry.attempt != NONE && self.mark(entry).is_dropped(self.is_live);
        let until = if is_dropped { known.min(seq) } else { NEVER };
        self.entries[at as usize].until = until;
        match self.group_of.get(&at).copied() {
            Some(group) => {
                // One that is shown by another, and goes or comes, changes its fields.
                let shown = self.groups[group as usize].shown;
                if shown != NONE && until != known {
                    self.touch(shown);
                }
                self.show_group(group);
            }
            None => {
                let is_shown = self.entries[at as usize].from != NEVER && until == NEVER;
                let to = if is_shown { self.entries[at as usize].audiences } else { 0 };
                self.show(at, to);
            }
        }
    }

    /// Of those with one identity the first one is shown, even if it is no item any more, to whom the newest one is.
    fn show_group(&mut self, group: u32) {
        let Group { members, shown } = &self.groups[group as usize];
        let is_item = |at: &u32| self.entries[*at as usize].until == NEVER;
        let newest = members.iter().copied().rfind(is_item);
        let (shown, first) = (*shown, members.first().copied().filter(|_| newest.is_some()));
        self.groups[group as usize].shown = first.unwrap_or(NONE);
        if shown != NONE && Some(shown) != first {
            self.show(shown, 0);
        }
        if let (Some(first), Some(newest)) = (first, newest) {
            self.show(first, self.entries[newest as usize].audiences);
        }
    }

    /// Shows an entry to some audiences, and to no others.
    fn show(&mut self, at: u32, to: u8) {
        let was = std::mem::replace(&mut self.entries[at as usize].shown_to, to);
        if was == to {
            return;
        }
        let chunk = &mut self.chunks[at as usize / CHUNK];
        for (n, count) in chunk.iter_mut().enumerate() {
            *count = *count + u32::from(to >> n & 1) - u32::from(was >> n & 1);
        }
        self.touch(at);
    }

    fn touch(&mut self, at: u32) {
        self.changed = self.changed.min(at as usize);
        self.is_any_shown_changed = true;
    }
}
