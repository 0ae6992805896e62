//! Caches the values that were shown last, so that a value is parsed only once when it is read in parts.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::measured::Measured;
use crate::core::sync::lock;
use crate::views::{ChangeParts, PayloadReference, ScopeParts, ScopesPage};
use crate::workspace::why::RequestLog;

/// The maximum total length of the cached values as JSON. A longer value is cached alone, until the next one.
const MAX_BYTES: u64 = 64 << 20;
const MAX_INSTANTS: usize = 4;

/// The state of a request from which an answer was made: its id, its start, the number of its events, and its status.
pub(crate) type Version = (String, i64, u64, String);

/// The states at an instant.
pub(crate) struct Instant {
    pub(crate) head: ScopesPage,
    pub(crate) scopes: Vec<ScopeParts>,
}

/// Two instants, and whether their `FlowState`s are compared.
pub(crate) type Span = (u64, u64, bool);

#[derive(Default)]
pub(crate) struct PayloadCache {
    values: Mutex<VecDeque<(PayloadReference, Arc<Measured>)>>,
    instants: Recent<u64, Instant>,
    changes: Recent<Span, Vec<ChangeParts>>,
    logs: Recent<(), RequestLog>,
}

impl PayloadCache {
    pub(crate) fn get(&self, reference: &PayloadReference) -> Option<Arc<Measured>> {
        let mut values = lock(&self.values);
        let at = values.iter().position(|(known, _)| known == reference)?;
        let found = values.remove(at)?;
        let value = found.1.clone();
        values.push_back(found);
        Some(value)
    }

    pub(crate) fn put(&self, reference: PayloadReference, value: Arc<Measured>) {
        let mut values = lock(&self.values);
        values.retain(|(known, _)| *known != reference);
        values.push_back((reference, value));
        while values.len() > 1 && values.iter().map(|(_, value)| value.bytes).sum::<u64>() > MAX_BYTES {
            values.pop_front();
        }
    }

    pub(crate) fn instants(&self) -> &Recent<u64, Instant> {
        &self.instants
    }

    /// Logs with an index of their values.
    pub(crate) fn logs(&self) -> &Recent<(), RequestLog> {
        &self.logs
    }

    pub(crate) fn changes(&self) -> &Recent<Span, Vec<ChangeParts>> {
        &self.changes
    }
}

/// The newest answers.
pub(crate) struct Recent<K, V>(Mutex<VecDeque<Answer<K, V>>>);

type Answer<K, V> = ((Version, K), Arc<V>);

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Recent(Mutex::default())
    }
}

impl<K: PartialEq, V> Recent<K, V> {
    pub(crate) fn get(&self, version: &Version, key: &K) -> Option<Arc<V>> {
        let known = lock(&self.0);
        known.iter().find(|((one, other), _)| one == version && other == key).map(|(_, value)| value.clone())
    }

    pub(crate) fn put(&self, version: Version, key: K, value: Arc<V>) {
        let mut known = lock(&self.0);
        known.push_back(((version, key), value));
        while known.len() > MAX_INSTANTS {
            known.pop_front();
        }
    }
}
