//! Bundling of a flow file with everything it imports into one script.
//!
//! Native `async` is lowered, in npm packages too, so that the SDK's promise wrapper can keep track of the current
//! block across every `await` (ARCHITECTURE §8.2). `import_rules` decides what may be read. Only this file uses
//! rolldown.

pub(crate) mod bundler;
pub(crate) mod callsite;
pub(crate) mod code;
pub(crate) mod embedded;
pub(crate) mod error;
pub(crate) mod fingerprint;
pub(crate) mod import_rules;
pub(crate) mod nesting;
pub(crate) mod project_files;
pub(crate) mod texts;
pub(crate) mod trace;
pub(crate) mod worker;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rolldown::{Bundler, BundlerOptions, BundlerTransformOptions, InputItem, OutputFormat, Platform, SourceMapType};
use rolldown_common::{InnerOptions, ModuleSideEffects, Output, TreeshakeOptions};
use rolldown_plugin::{
    HookLoadArgs, HookLoadOutput, HookLoadReturn, HookResolveIdArgs, HookResolveIdOutput, HookResolveIdReturn,
    HookTransformArgs, HookTransformOutput, HookTransformReturn, HookUsage, Plugin, PluginContext,
    PluginContextResolveOptions, SharedLoadPluginContext, SharedTransformPluginContext,
};

use serde::{Deserialize, Serialize};

use crate::bundle::error::{LoadError, LoadErrorKind};
use crate::bundle::import_rules::{ImportRules, Refusal, without_query};
use crate::bundle::project_files::{TsSettings, outside_message, place_of, read};

const ENTRY: &str = "flowglass:entry";
/// An empty module that replaces a refused import, so that bundling goes on and finds further errors.
const EMPTY_MODULE: &str = "flowglass:nothing";

/// A bundled flow file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bundle {
    /// The flow file, relative to the workspace.
    pub file: String,
    /// One ES module.
    pub code: Arc<str>,
    /// Its source map, as JSON.
    pub map: String,
    /// blake3 of the code.
    pub hash: String,
    /// The files it was made from, for a file watcher.
    pub inputs: Vec<PathBuf>,
}

/// Called with each file of a bundle before it is parsed.
pub type OnRead = Arc<dyn Fn(&Path) + Send + Sync>;

/// Bundles one flow file of a workspace.
///
/// Parsers recurse for every level of nesting in a source, so this must run on threads with a large stack:
/// [`Bundler`](crate::Bundler) has them.
pub async fn bundle(workspace: &Path, file: &Path, on_read: OnRead) -> Result<Bundle, LoadError> {
    let shown = shown(workspace, file);
    let real = check_entry(workspace, file, &shown)?;
    let settings = TsSettings::find(&real, file)?;
    let tsconfig = match &settings.file {
        Some(file) => rolldown_common::TsConfig::Manual(file.clone()),
        None => rolldown_common::TsConfig::Auto(false),
    };
    let import_rules = ImportRules::new(real, settings);
    import_rules.check_packages_above(file)?;
    let inputs: Arc<Mutex<BTreeSet<PathBuf>>> =
        Arc::new(Mutex::new(import_rules.settings.read.iter().cloned().collect()));
    let refused = Arc::new(Mutex::new(Vec::new()));
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
            extension_alias: Some(vec![(".js".to_owned(), vec![".js".to_owned(), ".ts".to_owned()])]),
            ..Default::default()
        }),
        transform: Some(BundlerTransformOptions {
            target: Some(rolldown_common::Either::Left("es2016".to_owned())),
            ..Default::default()
        }),
        ..Default::default()
    };
    let plugin = OurModules {
        flow: file.to_owned(),
        workspace: workspace.to_owned(),
        import_rules,
        inputs: inputs.clone(),
        on_read,
        refused: refused.clone(),
    };
    let mut bundler =
        Bundler::with_plugins(options, vec![Arc::new(plugin)]).map_err(|errors| first(workspace, &shown, errors))?;
    let result = bundler.generate().await;
    if let Some(error) = refused.lock().ok().and_then(|mut all| if all.is_empty() { None } else { Some(all.remove(0)) })
    {
        return Err(error);
    }
    let output = result.map_err(|errors| first(workspace, &shown, errors))?;
    let inputs = inputs.lock().map(|files| files.iter().cloned().collect()).unwrap_or_default();
    let chunk = output.assets.iter().find_map(|asset| match asset {
        Output::Chunk(chunk) if chunk.is_entry => Some(chunk),
        _ => None,
    });
    let Some(chunk) = chunk else {
        return Err(LoadError::in_file(LoadErrorKind::Import, &shown, "the file could not be bundled"));
    };
    let code: Arc<str> = crate::bundle::fingerprint::mark(&chunk.code).into();
    let map = chunk.map.as_ref().map(|map| map.to_json_string()).unwrap_or_default();
    let map = crate::bundle::code::without_embedded(&map);
    let hash = blake3::hash(code.as_bytes()).to_hex().to_string();
    Ok(Bundle { file: shown, code, map, hash, inputs })
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

/// The rolldown plugin: provides the SDK, zod and the entry module, and refuses imports that flows may not have.
struct OurModules {
    flow: PathBuf,
    workspace: PathBuf,
    import_rules: ImportRules,
    inputs: Arc<Mutex<BTreeSet<PathBuf>>>,
    on_read: OnRead,
    refused: Arc<Mutex<Vec<LoadError>>>,
}

impl std::fmt::Debug for OurModules {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OurModules").field("flow", &self.flow).finish_non_exhaustive()
    }
}

impl Plugin for OurModules {
    fn name(&self) -> Cow<'static, str> {
        Cow::Borrowed("flowglass")
    }

    fn register_hook_usage(&self) -> HookUsage {
        HookUsage::ResolveId | HookUsage::Load | HookUsage::Transform
    }

    async fn resolve_id(&self, ctx: &PluginContext, args: &HookResolveIdArgs<'_>) -> HookResolveIdReturn {
        let specifier = args.specifier;
        if specifier == ENTRY {
            return Ok(Some(HookResolveIdOutput::from_id(specifier)));
        }
        if texts::is_module(specifier) {
            return Ok(Some(HookResolveIdOutput::from_id(specifier)));
        }
        let is_ours = |importer: &str| {
            importer == ENTRY || embedded::is_link(importer) || is_helper(importer) || texts::is_module(importer)
        };
        if embedded::is_module(specifier) && args.importer.is_some_and(is_ours) {
            // Resolved by the runtime.
            let external = Some(rolldown_common::ResolvedExternal::Bool(true));
            return Ok(Some(HookResolveIdOutput { id: specifier.into(), external, ..Default::default() }));
        }
        let own_zod = (specifier == "zod" || specifier.starts_with("zod/")) && self.installs_zod(args.importer);
        if !own_zod && let Some(link) = embedded::link(specifier) {
            return Ok(Some(HookResolveIdOutput::from_id(link)));
        }
        if let Some(name) = node_builtin(specifier) {
            self.refuse(args.importer, specifier, format!(
                "\"{specifier}\" is a Node.js built-in; a flow has no {name}: pass what it needs as input, or use fetch"
            ));
            return Ok(Some(HookResolveIdOutput::from_id(EMPTY_MODULE)));
        }
        // The bundler's own modules and `data:` URLs are no files.
        let is_virtual = specifier.starts_with('\0') || specifier.starts_with("data:");
        let importer = args.importer.map(without_query).map(Path::new).filter(|path| path.is_absolute());
        let Some(importer) = importer.filter(|_| !is_virtual && !args.is_entry) else { return Ok(None) };
        if let Err(refusal) = self.import_rules.may_resolve(importer, specifier) {
            return Ok(Some(self.refuse_import(args, refusal)));
        }
        let options = PluginContextResolveOptions { skip_self: true, ..Default::default() };
        let found = ctx.resolve(specifier, args.importer, Some(options)).await?;
        let found = found.ok().filter(|found| matches!(found.external, rolldown_common::ResolvedExternal::Bool(false)));
        match found {
            Some(found) if Path::new(found.id.as_str()).is_absolute() => {
                let file = Path::new(without_query(found.id.as_str()));
                match self.import_rules.may_read(importer, specifier, file) {
                    Ok(()) => Ok(None),
                    Err(refusal) => Ok(Some(self.refuse_import(args, refusal))),
                }
            }
            Some(_) => Ok(None),
            // The bundler's own error is good.
            None if specifier.starts_with(['.', '/']) => Ok(None),
            // A package that is not there would become an import that fails only when the file runs.
            None => {
                let message = format!(
                    "cannot find package \"{specifier}\": install it in the workspace (npm install {specifier})"
                );
                Ok(Some(self.refuse_import(args, Refusal::Import(message))))
            }
        }
    }

    /// Replaces the bundler's helper for async functions by the SDK's. `load` is not called for it.
    async fn transform(&self, _ctx: SharedTransformPluginContext, args: &HookTransformArgs<'_>) -> HookTransformReturn {
        Ok(is_helper(args.id).then(|| HookTransformOutput {
            code: Some(format!("export {{ default }} from '{}';\n", embedded::ASYNC)),
            ..Default::default()
        }))
    }

    async fn load(&self, _ctx: SharedLoadPluginContext, args: &HookLoadArgs<'_>) -> HookLoadReturn {
        if args.id == ENTRY {
            let flow = serde_json::to_string(&self.flow.display().to_string())?;
            let code = format!(
                "import {{ boot }} from '{}';\nimport * as flow from {flow};\nboot(flow, import.meta);\n",
                embedded::START
            );
            return Ok(Some(HookLoadOutput { code: code.into(), ..Default::default() }));
        }
        if args.id == EMPTY_MODULE {
            return Ok(Some(HookLoadOutput { code: "export default undefined;\n".into(), ..Default::default() }));
        }
        if let Some(module) = texts::module_of(args.id) {
            let code = self.texts_of(module)?;
            return Ok(Some(HookLoadOutput { code: code.into(), ..Default::default() }));
        }
        let text = match embedded::link_text(args.id) {
            Some(text) => Some(text),
            None => self.read(args)?.map(|text| texts::with_import(&self.workspace, args.id, text)),
        };
        Ok(text.map(|text| HookLoadOutput { code: text.into(), ..Default::default() }))
    }
}

impl OurModules {
    fn installs_zod(&self, importer: Option<&str>) -> bool {
        let from = importer.map(Path::new).filter(|path| path.is_absolute()).unwrap_or(&self.flow);
        from.ancestors().skip(1).any(|folder| folder.join("node_modules/zod/package.json").is_file())
    }

    /// Reads a file on disk, if it may be read and does not nest too deeply. Returns `None` for the bundler's own
    /// modules.
    fn read(&self, args: &HookLoadArgs<'_>) -> anyhow::Result<Option<String>> {
        let file = Path::new(without_query(args.id));
        if !file.is_absolute() {
            return Ok(None);
        }
        let shown = shown(&self.workspace, file);
        let refuse = |error: LoadError| {
            self.note(error);
            Ok(Some(String::new()))
        };
        if !self.import_rules.allows(file) {
            return refuse(LoadError::in_file(LoadErrorKind::Import, &shown, outside_message(&shown)));
        }
        if let Ok(mut inputs) = self.inputs.lock() {
            inputs.insert(file.to_owned());
        }
        (self.on_read)(file);
        let text = match read(file) {
            Ok(text) => text,
            Err(reason) => return refuse(LoadError::in_file(LoadErrorKind::Import, &shown, reason)),
        };
        match too_deep(&shown, &text) {
            Ok(()) => Ok(Some(text)),
            Err(error) => refuse(error),
        }
    }

    /// The module that gives a module of the workspace the texts of the files it names.
    fn texts_of(&self, module: &Path) -> anyhow::Result<String> {
        let text = read(module).map_err(anyhow::Error::msg)?;
        let found = texts::named_in(&self.workspace, module, &text);
        for file in found.iter().filter(|file| self.import_rules.allows(file)) {
            if let Ok(mut inputs) = self.inputs.lock() {
                inputs.insert(file.clone());
            }
            (self.on_read)(file);
        }
        let allowed = found.into_iter().filter(|file| self.import_rules.allows(file));
        Ok(texts::code(&self.workspace, module, allowed)?)
    }

    /// Notes why an import is refused, and returns the empty module in its place.
    fn refuse_import(&self, args: &HookResolveIdArgs<'_>, refusal: Refusal) -> HookResolveIdOutput {
        match refusal {
            Refusal::Import(message) => self.refuse(args.importer, args.specifier, message),
            Refusal::Elsewhere(error) => self.note(error),
        }
        HookResolveIdOutput::from_id(EMPTY_MODULE)
    }

    fn note(&self, error: LoadError) {
        if let Ok(mut refused) = self.refused.lock() {
            refused.push(error);
        }
    }

    /// Notes a refused import, at its place in the importer.
    fn refuse(&self, importer: Option<&str>, specifier: &str, message: String) {
        let importer = importer.map(PathBuf::from).unwrap_or_else(|| self.flow.clone());
        let place = place_of(&read(&importer).unwrap_or_default(), specifier);
        let error = LoadError {
            kind: LoadErrorKind::Import,
            message,
            file: Some(shown(&self.workspace, &importer)),
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
        };
        self.note(error);
    }
}

/// Returns whether a module is the bundler's helper for async functions.
fn is_helper(id: &str) -> bool {
    id.ends_with("/helpers/esm/asyncToGenerator.js")
}

/// Returns what a Node built-in provides, in a word; `None` if it is none.
fn node_builtin(specifier: &str) -> Option<&'static str> {
    let bare = specifier.strip_prefix("node:").unwrap_or(specifier);
    Some(match bare.split('/').next().unwrap_or(bare) {
        "fs" | "path" => "file system",
        "child_process" | "process" | "cluster" | "worker_threads" => "processes",
        "http" | "https" | "net" | "tls" | "dgram" | "dns" | "http2" => "sockets",
        "os" | "v8" | "vm" | "repl" | "tty" | "inspector" | "perf_hooks" => "operating system",
        "crypto" | "zlib" | "stream" | "util" | "url" | "buffer" | "events" | "assert" | "readline" | "querystring"
        | "string_decoder" | "timers" | "async_hooks" | "module" | "sqlite" | "test" => "Node.js runtime",
        _ if specifier.starts_with("node:") => "Node.js runtime",
        _ => return None,
    })
}
