//! What fields of events are when they are left out.

pub(super) fn yes() -> bool {
    true
}

pub(super) fn is_true(flag: &bool) -> bool {
    *flag
}

pub(super) fn is_zero(n: &u32) -> bool {
    *n == 0
}
