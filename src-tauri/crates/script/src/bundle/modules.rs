//! The bundler's plugin: gives it the SDK, zod and the entry module, decides what each import comes to, and reads
//! files.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use rolldown_common::{ModuleType, ResolvedExternal};
use rolldown_plugin::{
    HookLoadArgs, HookLoadOutput, HookLoadReturn, HookResolveIdArgs, HookResolveIdOutput, HookResolveIdReturn,
    HookTransformArgs, HookTransformAstArgs, HookTransformAstReturn, HookTransformOutput, HookTransformReturn,
    HookUsage, Plugin, PluginContext, PluginContextResolveOptions, SharedLoadPluginContext,
    SharedTransformPluginContext,
};

use crate::bundle::agent_project::AgentProject;
use crate::bundle::built_ins::{self, BuiltIn};
use crate::bundle::definers;
use crate::bundle::embedded;
use crate::bundle::error::{LoadError, LoadErrorKind};
use crate::bundle::import_rules::{ImportRules, Refusal, package_name, without_query};
use crate::bundle::importers::Importers;
use crate::bundle::packages::{self, Packages};
use crate::bundle::probes::Probes;
use crate::bundle::project_files::{outside_message, read};
use crate::bundle::{OnRead, lowering, shown, texts, too_deep, zod};

pub(crate) const ENTRY: &str = "flowglass:entry";
/// An empty module that replaces a refused import, so that bundling goes on and finds further errors.
pub(crate) const EMPTY_MODULE: &str = "flowglass:nothing";
/// What an import ends with that wants a file's text, whatever the file is.
const RAW: &str = "?raw";
/// Endings of files that are imported as their text without that.
const TEXTS: [&str; 16] = [
    "md", "mdx", "txt", "prompt", "html", "htm", "xml", "csv", "tsv", "sql", "yaml", "yml", "hbs", "liquid", "graphql",
    "svg",
];
/// Endings of code and data that the bundler reads.
const CODE: [&str; 9] = ["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "json"];

/// What was seen while a file was bundled.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// The files it was made from.
    pub(crate) inputs: BTreeSet<PathBuf>,
    /// Why it cannot be loaded.
    pub(crate) refused: Vec<LoadError>,
    /// Built-ins whose globals are used.
    pub(crate) globals: BTreeSet<&'static str>,
    /// Whether a rest or a spread was hidden from the bundler.
    pub(crate) has_hidden: bool,
}

pub(crate) struct OurModules {
    pub(crate) flow: PathBuf,
    /// The definitions that belong to it, if it is an agent of a project.
    pub(crate) project: Option<AgentProject>,
    pub(crate) workspace: PathBuf,
    pub(crate) import_rules: ImportRules,
    pub(crate) on_read: OnRead,
    pub(crate) seen: Arc<Mutex<Seen>>,
    pub(crate) importers: Importers,
    pub(crate) packages: Packages,
    pub(crate) probes: Option<Arc<Probes>>,
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
        HookUsage::ResolveId | HookUsage::Load | HookUsage::Transform | HookUsage::TransformAst
    }

    async fn resolve_id(&self, ctx: &PluginContext, args: &HookResolveIdArgs<'_>) -> HookResolveIdReturn {
        let specifier = args.specifier;
        if specifier == ENTRY || texts::is_module(specifier) {
            return Ok(Some(HookResolveIdOutput::from_id(specifier)));
        }
        let is_ours = |importer: &str| {
            importer == ENTRY
                || embedded::is_link(importer)
                || embedded::is_helper(importer)
                || texts::is_module(importer)
        };
        if embedded::is_module(specifier) && args.importer.is_some_and(is_ours) {
            // Resolved by the runtime.
            let external = Some(ResolvedExternal::Bool(true));
            return Ok(Some(HookResolveIdOutput { id: specifier.into(), external, ..Default::default() }));
        }
        if args.importer.is_some_and(built_ins::is_lenient) {
            return Ok(Some(HookResolveIdOutput::from_id(specifier)));
        }
        if let Some(link) = self.link(specifier, args.importer) {
            // A package may import what it uses for others than flows.
            let is_of_package = args.importer.is_some_and(|importer| !self.is_author(Path::new(importer)));
            let is_of_flow = args.importer.is_some_and(|importer| Path::new(without_query(importer)) == self.flow);
            let is_lenient =
                embedded::is_core(specifier) && is_of_package || embedded::is_of_host(specifier) && !is_of_flow;
            let is_for_host =
                args.importer.is_some_and(definers::is_host_module) && specifier.starts_with("@flow-state-dev/");
            return Ok(Some(HookResolveIdOutput::from_id(if is_for_host {
                built_ins::host_id(&link)
            } else if is_lenient {
                built_ins::lenient_id(&link)
            } else {
                link
            })));
        }
        if let Some(found) = built_ins::find(specifier) {
            return Ok(Some(self.built_in(args, &found)));
        }
        // The bundler's own modules and `data:` URLs are no files.
        let is_virtual = specifier.starts_with('\0') || specifier.starts_with("data:");
        let importer = args.importer.map(without_query).map(Path::new).filter(|path| path.is_absolute());
        if let Some(file) = self.probes.as_ref().and_then(|probes| probes.stored(importer, specifier)) {
            return Ok(Some(HookResolveIdOutput::from_id(file.display().to_string())));
        }
        let Some(importer) = importer.filter(|_| !is_virtual && !args.is_entry) else { return Ok(None) };
        if let Err(refusal) = self.import_rules.may_resolve(importer, specifier) {
            return Ok(Some(self.refuse_import(args, refusal)));
        }
        match self.find(ctx, args, importer).await? {
            Some(found) if Path::new(found.id.as_str()).is_absolute() => {
                let file = Path::new(without_query(found.id.as_str()));
                self.importers.add(file, importer, specifier);
                match self.import_rules.may_read(importer, specifier, file) {
                    Ok(()) => Ok(Some(found)),
                    Err(refusal) => Ok(Some(self.refuse_import(args, refusal))),
                }
            }
            Some(_) => Ok(None),
            // The bundler's own error is good.
            None if specifier.starts_with(['.', '/']) => Ok(None),
            None if args.importer.is_some_and(definers::is_host_module) => {
                Ok(Some(HookResolveIdOutput::from_id(built_ins::host_id(""))))
            }
            // A package that is not there would become an import that fails only when the file runs.
            None => {
                let unread = self.import_rules.settings.unread.first().map(|file| shown(&self.workspace, file));
                let message = packages::missing(&self.workspace, importer, specifier, unread.as_deref());
                Ok(Some(self.refuse_import(args, Refusal::Import(message))))
            }
        }
    }

    /// Replaces helpers of the bundler, because `load` is not called for them, and puts probes into the author's
    /// modules.
    async fn transform(&self, _ctx: SharedTransformPluginContext, args: &HookTransformArgs<'_>) -> HookTransformReturn {
        if let Some(code) = embedded::in_place_of(args.id, args.code) {
            return Ok(Some(HookTransformOutput { code: Some(code), ..Default::default() }));
        }
        Ok(self.probes.as_ref().and_then(|probes| probes.put_into(args.id, args.code)))
    }

    /// Rewrites what the bundler or the runtime would get wrong, and notes what neither supports.
    async fn transform_ast(&self, _ctx: &PluginContext, args: HookTransformAstArgs<'_>) -> HookTransformAstReturn {
        let is_code = matches!(args.module_type, ModuleType::Js | ModuleType::Jsx | ModuleType::Ts | ModuleType::Tsx);
        let mut ast = args.ast;
        if !is_code {
            return Ok(ast);
        }
        let has_decorators = self.import_rules.settings.lowers_decorators() && *args.module_type != ModuleType::Js;
        let lowering::Rewritten { has_hidden, unsupported } =
            ast.program.with_mut(|fields| lowering::rewrite(fields.program, fields.allocator, has_decorators));
        self.with_seen(|seen| seen.has_hidden |= has_hidden);
        if let Some(unsupported) = unsupported {
            self.note_unsupported(args.id, ast.source(), &unsupported);
        }
        Ok(ast)
    }

    async fn load(&self, _ctx: SharedLoadPluginContext, args: &HookLoadArgs<'_>) -> HookLoadReturn {
        let code = |code: String| Ok(Some(HookLoadOutput { code: code.into(), ..Default::default() }));
        if args.id == ENTRY {
            if let Some(project) = &self.project {
                return code(project.entry(&self.flow, &self.workspace));
            }
            let flow = serde_json::to_string(&self.flow.display().to_string())?;
            return code(format!(
                "import {{ boot }} from '{}';\nimport * as flow from {flow};\nboot(flow, import.meta);\n",
                embedded::START
            ));
        }
        if args.id == EMPTY_MODULE {
            return code("export default undefined;\n".to_owned());
        }
        let made = embedded::link_text(args.id).or_else(|| built_ins::absent_text(args.id));
        if let Some(text) = made.or_else(|| built_ins::lenient_text(args.id)) {
            return code(text);
        }
        if let Some(module) = texts::module_of(args.id) {
            return code(self.texts_of(module)?);
        }
        self.read(args.id)
    }
}

impl OurModules {
    /// Resolves an import as the bundler does, then by settings that the bundler was not given, and then among the
    /// packages of the workspace.
    async fn find(
        &self,
        ctx: &PluginContext,
        args: &HookResolveIdArgs<'_>,
        importer: &Path,
    ) -> anyhow::Result<Option<HookResolveIdOutput>> {
        let specifier = args.specifier.strip_suffix(RAW).unwrap_or(args.specifier);
        let mut found = resolve(ctx, specifier, args.importer).await?;
        let is_bare = !specifier.starts_with(['.', '/', '#']);
        let importer = importer.display().to_string();
        for target in self.import_rules.settings.mapped(specifier) {
            if found.is_none() {
                found = resolve(ctx, &target.display().to_string(), Some(&importer)).await?;
            }
        }
        if found.is_none() && is_bare {
            found = self.find_in_workspace(ctx, specifier).await?;
        }
        let raw = |found: HookResolveIdOutput| HookResolveIdOutput { id: format!("{}{RAW}", found.id).into(), ..found };
        Ok(if args.specifier.ends_with(RAW) { found.map(raw) } else { found })
    }

    /// Resolves an import of one of the workspace's own packages, whose link in `node_modules` is not there.
    async fn find_in_workspace(
        &self,
        ctx: &PluginContext,
        specifier: &str,
    ) -> anyhow::Result<Option<HookResolveIdOutput>> {
        let Some(folder) = self.packages.folder(&self.import_rules.workspace, specifier) else { return Ok(None) };
        // A package with "exports" can import itself by its name.
        let itself = folder.join("package.json").display().to_string();
        let mut found = resolve(ctx, specifier, Some(&itself)).await?;
        if found.is_none() {
            let (_, inner) = specifier.split_at(package_name(specifier).len());
            found = resolve(ctx, &format!("{}{inner}", folder.display()), Some(&itself)).await?;
        }
        self.import_rules.add_folder(folder);
        Ok(found)
    }

    /// A module of the SDK, or what stands for a built-in that flows do not have.
    fn built_in(&self, args: &HookResolveIdArgs<'_>, found: &BuiltIn) -> HookResolveIdOutput {
        match found {
            BuiltIn::Present(name) => HookResolveIdOutput::from_id(embedded::node_link(name)),
            BuiltIn::Absent(_) if args.importer.is_some_and(definers::is_host_module) => {
                HookResolveIdOutput::from_id(built_ins::host_id(""))
            }
            BuiltIn::Absent(_) if args.importer.is_some_and(|importer| !self.is_author(Path::new(importer))) => {
                HookResolveIdOutput::from_id(built_ins::stand_in_id(args.specifier))
            }
            BuiltIn::Absent(_) if args.importer.is_some_and(|importer| reads_texts(importer, args.specifier)) => {
                HookResolveIdOutput::from_id(built_ins::stand_in_id(args.specifier))
            }
            BuiltIn::Absent(instead) => {
                self.refuse(args.importer, args.specifier, built_ins::refusal(args.specifier, instead));
                HookResolveIdOutput::from_id(EMPTY_MODULE)
            }
            BuiltIn::Unknown => {
                self.refuse(args.importer, args.specifier, format!("Node.js has no built-in \"{}\"", args.specifier));
                HookResolveIdOutput::from_id(EMPTY_MODULE)
            }
        }
    }

    /// Whether a file is the author's, and not one of a package that it imports.
    pub(super) fn is_author(&self, file: &Path) -> bool {
        let file = Path::new(without_query(file.to_str().unwrap_or_default()));
        !file.components().any(|part| part.as_os_str() == "node_modules") && !self.import_rules.is_of_package(file)
    }

    /// The link to what Flowglass brings for an import, unless the author installed it.
    fn link(&self, specifier: &str, importer: Option<&str>) -> Option<String> {
        let from = importer.map(Path::new).filter(|path| path.is_absolute()).unwrap_or(&self.flow);
        let zod::Meant { specifier, manifests } = zod::meant(specifier, &self.workspace, from);
        self.with_seen(|seen| seen.inputs.extend(manifests));
        embedded::link(specifier?)
    }

    /// Reads a file on disk, if it may be read and does not nest too deeply. Returns `None` for the bundler's own
    /// modules.
    fn read(&self, id: &str) -> HookLoadReturn {
        let file = Path::new(without_query(id));
        if !file.is_absolute() {
            return Ok(None);
        }
        let shown = shown(&self.workspace, file);
        let empty = |error: LoadError| {
            self.note(error);
            Ok(Some(HookLoadOutput {
                code: String::new().into(),
                module_type: Some(ModuleType::Js),
                ..Default::default()
            }))
        };
        let stored = self.probes.as_ref().and_then(|probes| probes.texts.get(file).cloned());
        if stored.is_none() && !self.import_rules.allows(file) {
            return empty(LoadError::in_file(LoadErrorKind::Import, &shown, outside_message(&shown)));
        }
        self.with_seen(|seen| seen.inputs.extend([file.to_owned()]));
        (self.on_read)(file);
        let text = match stored.map_or_else(|| read(file), Ok) {
            Ok(text) => text,
            Err(reason) => return empty(LoadError::in_file(LoadErrorKind::Import, &shown, reason)),
        };
        let ending = file.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        if id.ends_with(RAW) || TEXTS.contains(&ending) {
            let module_type = Some(ModuleType::Text);
            return Ok(Some(HookLoadOutput { code: text.into(), module_type, ..Default::default() }));
        }
        if !CODE.contains(&ending) {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let message =
                format!("{name} is neither code, JSON nor text that a flow imports; \"…/{name}?raw\" is its text");
            return empty(self.error_at_import(file, message));
        }
        if let Err(error) = too_deep(&shown, &text) {
            return empty(error);
        }
        let used = built_ins::globals_used(&text);
        self.with_seen(|seen| seen.globals.extend(used));
        let placed = |text| texts::with_place(&self.workspace, id, texts::with_import(&self.workspace, id, text));
        let text = if ending == "json" { text } else { placed(text) };
        Ok(Some(HookLoadOutput { code: text.into(), ..Default::default() }))
    }

    /// The module that gives a module of the workspace the texts of the files it names.
    fn texts_of(&self, module: &Path) -> anyhow::Result<String> {
        let text = read(module).map_err(anyhow::Error::msg)?;
        let mut found = texts::named_in(&self.workspace, module, &text);
        found.retain(|file| self.import_rules.allows(file));
        found.iter().for_each(|file| (self.on_read)(file));
        self.with_seen(|seen| seen.inputs.extend(found.iter().cloned()));
        Ok(texts::code(&self.workspace, module, found.into_iter())?)
    }

    pub(super) fn with_seen(&self, change: impl FnOnce(&mut Seen)) {
        if let Ok(mut seen) = self.seen.lock() {
            change(&mut seen);
        }
    }
}

/// Resolves an import by the bundler's own rules. Returns `None` for what it does not find.
async fn resolve(
    ctx: &PluginContext,
    specifier: &str,
    importer: Option<&str>,
) -> anyhow::Result<Option<HookResolveIdOutput>> {
    let options = PluginContextResolveOptions { skip_self: true, ..Default::default() };
    let found = ctx.resolve(specifier, importer, Some(options)).await?;
    let found = found.ok().filter(|found| matches!(found.external, ResolvedExternal::Bool(false)));
    Ok(found.map(HookResolveIdOutput::from_resolved_id))
}

/// Returns whether a module of the author's may have the texts of the bundle in place of files.
fn reads_texts(importer: &str, specifier: &str) -> bool {
    read(Path::new(without_query(importer))).is_ok_and(|text| built_ins::may_read_texts(specifier, &text))
}
