//! The code of a revision of the repository: read from its objects, bundled in a folder of its own. The working copy is
//! not touched.

use std::path::{Component, Path};
use std::sync::Arc;

use gix::bstr::ByteSlice;
use gix::objs::tree::EntryKind;
use script::{Bundler, Code, LoadError, Source};

use crate::catalogue::LoadedFlow;
use crate::catalogue::loading::describe;
use crate::core::fault::Fault;
use crate::workspace::Workspace;

/// How many bytes of a revision are read at most.
const MAX_BYTES: u64 = 512 << 20;

impl Workspace {
    /// A flow as a revision has it, with other texts in place of some of its files.
    pub(super) fn flow_of_revision(
        &self,
        revision: &str,
        kind: &str,
        edit: impl FnOnce(Code) -> Result<Vec<Source>, Fault>,
    ) -> Result<Arc<LoadedFlow>, Fault> {
        let today = self.with_catalogue(|catalogue| catalogue.find(kind))?;
        let wrong = |what: String| Fault::invalid(format!("--code {revision}: {what}"));
        let folder = tempfile::tempdir()?;
        let root = std::fs::canonicalize(folder.path())?;
        write_revision(&self.dir, revision, &root).map_err(|error| match error {
            Unwritten::Wrong(what) => wrong(what),
            Unwritten::Io(error) => Fault::internal(error),
        })?;
        link_packages(&self.dir, &root)?;
        let file = today.bundle.file.clone();
        if !root.join(&file).is_file() {
            return Err(wrong(format!("the revision has no file {file}, which defines flow \"{kind}\" today")));
        }
        let no_load =
            |error: LoadError| Fault::NotLoaded { message: format!("revision {revision} does not load: {error}") };
        let (bundler, file_there) = (Bundler::new()?, root.join(&file));
        let mut bundle = bundler.bundle(&root, &file_there, Arc::new(|_| ())).map_err(no_load)?;
        let texts = edit(Code::of(&bundle, &root)).map_err(|fault| wrong(fault.to_string()))?;
        if !texts.is_empty() {
            let texts = texts.into_iter().map(|source| (root.join(source.file), source.text)).collect();
            bundle = bundler.bundle_texts(&root, &file_there, texts).map_err(no_load)?;
        }
        // What refers to the folder refers to the workspace.
        let (from, to) = (root.display().to_string(), self.dir.display().to_string());
        bundle.map = bundle.map.replace(&from, &to);
        bundle.inputs = Vec::new();
        let (limits, env) = (self.config.script_limits(), self.config.flow_env());
        let flows = std::thread::scope(|scope| {
            let work = || describe(&bundle, &self.dir, limits, &env);
            let thread = std::thread::Builder::new().stack_size(crate::catalogue::STACK).spawn_scoped(scope, work)?;
            thread.join().map_err(|_| Fault::internal("the evaluation of a revision panicked"))
        })?;
        let flows = flows.map_err(|error| Fault::NotLoaded { message: format!("revision {revision}: {error}") })?;
        let flow = flows.into_iter().find(|flow| flow.kind == kind);
        let flow = flow.ok_or_else(|| wrong(format!("{file} defines no flow \"{kind}\" in that revision")))?;
        Ok(Arc::new(LoadedFlow { bundle: Arc::new(bundle), flow, end_record: today.end_record.clone() }))
    }
}

/// Why a revision was not written.
enum Unwritten {
    /// There is none.
    Wrong(String),
    Io(std::io::Error),
}

impl From<std::io::Error> for Unwritten {
    fn from(error: std::io::Error) -> Self {
        Unwritten::Io(error)
    }
}

/// Writes the part of a revision that is the workspace into an empty folder.
fn write_revision(workspace: &Path, revision: &str, root: &Path) -> Result<(), Unwritten> {
    let wrong = |what: String| Unwritten::Wrong(what);
    let repository = gix::discover(workspace).map_err(|_| wrong("the workspace is in no Git repository".to_owned()))?;
    let top = repository.workdir().ok_or_else(|| wrong("the repository has no working copy".to_owned()))?;
    let top = std::fs::canonicalize(top)?;
    let within = workspace.strip_prefix(&top).map_err(|_| wrong("the workspace is in no Git repository".to_owned()))?;
    let object = repository
        .rev_parse_single(revision.as_bytes().as_bstr())
        .map_err(|_| wrong("there is no such revision; give a branch, a tag or a commit".to_owned()))?
        .object()
        .map_err(|error| wrong(format!("the revision cannot be read: {error}")))?;
    let mut tree = object.peel_to_tree().map_err(|error| wrong(format!("the revision has no files: {error}")))?;
    if within.components().next().is_some() {
        let entry = tree.lookup_entry_by_path(within).map_err(|error| wrong(error.to_string()))?;
        let entry = entry.ok_or_else(|| wrong(format!("the revision has no folder {}", within.display())))?;
        let object = entry.object().map_err(|error| wrong(error.to_string()))?;
        tree = object.try_into_tree().map_err(|_| wrong(format!("{} is no folder there", within.display())))?;
    }
    let mut left = MAX_BYTES;
    write_tree(&tree, root, &mut left)
}

fn write_tree(tree: &gix::Tree<'_>, folder: &Path, left: &mut u64) -> Result<(), Unwritten> {
    for entry in tree.iter() {
        let entry = entry.map_err(|error| Unwritten::Wrong(format!("a folder cannot be read: {error}")))?;
        let name = entry.filename().to_str_lossy().into_owned();
        let mut parts = Path::new(&name).components();
        // What is written stays in the folder, whatever the repository says.
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) || name == ".flowglass" {
            continue;
        }
        let path = folder.join(&name);
        let read = |error: gix::Error| Unwritten::Wrong(format!("{name} cannot be read: {error}"));
        match entry.kind() {
            EntryKind::Tree => {
                let inner = entry.object().map_err(read)?.try_into_tree();
                let inner = inner.map_err(|_| Unwritten::Wrong(format!("{name} is no folder")))?;
                std::fs::create_dir(&path)?;
                write_tree(&inner, &path, left)?;
            }
            EntryKind::Blob | EntryKind::BlobExecutable => {
                let file = entry.object().map_err(read)?;
                *left = left
                    .checked_sub(file.data.len() as u64)
                    .ok_or_else(|| Unwritten::Wrong(format!("the revision has more than {} MB", MAX_BYTES >> 20)))?;
                std::fs::write(&path, &file.data)?;
            }
            // A link may lead anywhere, and another repository is not here.
            EntryKind::Link | EntryKind::Commit => {}
        }
    }
    Ok(())
}

/// Packages are those that are installed.
fn link_packages(workspace: &Path, root: &Path) -> std::io::Result<()> {
    let (installed, place) = (workspace.join("node_modules"), root.join("node_modules"));
    if !installed.is_dir() || place.exists() {
        return Ok(());
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink(installed, place)?;
    #[cfg(windows)]
    std::os::windows::fs::symlink_dir(installed, place)?;
    Ok(())
}
