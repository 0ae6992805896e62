//! Fingerprints of an author's functions: hashes of their sources as the bundle has them.
//!
//! Two things of the bundler must not change a fingerprint, or hide a change: wrappers of lowered functions and made-up
//! names, see [`wrappers`](super::wrappers). Must not run an author's code.

use std::sync::Arc;

use engine::fingerprint::fingerprint;

use super::wrappers;

/// Returns the fingerprint of a function's source; `None` for a native function.
pub(crate) fn of_source(source: &str) -> Option<Arc<str>> {
    let is_native = source.contains("[native code]");
    let plain = || wrappers::plain(&crate::bundle::marks::without(source));
    (!is_native && !source.is_empty()).then(|| fingerprint(plain().as_bytes()))
}

/// Marks the wrappers of a bundle, see [`wrappers::mark`].
pub(crate) fn mark(code: &str) -> String {
    wrappers::mark(code, |bytes| fingerprint(bytes).to_string())
}
