//! The view against a plain recomputation.
