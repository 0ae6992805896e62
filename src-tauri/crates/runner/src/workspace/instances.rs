//! Finds the current instance of each block at an instant: of all attempts at one path, the newest that had begun.
//!
//! A resume or a retry begins a new instance and repeats the operations of the earlier one that count. Must not
//! decide which operations count: the engine's `views::attempts` does.

use std::collections::{HashMap, HashSet};

use engine::identity::StateOwner;
use engine::scope::{ScopeKey, ScopeKind};

use super::Workspace;
use crate::core::fault::Fault;

/// Whether a scope is the state of a block's instance.
pub(super) fn is_of_block(scope: &ScopeKey) -> bool {
    matches!(scope.kind, ScopeKind::Sequencer | ScopeKind::Block)
}

/// A kind of state, a request, and a path in it.
type Place<'k> = (ScopeKind, &'k str, &'k str);

/// A scope of a request at an instant.
#[derive(Clone, Debug)]
pub(super) struct ScopeAt {
    pub(super) request: String,
    pub(super) scope: ScopeKey,
    pub(super) seq: u64,
}

impl ScopeAt {
    pub(super) fn new(request: &str, scope: ScopeKey, seq: u64) -> ScopeAt {
        ScopeAt { request: request.to_owned(), scope, seq }
    }
}

/// The kind of a block's state, and the block's path.
pub(super) type BlockPlace = (ScopeKind, String);

impl Workspace {
    /// The block states of a request at an instant, by kind and path, in the order in which they began. A fork also
    /// has those of its origin up to the fork point, except the states that its own blocks replaced.
    pub(super) fn blocks_at(&self, request: &str, seq: u64) -> Result<Vec<(BlockPlace, ScopeAt)>, Fault> {
        let mut found = Vec::new();
        if let Some(from) = self.request(request)?.forked_from {
            found = self.blocks_at(&from.request_id, from.seq.min(seq))?;
            if seq <= from.seq {
                return Ok(found);
            }
            let edited = self.edited_blocks(request, &from)?;
            for (_, stood) in found.iter_mut().filter(|((_, path), _)| edited.contains(path)) {
                let own = self.counterpart(&stood.scope, &stood.request, request)?;
                *stood = ScopeAt::new(request, own, seq);
            }
        }
        let scopes = self.scopes_of(request)?;
        let superseded = self.superseded_at(&scopes, request, seq)?;
        let mut own = Vec::new();
        for scope in scopes.into_iter().filter(|scope| is_of_block(scope) && !superseded.contains(scope)) {
            let Some(owner) = StateOwner::parse(&scope.id) else { continue };
            if self.had_begun(&scope, request, seq)? {
                let place = (scope.kind, owner.instance.path.to_owned());
                own.push((place, ScopeAt::new(request, scope, seq)));
            }
        }
        let places: HashSet<_> = own.iter().map(|(place, _)| place.clone()).collect();
        found.retain(|(place, _)| !places.contains(place));
        found.extend(own);
        Ok(found)
    }

    /// The scopes of a request whose instance had been replaced by a later one at an instant.
    pub(super) fn superseded_at(
        &self,
        scopes: &[ScopeKey],
        request: &str,
        seq: u64,
    ) -> Result<HashSet<ScopeKey>, Fault> {
        let mut paths: HashMap<Place<'_>, Vec<(u32, &ScopeKey)>> = HashMap::new();
        for scope in scopes.iter().filter(|scope| is_of_block(scope)) {
            let Some(owner) = StateOwner::parse(&scope.id) else { continue };
            let path = (scope.kind, owner.request, owner.instance.path);
            paths.entry(path).or_default().push((owner.instance.attempt, scope));
        }
        let mut superseded = HashSet::new();
        for mut attempts in paths.into_values().filter(|attempts| attempts.len() > 1) {
            attempts.sort_unstable_by_key(|(attempt, _)| *attempt);
            let mut has_later = false;
            for (_, scope) in attempts.into_iter().rev() {
                if has_later {
                    superseded.insert(scope.clone());
                } else {
                    has_later = self.had_begun(scope, request, seq)?;
                }
            }
        }
        Ok(superseded)
    }

    /// Whether a scope of a request had its first state at an instant. A fork also has those of its origin, from its
    /// own first event on.
    pub(super) fn had_begun(&self, scope: &ScopeKey, request: &str, seq: u64) -> Result<bool, Fault> {
        let (request, scope, seq) = self.original(request, scope.clone(), seq)?;
        Ok(self.store.had_begun(&scope, &request, seq).map_err(Fault::internal)?
            || self.is_carried(&scope, &request, seq)?)
    }
}
