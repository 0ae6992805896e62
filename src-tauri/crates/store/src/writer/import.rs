//! A parcel's arrival: one transaction, checked as a whole.
//!
//! Its events are written by the same rules as those of a running request, so rows, states and counts
//! come out as where they were made.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::event::Event;
use engine::log::{Durability, Record};
use engine::scope::ScopeKey;
use engine::state::State;

use super::desk::Desk;
use crate::batch::Batch;
use crate::error::Error;
use crate::parcel::{self, ImportError, Piece};
use crate::unit::Unit;
use crate::{Committed, code, states};

/// How many events one unit takes.
const MANY: usize = 1_000;

/// What is written together.
enum Stretch {
    Records(Vec<(ScopeKey, Record)>),
    Events(Unit),
}

impl Desk {
    /// Takes a parcel in: all of it, or nothing.
    pub(super) fn import(&mut self, pieces: Vec<Piece>) -> Result<(), ImportError> {
        let result = self.try_import(pieces);
        self.moment.pass();
        match &result {
            Ok(news) => {
                let listeners = crate::lock(&self.listeners).all();
                for committed in news {
                    listeners.iter().for_each(|listener| listener(committed));
                }
            }
            Err(_) => self.recover(),
        }
        result.map(drop)
    }

    fn try_import(&mut self, pieces: Vec<Piece>) -> Result<Vec<Committed>, ImportError> {
        self.waiting.begin(&self.connection)?;
        self.memory.clear();
        parcel::refuse_known(&self.connection, &pieces)?;
        // A record may come several times: each time others had written it.
        let brought: BTreeSet<ScopeKey> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Record { scope, .. } => Some(scope.clone()),
                Piece::Event { .. } | Piece::Code { .. } => None,
            })
            .collect();
        for piece in &pieces {
            if let Piece::Code { hash, code } = piece {
                code::bring(&self.connection, hash, code)?;
            }
        }
        let mut own = Vec::new();
        for scope in parcel::own_records(&self.connection, &brought)? {
            let n = states::find(&self.connection, &scope)?.unwrap_or_default();
            own.push((scope, states::at(&self.connection, n, i64::MAX)?));
        }
        // What this database has of its own is not there in the other one's past.
        let hidden = own.iter().filter(|(scope, _)| !brought.contains(scope));
        let hidden = hidden.map(|(scope, _)| (scope.clone(), Record::default())).collect();
        let mut batch = Batch::new(&self.connection, &mut self.memory, &self.options.owners)?;
        let mut news = Vec::new();
        for stretch in stretches(pieces, hidden)? {
            let mut unit = match stretch {
                Stretch::Records(records) => {
                    batch.carry(&records)?;
                    continue;
                }
                Stretch::Events(unit) => unit,
            };
            batch.add(&mut unit)?.map_err(|refusal| ImportError::Unfit(refusal.to_string()))?;
            if let Some(scopes) = unit.conflict {
                let names: Vec<String> = scopes.iter().map(ToString::to_string).collect();
                return Err(ImportError::Unfit(format!("{} are at other versions", names.join(", "))));
            }
            let events: Arc<[Event]> = unit.drafts.into_iter().map(|draft| draft.event).collect();
            news.push(Committed { request: unit.request, events });
        }
        batch.carry(&own)?;
        batch.close()?;
        self.connection.prepare_cached("COMMIT")?.execute(())?;
        Ok(news)
    }
}

/// Pieces that are written together: records that follow each other, and events of one request.
fn stretches(pieces: Vec<Piece>, hidden: Vec<(ScopeKey, Record)>) -> Result<Vec<Stretch>, Error> {
    let mut stretches = Vec::new();
    let mut records = hidden;
    let mut events: Vec<Event> = Vec::new();
    let mut whose: Arc<str> = "".into();
    for piece in pieces {
        let ends = match &piece {
            Piece::Record { .. } | Piece::Code { .. } => true,
            Piece::Event { request, .. } => *request != whose || events.len() >= MANY,
        };
        if ends && !events.is_empty() {
            stretches.push(Stretch::Events(Unit::new(
                &whose,
                None,
                std::mem::take(&mut events),
                Durability::Committed,
            )?));
        }
        match piece {
            Piece::Record { scope, version, state } => {
                records.push((scope, Record { version, state: Arc::new(State::from(state)) }));
            }
            // Kept by itself, before anything that names it.
            Piece::Code { .. } => {}
            Piece::Event { request, event } => {
                if !records.is_empty() {
                    stretches.push(Stretch::Records(std::mem::take(&mut records)));
                }
                whose = request;
                events.push(*event);
            }
        }
    }
    if !events.is_empty() {
        stretches.push(Stretch::Events(Unit::new(&whose, None, events, Durability::Committed)?));
    }
    Ok(stretches)
}
