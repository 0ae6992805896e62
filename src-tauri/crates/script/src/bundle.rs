//! Bundling of a flow file with everything it imports into one script.
//!
//! Native `async` is lowered, in npm packages too, so that the SDK's promise wrapper can keep track of the current
//! block across every `await` (ARCHITECTURE §8.2). `import_rules` decides what may be read, `modules` what an import
//! comes to. Only these files use rolldown.

pub(crate) mod agent_project;
pub(crate) mod built_ins;
pub(crate) mod bundler;
pub(crate) mod callsite;
pub(crate) mod code;
pub(crate) mod default_org;
pub(crate) mod definers;
mod definition;
pub(crate) mod embedded;
pub(crate) mod error;
pub(crate) mod explained;
pub(crate) mod fingerprint;
pub(crate) mod import_rules;
pub(crate) mod imported_names;
pub(crate) mod importers;
mod kept_state;
pub(crate) mod lines;
pub(crate) mod literals;
pub(crate) mod lowering;
pub(crate) mod makers;
pub(crate) mod marks;
pub(crate) mod modules;
pub(crate) mod native_errors;
pub(crate) mod nesting;
pub(crate) mod option_edit;
pub(crate) mod own_errors;
pub(crate) mod packages;
pub(crate) mod parsed;
pub(crate) mod printed;
pub(crate) mod probes;
pub(crate) mod project_files;
mod refused_imports;
pub(crate) mod sites;
pub(crate) mod statements;
pub(crate) mod texts;
pub(crate) mod trace;
mod unplaced;
mod wrappers;
pub(crate) mod zod;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rolldown::{Bundler, BundlerOptions, BundlerTransformOptions, InputItem, OutputFormat, Platform, SourceMapType};
use rolldown_common::{DecoratorOptions, InnerOptions, ModuleSideEffects, Output, TreeshakeOptions};
use serde::{Deserialize, Serialize};

use crate::bundle::agent_project::AgentProject;
use crate::bundle::error::{LoadError, LoadErrorKind};
use crate::bundle::import_rules::ImportRules;
use crate::bundle::importers::Importers;
use crate::bundle::modules::{ENTRY, OurModules, Seen};
use crate::bundle::packages::Packages;
use crate::bundle::probes::Probes;
use crate::bundle::project_files::{TsSettings, outside_message, read};

/// A bundled flow file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bundle {
    /// The flow file, relative to the workspace.
    pub file: String,
    /// One ES module.
    pub code: Arc<str>,
    /// Its source map, as JSON.
    pub map: String,
    /// blake3 of the code, and of the author's files that it was made from.
    pub hash: String,
    /// The files it was made from, for a file watcher; folders, where each file in them belongs to it; and settings
    /// files that do not exist and would be read if they did.
    pub inputs: Vec<PathBuf>,
}

impl Bundle {
    /// Whether a hash is that of this code: the one that it has, or the one that earlier versions, which marked fewer
    /// places, had for it.
    pub fn is_of(&self, hash: &str, workspace: &Path) -> bool {
        let earlier = || {
            let code = marks::without_statements(&self.code);
            code != *self.code && hash_of(&Bundle { code: code.into(), ..self.clone() }, workspace) == hash
        };
        hash == self.hash || earlier()
    }

    /// Whether a hash is that of the first versions, which hashed the code alone, without the files that it was made
    /// from.
    pub fn is_of_code_alone(&self, hash: &str) -> bool {
        blake3::hash(marks::without_statements(&self.code).as_bytes()).to_hex().as_str() == hash
    }
}

/// Called with each file of a bundle before it is parsed.
pub type OnRead = Arc<dyn Fn(&Path) + Send + Sync>;

/// Bundles one flow file of a workspace.
///
/// Parsers recurse for every level of nesting in a source, so this must run on threads with a large stack:
/// [`Bundler`](crate::Bundler) has them.
pub async fn bundle(workspace: &Path, file: &Path, on_read: OnRead) -> Result<Bundle, LoadError> {
    bundle_form(workspace, file, on_read, None).await
}

/// As [`bundle`], perhaps of stored texts in place of the files on disk, with probes.
pub(crate) async fn bundle_form(
    workspace: &Path,
    file: &Path,
    on_read: OnRead,
    probes: Option<Arc<Probes>>,
) -> Result<Bundle, LoadError> {
    let shown = shown(workspace, file);
    let real = match &probes {
        Some(probes) if probes.texts.contains_key(file) => std::fs::canonicalize(workspace)
            .map_err(|error| LoadError::in_file(LoadErrorKind::Import, &shown, format!("cannot be read: {error}")))?,
        _ => check_entry(workspace, file, &shown)?,
    };
    let has_probes = probes.as_ref().is_some_and(|probes| probes.has_question());
    let asked_globals = probes.as_ref().map(|probes| probes.globals()).unwrap_or_default();
    let settings = TsSettings::find(&real, file)?;
    let tsconfig = match &settings.file {
        Some(file) => rolldown_common::TsConfig::Manual(file.clone()),
        None => rolldown_common::TsConfig::Auto(false),
    };
    let import_rules = ImportRules::new(real, settings);
    import_rules.check_packages_above(file)?;
    let project = AgentProject::of(file);
    let folders = project.iter().flat_map(|project| project.folders.iter());
    let settings = &import_rules.settings;
    let lowers_decorators = settings.file.is_none() && settings.lowers_decorators();
    let inputs = settings.read.iter().chain(&settings.absent).chain(folders).cloned().collect();
    let seen = Seen { inputs, ..Seen::default() };
    let seen = Arc::new(Mutex::new(seen));
    let options = BundlerOptions {
        input: Some(vec![InputItem { name: Some("flow".to_owned()), import: ENTRY.to_owned() }]),
        cwd: Some(workspace.to_owned()),
        tsconfig: Some(tsconfig),
        format: Some(OutputFormat::Esm),
        platform: Some(Platform::Neutral),
        sourcemap: Some(SourceMapType::Hidden),
        // Names and calls stay as the author wrote them. Values that are used once are inlined all the same; `callsite`
        // finds the place that is meant.
        minify: Some(rolldown_common::RawMinifyOptions::Bool(false)),
        // zod 4 installs its messages as a side effect of a module that is declared free of side effects.
        treeshake: TreeshakeOptions::Option(InnerOptions {
            module_side_effects: ModuleSideEffects::Boolean(true),
            ..InnerOptions::default()
        }),
        code_splitting: Some(rolldown_common::CodeSplittingMode::Bool(false)),
        resolve: Some(rolldown_common::ResolveOptions {
            condition_names: Some(["import", "module", "default"].map(str::to_owned).to_vec()),
            main_fields: Some(["module", "main"].map(str::to_owned).to_vec()),
            extension_alias: Some(
                [(".js", &[".js", ".ts", ".tsx"][..]), (".jsx", &[".jsx", ".tsx"]), (".mjs", &[".mjs", ".mts"])]
                    .map(|(named, real)| (named.to_owned(), real.iter().map(|ending| (*ending).to_owned()).collect()))
                    .to_vec(),
            ),
            ..Default::default()
        }),
        transform: Some(BundlerTransformOptions {
            target: Some(rolldown_common::Either::Left("es2016".to_owned())),
            // Said here, too, for settings that the bundler does not get.
            decorator: lowers_decorators.then(|| DecoratorOptions { legacy: Some(true), ..Default::default() }),
            ..Default::default()
        }),
        ..Default::default()
    };
    let plugin = OurModules {
        flow: file.to_owned(),
        project,
        workspace: workspace.to_owned(),
        import_rules,
        on_read,
        seen: seen.clone(),
        importers: Importers::default(),
        packages: Packages::default(),
        probes,
    };
    let mut bundler =
        Bundler::with_plugins(options, vec![Arc::new(plugin)]).map_err(|errors| first(workspace, &shown, errors))?;
    let result = bundler.generate().await;
    let Seen { inputs, refused, mut globals, has_hidden } =
        seen.lock().map(|mut seen| std::mem::take(&mut *seen)).unwrap_or_default();
    globals.extend(asked_globals);
    if let Some(error) = first_refused(refused) {
        return Err(error);
    }
    let output = result.map_err(|errors| first(workspace, &shown, errors))?;
    let inputs = inputs.into_iter().collect();
    let chunk = output.assets.iter().find_map(|asset| match asset {
        Output::Chunk(chunk) if chunk.is_entry => Some(chunk),
        _ => None,
    });
    let Some(chunk) = chunk else {
        return Err(LoadError::in_file(LoadErrorKind::Import, &shown, "the file could not be bundled"));
    };
    let code = if has_hidden { lowering::shown(&chunk.code).into() } else { Cow::from(&chunk.code) };
    let mut code = crate::bundle::fingerprint::mark(&code);
    // At the end, where no line of the author's changes its number; they are evaluated before everything else.
    for name in globals {
        code.push_str(&format!("\nimport \"{}\";\n", embedded::node_module(name)));
    }
    if has_probes {
        code.push_str(probes::IMPORT);
    }
    let map = chunk.map.as_ref().map(|map| map.to_json_string()).unwrap_or_default();
    let map = crate::bundle::code::without_embedded(&map);
    let (code, map) = crate::bundle::marks::mark(&code, &map);
    let code: Arc<str> = code.into();
    let mut bundle = Bundle { file: shown, code, map, hash: String::new(), inputs };
    bundle.hash = hash_of(&bundle, workspace);
    Ok(bundle)
}

/// Returns the hash of a bundle's code and of the author's files as they are: the same code may come from other lines.
fn hash_of(bundle: &Bundle, workspace: &Path) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(bundle.code.as_bytes());
    for source in code::Code::of(bundle, workspace).sources {
        hasher.update(b"\0").update(source.file.as_bytes()).update(b"\0").update(source.text.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

/// Returns the workspace's real path. Fails if the flow file is no ordinary file, or its real path is outside the
/// workspace.
fn check_entry(workspace: &Path, file: &Path, shown: &str) -> Result<PathBuf, LoadError> {
    let wrong = |message: String| LoadError::in_file(LoadErrorKind::Import, shown, message);
    let resolve = |path: &Path| std::fs::canonicalize(path).map_err(|error| wrong(format!("cannot be read: {error}")));
    let (workspace, file) = (resolve(workspace)?, resolve(file)?);
    if !file.starts_with(&workspace) {
        return Err(wrong(outside_message(shown)));
    }
    if !file.is_file() {
        return Err(wrong("is not an ordinary file".to_owned()));
    }
    Ok(workspace)
}

/// Returns the error of a flow file that nests too deeply to be parsed, without parsing it.
pub fn check_nesting(workspace: &Path, file: &Path) -> Result<(), LoadError> {
    let shown = shown(workspace, file);
    check_entry(workspace, file, &shown)?;
    let text = read(file).map_err(|reason| LoadError::in_file(LoadErrorKind::Import, &shown, reason))?;
    too_deep(&shown, &text)
}

fn too_deep(shown: &str, text: &str) -> Result<(), LoadError> {
    crate::bundle::nesting::check(text).map_err(|found| LoadError {
        kind: LoadErrorKind::Syntax,
        message: found.message,
        file: Some(shown.to_owned()),
        line: Some(found.line),
        column: Some(found.column),
    })
}

/// Returns a path for people: relative to the workspace if it is inside.
pub(crate) fn shown(workspace: &Path, file: &Path) -> String {
    file.strip_prefix(workspace).unwrap_or(file).display().to_string().replace('\\', "/")
}

/// Returns the error to tell of. Imports are looked at in no order; of those of a file it is the one that stands first.
fn first_refused(refused: Vec<LoadError>) -> Option<LoadError> {
    let file = refused.first()?.file.clone();
    refused.into_iter().filter(|error| error.file == file).min_by_key(|error| (error.line, error.column))
}

fn first(workspace: &Path, file: &str, errors: rolldown_error::BatchedBuildDiagnostic) -> LoadError {
    let options = rolldown_error::DiagnosticOptions { cwd: workspace.to_owned() };
    let Some(error) = errors.into_vec().into_iter().next() else {
        return LoadError::in_file(LoadErrorKind::Syntax, file, "the file could not be bundled");
    };
    let diagnostic = error.to_diagnostic_with(&options);
    let kind = match diagnostic.kind().as_str() {
        "PARSE_ERROR" => LoadErrorKind::Syntax,
        _ => LoadErrorKind::Import,
    };
    let place = diagnostic.get_primary_location();
    let (file, line, column) = match place {
        Some((file, line, column, _)) => {
            (shown(workspace, Path::new(&file)), Some(line as u32), Some(column as u32 + 1))
        }
        None => (file.to_owned(), None, None),
    };
    // Names the SDK as authors import it.
    let message = error.to_message_with(&options);
    let instead = embedded::instead_of(&message).unwrap_or_default();
    let message = format!("{}{instead}", embedded::with_public_names(&message));
    LoadError { kind, message, file: Some(file), line, column }
}
