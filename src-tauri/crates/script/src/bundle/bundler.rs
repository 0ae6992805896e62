//! The threads that bundling runs on. Parsers call themselves for every level of a source, so each of these has a
//! stack that sources of any sensible depth do not use up; what is not used takes no memory.

use std::path::Path;

use tokio::runtime::{Builder, Runtime};

use crate::bundle::error::{LoadError, LoadErrorKind};
use crate::bundle::{Bundle, OnRead, bundle, shown};

/// Bytes of stack of a thread that parses what an author wrote; only touched pages take memory.
pub const PARSER_STACK: usize = 512 << 20;

/// Bundles flow files, one after another.
pub struct Bundler {
    runtime: Runtime,
}

impl Bundler {
    /// With threads of its own.
    pub fn new() -> std::io::Result<Bundler> {
        // One pool for the whole process: the first to ask decides. Whoever did before us has threads that overflow
        // sooner.
        let _ = rayon::ThreadPoolBuilder::new().stack_size(PARSER_STACK).build_global();
        let runtime =
            Builder::new_multi_thread().worker_threads(2).thread_stack_size(PARSER_STACK).enable_all().build()?;
        Ok(Bundler { runtime })
    }

    /// Bundles one flow file of a workspace.
    pub fn bundle(&self, workspace: &Path, file: &Path, on_read: OnRead) -> Result<Bundle, LoadError> {
        let failed = |message: &str| LoadError::in_file(LoadErrorKind::Thrown, &shown(workspace, file), message);
        std::thread::scope(|scope| {
            let work = || self.runtime.block_on(bundle(workspace, file, on_read));
            match std::thread::Builder::new().stack_size(PARSER_STACK).spawn_scoped(scope, work) {
                Ok(thread) => {
                    thread.join().unwrap_or_else(|_| Err(failed("the file could not be loaded: the bundler panicked")))
                }
                Err(error) => Err(failed(&format!("the file could not be loaded: {error}"))),
            }
        })
    }
}
