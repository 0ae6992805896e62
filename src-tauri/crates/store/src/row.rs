//! How columns are encoded: bodies of events, large values, search filters, running totals; and errors.
//!
//! Must not depend on who reads or writes them.

pub(crate) mod annotation;
pub(crate) mod attempts;
pub(crate) mod body;
pub(crate) mod error;
pub(crate) mod filter_block;
pub(crate) mod input_words;
pub(crate) mod item_text;
pub(crate) mod measure;
pub(crate) mod model_usage;
pub(crate) mod payload;
pub(crate) mod query;
pub(crate) mod references;
pub(crate) mod span_page;
pub(crate) mod totals;
pub(crate) mod trigrams;
pub(crate) mod waiting;
