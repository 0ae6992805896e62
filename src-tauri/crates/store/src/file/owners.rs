//! Whether owners of requests are alive: a function of whoever opens the database.

use std::sync::Arc;

/// Whether the job that a request names as its owner is alive (ARCHITECTURE §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It is.
    Alive,
    /// It certainly is not: only then may another job take the request over.
    Dead,
    /// Not known, so it counts as alive.
    Unknown,
}

/// Tells whether the owner of a request is alive. By default all are.
#[derive(Clone)]
pub struct Owners(Arc<dyn Fn(&str) -> Liveness + Send + Sync>);

impl Owners {
    /// Uses this function, which is called with the name of the owner.
    pub fn new(liveness: impl Fn(&str) -> Liveness + Send + Sync + 'static) -> Self {
        Owners(Arc::new(liveness))
    }

    pub(crate) fn liveness(&self, owner: &str) -> Liveness {
        (self.0)(owner)
    }

    /// Whether an owner counts as alive: it is, or it is not known.
    pub(crate) fn is_alive(&self, owner: &str) -> bool {
        self.liveness(owner) != Liveness::Dead
    }
}

impl Default for Owners {
    fn default() -> Self {
        Owners::new(|_| Liveness::Alive)
    }
}

impl std::fmt::Debug for Owners {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Owners")
    }
}
