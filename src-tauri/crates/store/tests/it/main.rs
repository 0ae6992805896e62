//! The store's promises, over real files.

mod history;
mod open;
mod promises;
mod state;
