//! Which statement of a failed block threw its error.
//!
//! An error records where it was created. It was thrown there, unless it was created earlier, or in a function that
//! only creates errors: then the calls tell which `throw` it was. Any other value was thrown by the last `throw`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use engine::error::Location;

use super::ended_by::is_limit;
use super::step::Inside;

/// What a statement does, judged by its text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It throws `new …`.
    ThrowsNew,
    /// It throws an existing value.
    Throws,
    Other,
}

/// When a statement ran.
#[derive(Clone, Copy, Default)]
struct Ran {
    /// The last time.
    last: Option<u64>,
    /// The last time that it was the last statement of a call of its function.
    last_of_call: Option<u64>,
}

impl Inside<'_> {
    /// The statement that threw, if it is known and the block's own code failed.
    pub(super) fn thrown_at(&self) -> Option<u64> {
        *self.thrown.get_or_init(|| self.find_thrown())
    }

    fn find_thrown(&self) -> Option<u64> {
        let error = self.error.as_ref()?;
        let last = self.ticks();
        let mut kinds = HashMap::new();
        if is_limit(error) || self.kind(last, &mut kinds) == Kind::Throws {
            return Some(last);
        }
        let made = error.location.as_ref().map(|place| (place, self.made_at(place)));
        match made {
            None => (1..=last).rev().find(|tick| self.kind(*tick, &mut kinds) != Kind::Other),
            Some((place, None)) => {
                let is_throw = self.kind(last, &mut kinds) != Kind::Other;
                (is_throw || self.is_head_of(place, last)).then_some(last)
            }
            Some((_, Some(made))) if self.kind(made, &mut kinds) != Kind::Other => Some(made),
            Some((place, Some(made))) if self.makes_error(place) => self.throw_of(made, &mut kinds).or(Some(made)),
            Some((_, made)) => made,
        }
    }

    /// The last time that the statement that created an error ran. Of calls that ran concurrently, it chooses one that
    /// ran no further statement.
    fn made_at(&self, place: &Location) -> Option<u64> {
        let all = self.code.table.of_file(&place.file);
        let begins = |at: usize| (self.code.table.sites[at].line, self.code.table.sites[at].column);
        let ends = |at: usize| (self.code.table.sites[at].end_line, self.code.table.sites[at].end_column);
        let on_line = |at: &usize| begins(*at).0 <= place.line && place.line <= ends(*at).0;
        let mut ran: HashMap<usize, Ran> = all.filter(on_line).map(|at| (at, Ran::default())).collect();
        let mut later = HashSet::new();
        for (at, traced) in self.trace.statements.iter().enumerate().rev() {
            let tick = at as u64 + 1;
            let is_last_of_call = later.insert(traced.call);
            if let Some(ran) = ran.get_mut(&(traced.site as usize)) {
                ran.last = ran.last.or(Some(tick));
                ran.last_of_call = ran.last_of_call.or(is_last_of_call.then_some(tick));
            }
        }
        let at = (place.line, place.column);
        ran.retain(|_, ran| ran.last.is_some());
        let around = ran.iter().filter(|(site, _)| begins(**site) <= at && at <= ends(**site));
        // The innermost begins last. The column of an error may be outside the displayed range of a statement.
        let innermost = around.max_by_key(|(site, _)| **site);
        let found = innermost.or_else(|| ran.iter().max_by_key(|(_, ran)| ran.last));
        found.and_then(|(_, ran)| ran.last_of_call.or(ran.last))
    }

    /// Whether a place is before all statements of a statement's function: bundling may move an error there.
    fn is_head_of(&self, place: &Location, tick: u64) -> bool {
        let number = self.trace.statements[tick as usize - 1].site as usize;
        let sites = &self.code.table.sites;
        let is_after = |at: &usize| (sites[*at].line, sites[*at].column) > (place.line, place.column);
        let is_same = |at: usize| Arc::ptr_eq(&sites[at].function, &sites[number].function);
        let between = || self.code.table.of_file(&place.file).filter(is_after).take_while(|at| *at <= number);
        between().last() == Some(number) && between().all(is_same)
    }

    /// The statement that threw an error that another one created: in a calling function, or later in one of these.
    fn throw_of(&self, made: u64, kinds: &mut HashMap<u32, Kind>) -> Option<u64> {
        let call = |tick: u64| self.trace.statements[tick as usize - 1].call;
        let outer: HashSet<u32> = self.trace.outer(call(made)).collect();
        let calling = (1..made).rev().find(|tick| outer.contains(&call(*tick)));
        let is_throw = |tick: &u64, kinds: &mut HashMap<u32, Kind>| self.kind(*tick, kinds) == Kind::Throws;
        if let Some(calling) = calling.filter(|tick| is_throw(tick, kinds)) {
            return Some(calling);
        }
        let is_near = |tick: &u64| call(*tick) == call(made) || outer.contains(&call(*tick));
        (made + 1..=self.ticks()).rev().filter(is_near).find(|tick| is_throw(tick, kinds))
    }

    /// Whether the source creates an error at a place, rather than only failing there.
    fn makes_error(&self, place: &Location) -> bool {
        let line = self.code.text(&place.file).and_then(|text| text.lines().nth(place.line.saturating_sub(1) as usize));
        let made = line.and_then(|line| {
            let rest: String = line.chars().skip(place.column.saturating_sub(1) as usize).collect();
            let name = rest.strip_prefix("new ")?.trim_start().to_owned();
            Some(name.chars().take_while(|letter| is_of_name(*letter)).collect::<String>())
        });
        let error = self.error.as_ref();
        made.is_some_and(|made| {
            made.ends_with("Error") || made.ends_with("Exception") || error.is_some_and(|error| error.name == made)
        })
    }

    fn kind(&self, tick: u64, known: &mut HashMap<u32, Kind>) -> Kind {
        let number = self.trace.statements[tick as usize - 1].site;
        *known.entry(number).or_insert_with(|| {
            let text = self.code.statement(self.site(tick));
            match text.strip_prefix("throw").filter(|rest| !rest.starts_with(is_of_name)) {
                Some(rest) if rest.trim_start().starts_with("new ") => Kind::ThrowsNew,
                Some(_) => Kind::Throws,
                None => Kind::Other,
            }
        })
    }
}

fn is_of_name(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_' || letter == '$'
}
