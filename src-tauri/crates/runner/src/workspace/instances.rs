//! Which instances of a block are there at an instant: of all attempts at one path, the newest that had begun.
//!
//! A resume, or a retry, begins an instance of its own and makes in it what counts of the earlier one. Must not
//! decide what counts: that is the engine's `views::attempts`.

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

impl Workspace {
    /// Those of a request's scopes whose instance a later one had taken the place of by an instant.
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

    /// Whether a scope of a request had its first state by an instant.
    pub(super) fn had_begun(&self, scope: &ScopeKey, request: &str, seq: u64) -> Result<bool, Fault> {
        let (request, scope, seq) = self.original(request, scope.clone(), seq)?;
        self.store.had_begun(&scope, &request, seq).map_err(Fault::internal)
    }
}
