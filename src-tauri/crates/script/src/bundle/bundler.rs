//! The threads that bundling runs on. Parsers recurse for every level of nesting in a source, so each thread has a very
//! large stack; pages that are never touched take no memory.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::runtime::{Builder, Runtime};

use crate::bundle::code::Code;
use crate::bundle::error::{LoadError, LoadErrorKind};
use crate::bundle::parsed::PARSER_STACK;
use crate::bundle::probes::{Probes, Question, SiteTable};
use crate::bundle::{Bundle, OnRead, bundle_form, shown};

/// Bundles flow files, one after another.
pub struct Bundler {
    runtime: Runtime,
}

impl Bundler {
    /// Creates a bundler with threads of its own.
    pub fn new() -> std::io::Result<Bundler> {
        // Rayon has one pool for the whole process. If it exists already, its threads keep their smaller stacks.
        let _ = rayon::ThreadPoolBuilder::new().stack_size(PARSER_STACK).build_global();
        let runtime =
            Builder::new_multi_thread().worker_threads(2).thread_stack_size(PARSER_STACK).enable_all().build()?;
        Ok(Bundler { runtime })
    }

    /// Bundles one flow file of a workspace.
    pub fn bundle(&self, workspace: &Path, file: &Path, on_read: OnRead) -> Result<Bundle, LoadError> {
        self.bundle_form(workspace, file, on_read, None)
    }

    /// Bundles one flow file of a workspace with these texts in place of files on the disk.
    pub fn bundle_texts(
        &self,
        workspace: &Path,
        file: &Path,
        texts: HashMap<PathBuf, String>,
    ) -> Result<Bundle, LoadError> {
        let probes = Probes::of_texts(workspace, texts);
        self.bundle_form(workspace, file, Arc::new(|_| ()), Some(Arc::new(probes)))
    }

    /// Bundles stored code with probes for a question; as it ran without one.
    pub fn bundle_probed(
        &self,
        workspace: &Path,
        code: &Code,
        table: Arc<SiteTable>,
        question: Option<Question>,
    ) -> Result<Bundle, LoadError> {
        let probes = Probes::new(workspace, code, table, question);
        self.bundle_form(workspace, &workspace.join(&code.file), Arc::new(|_| ()), Some(Arc::new(probes)))
    }

    fn bundle_form(
        &self,
        workspace: &Path,
        file: &Path,
        on_read: OnRead,
        probes: Option<Arc<Probes>>,
    ) -> Result<Bundle, LoadError> {
        let failed = |message: &str| LoadError::in_file(LoadErrorKind::Thrown, &shown(workspace, file), message);
        std::thread::scope(|scope| {
            let work = || self.runtime.block_on(bundle_form(workspace, file, on_read, probes));
            match std::thread::Builder::new().stack_size(PARSER_STACK).spawn_scoped(scope, work) {
                Ok(thread) => {
                    thread.join().unwrap_or_else(|_| Err(failed("the file could not be loaded: the bundler panicked")))
                }
                Err(error) => Err(failed(&format!("the file could not be loaded: {error}"))),
            }
        })
    }
}
