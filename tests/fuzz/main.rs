//! Whatever a flow, a model, a file or a folder holds, nothing of it ends the program, hangs it or leaves its place.
//!
//! One target a file: proptest makes inputs for ten seconds, after all those of `corpus/<target>` were tried. An input
//! is the bytes of such a file. It is tried in a worker, which is this program once more, so that what ends a worker
//! is one input that failed. What failed is shrunk, written into the corpus and told.
//!
//! `FLOWGLASS_FUZZ_SEED=7` makes other inputs, `FLOWGLASS_FUZZ_SECONDS=300` more of them; `make soak` sets
//! `FLOWGLASS_SOAK`, which is ten minutes of inputs that nobody has tried before.

mod config;
mod drive;
mod edits;
mod event_bodies;
mod filter_text;
mod flow_source;
mod import_file;
mod json_text;
mod mock_script;
mod model_stream;
mod scope_paths;
mod window_commands;
mod worker;
mod workspaces;
