//! The modules that a flow can import without installing them: the SDK and zod, bundled and compiled by the build
//! script.
//!
//! They are not part of a flow's bundle: the runtime loads their bytecode, because compiling them would be half of what
//! a short command takes. The bundle contains small link modules that name their exports, so that an import of a
//! missing export fails at its place.

use std::borrow::Cow;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Module as Js, Result};

/// One module, as the build script made it.
struct Module {
    /// Its path among the modules: `sdk/index.js`.
    name: &'static str,
    /// Its bytecode, written by the engine that this program has.
    compiled: &'static [u8],
    exports: &'static [&'static str],
}

static MODULES: &[Module] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// A hash of their sources.
const SOURCES_HASH: &str = include_str!(concat!(env!("OUT_DIR"), "/modules.hash"));

/// The prefix of the modules' names in the runtime.
pub(crate) const SCHEME: &str = "flowglass:";
/// The prefix of the ids of link modules: the module follows, or how it is imported, `=`, and the module.
const LINK: &str = "flowglass-link:";
/// The first import of a bundle: it installs the globals and registers the flow file's exports.
pub(crate) const START: &str = "flowglass:sdk/start.js";
/// The helper that runs lowered async functions.
pub(crate) const ASYNC: &str = "flowglass:sdk/async.js";

/// What texts of files are handed to.
pub(crate) const TEXTS: &str = "flowglass:sdk/texts.js";

/// The names that flows import the SDK by.
const SDK: &[(&str, &str)] = &[
    ("@flow-state-dev/core", "sdk/index.js"),
    // Other homes of the same classes and functions, now or before.
    ("@flow-state-dev/engine", "sdk/index.js"),
    ("@flow-state-dev/contracts", "sdk/contracts.js"),
    ("@flow-state-dev/server", "sdk/index.js"),
    ("@flow-state-dev/core/prompt", "sdk/prompt.js"),
    ("@flow-state-dev/core/items", "sdk/items.js"),
    ("@flow-state-dev/core/items/internal", "sdk/items.js"),
    ("@flow-state-dev/core/types", "sdk/types.js"),
    ("@flow-state-dev/core/models", "sdk/models.js"),
    ("@flow-state-dev/core/graph", "sdk/graph.js"),
    ("@flow-state-dev/core/helpers", "sdk/helpers.js"),
    ("@flow-state-dev/core/capability", "sdk/capability.js"),
    ("@flow-state-dev/core/prompt-file", "sdk/prompt-file.js"),
    ("@flow-state-dev/core/prompt-file/node", "sdk/prompt-file.js"),
    ("@flow-state-dev/engine/prompt-file", "sdk/prompt-file.js"),
    ("@flow-state-dev/core/resource-template", "sdk/resource-template.js"),
    ("@flow-state-dev/core/resource-template/node", "sdk/resource-template.js"),
    ("@flow-state-dev/engine/resource-template", "sdk/resource-template.js"),
    ("@flow-state-dev/core/errors/suspension-error", "sdk/suspension-error.js"),
    ("@standardagents/builder", "sdk/agents.js"),
    ("@standardagents/spec", "sdk/agents.js"),
    ("@standardagents/anthropic", "sdk/agent-providers.js"),
    ("@standardagents/google", "sdk/agent-providers.js"),
    ("@standardagents/groq", "sdk/agent-providers.js"),
    ("@standardagents/mistral", "sdk/agent-providers.js"),
    ("@standardagents/openai", "sdk/agent-providers.js"),
    ("@standardagents/openrouter", "sdk/agent-providers.js"),
    ("@standardagents/xai", "sdk/agent-providers.js"),
    ("acts", "sdk/acts.js"),
];

fn named(name: &str) -> Option<&'static Module> {
    let name = name.strip_prefix(SCHEME)?;
    MODULES.iter().find(|module| module.name == name)
}

/// Returns whether the runtime has a module of this name.
pub(crate) fn is_module(name: &str) -> bool {
    named(name).is_some()
}

/// Returns whether an import is of the framework's core. What it keeps in modules below that have no name here is in
/// the core's own.
pub(crate) fn is_core(specifier: &str) -> bool {
    specifier.strip_prefix("@flow-state-dev/core").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns whether an import is of what serves flows. Most of it is for a host, and the flows themselves need none.
pub(crate) fn is_of_host(specifier: &str) -> bool {
    ["@flow-state-dev/engine", "@flow-state-dev/server"].contains(&specifier)
}

/// Returns the id of the link module for a bare import, if it is one of the embedded modules. Of the SDK it holds how
/// the module is imported, so that an error can tell.
pub(crate) fn link(specifier: &str) -> Option<String> {
    let of_sdk = SDK.iter().find(|(name, _)| *name == specifier).map(|(_, module)| *module);
    let of_sdk = of_sdk.or_else(|| is_core(specifier).then_some("sdk/index.js"));
    if let Some(module) = of_sdk.filter(|module| !specifier.contains('=') && has(module)) {
        return Some(format!("{LINK}{specifier}={module}"));
    }
    let name: Cow<'_, str> = match specifier {
        "zod" => "zod/index.js".into(),
        "zod/mini" => "zod/v4/mini/index.js".into(),
        other => format!("zod/{}/index.js", other.strip_prefix("zod/")?).into(),
    };
    has(&name).then(|| format!("{LINK}{name}"))
}

fn has(name: &str) -> bool {
    MODULES.iter().any(|module| module.name == name)
}

/// Returns the module of a link, and how it is imported where its id holds that.
fn parts(id: &str) -> Option<(&str, Option<&str>)> {
    let rest = id.strip_prefix(LINK)?;
    Some(rest.rsplit_once('=').map_or((rest, None), |(specifier, module)| (module, Some(specifier))))
}

/// Returns the name that people import a link module by.
pub(crate) fn public_name(id: &str) -> Option<String> {
    let (module, specifier) = parts(id)?;
    if let Some(specifier) = specifier {
        return Some(specifier.to_owned());
    }
    if let Some((name, _)) = SDK.iter().find(|(_, known)| *known == module) {
        return Some((*name).to_owned());
    }
    Some(match module.strip_prefix("sdk/node/") {
        Some(built_in) => format!("node:{}", built_in.trim_end_matches(".js")),
        None => module.trim_end_matches("/index.js").to_owned(),
    })
}

/// Returns whether a module is the bundler's helper for async functions.
pub(crate) fn is_helper(id: &str) -> bool {
    id.ends_with("/helpers/esm/asyncToGenerator.js")
}

/// What the bundler's helper for async generators does with an `await` after `return`, and what it must do: its version
/// ends such a generator at the `await` of a `finally`.
const RETURNS: (&str, &str) = (r#""return" === r ? "return" : "next""#, r#""return" === r && o.k ? "return" : "next""#);

/// Returns the text that takes the place of a helper of the bundler's; `None` for other modules.
pub(crate) fn in_place_of(id: &str, text: &str) -> Option<String> {
    if is_helper(id) {
        return Some(format!("export {{ default }} from '{ASYNC}';\n"));
    }
    let is_generator = id.contains("/helpers/") && id.ends_with("/wrapAsyncGenerator.js");
    (is_generator && text.contains(RETURNS.0)).then(|| text.replace(RETURNS.0, RETURNS.1))
}

/// Returns the name in the runtime of a built-in of Node that flows have.
pub(crate) fn node_module(name: &str) -> String {
    format!("{SCHEME}sdk/node/{name}.js")
}

/// Returns the id of its link module.
pub(crate) fn node_link(name: &str) -> String {
    format!("{LINK}sdk/node/{name}.js")
}

/// Returns the text of a link module.
pub(crate) fn link_text(id: &str) -> Option<String> {
    let (name, _) = parts(id)?;
    let module = MODULES.iter().find(|module| module.name == name)?;
    let exports = module.exports.join(", ");
    // What CommonJS gets that requires one.
    let required = if name.starts_with("sdk/node/") { ", default as \"module.exports\"" } else { "" };
    Some(format!("export {{ {exports}{required} }} from \"{SCHEME}{name}\";\n"))
}

/// Returns whether an importer is a link module.
pub(crate) fn is_link(importer: &str) -> bool {
    importer.starts_with(LINK)
}

/// Replaces ids of link modules in an error message by the names that people import.
pub(crate) fn with_public_names(message: &str) -> String {
    let mut shown = String::new();
    let mut rest = message;
    while let Some(at) = rest.find(LINK) {
        shown += &rest[..at];
        let is_of_id = |c: char| c.is_alphanumeric() || "@/._=-".contains(c);
        let id = &rest[at..];
        let end = id[LINK.len()..].find(|c: char| !is_of_id(c)).map_or(id.len(), |length| LINK.len() + length);
        let id = id[..end].trim_end_matches('.');
        shown += &public_name(id).unwrap_or_default();
        rest = &rest[at + id.len()..];
    }
    shown + rest
}

/// Names that `@standardagents/builder` has elsewhere, and what takes their place.
const ELSEWHERE: &[(&str, &str)] = &[
    ("defineProvider", "Models stand in flowglass.json, under \"models\""),
    ("defineThreadEndpoint", "A message is sent with `flowglass run` or in the window"),
    ("defineEffect", "Nothing runs between two messages of a thread"),
    ("defineHandler", "A side has a prompt, or a person speaks for it"),
];

/// What is said of a name that only a host has a use for.
pub(crate) const HOST: &str =
    "It is for a host that serves flows; here `flowglass run` and the window run them, and nothing is served";

/// What an import of a missing export says beside its place: what the module has, or what takes the place of the name.
pub(crate) fn instead_of(message: &str) -> Option<String> {
    /// A longer list helps nobody.
    const MOST: usize = 20;
    let (missing, rest) = message.split_once("\" is not exported by \"")?;
    let id = rest.split('"').next()?;
    let (name, specifier) = parts(id)?;
    let module = MODULES.iter().find(|module| module.name == name)?;
    let missing = missing.rsplit('"').next()?;
    if specifier.is_some_and(is_of_host) {
        return Some(format!(" {HOST}."));
    }
    let elsewhere = ELSEWHERE.iter().find(|(known, _)| *known == missing && name == "sdk/agents.js");
    if let Some((_, instead)) = elsewhere {
        return Some(format!(" {instead}."));
    }
    let is_of_files = ["File", "Directory", "readdir", "mkdir"].iter().any(|word| missing.contains(word));
    if name == "sdk/agents.js" && is_of_files {
        return Some(" A thread keeps no files; flow.storage keeps values by key.".to_owned());
    }
    (module.exports.len() <= MOST).then(|| format!(" It exports {}.", module.exports.join(", ")))
}

/// The runtime's resolver and loader of embedded modules. It has no others besides the bundle.
pub(crate) struct Modules;

impl Resolver for Modules {
    fn resolve<'js>(
        &mut self,
        _ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        let found = match base.strip_prefix(SCHEME).filter(|_| name.starts_with('.')) {
            Some(base) => format!("{SCHEME}{}", beside(base, name)),
            None => name.to_owned(),
        };
        if is_module(&found) { Ok(found) } else { Err(Error::new_resolving(base, name)) }
    }
}

impl Loader for Modules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _attributes: Option<ImportAttributes<'js>>,
    ) -> Result<Js<'js, Declared>> {
        let module = named(name).ok_or_else(|| Error::new_loading(name))?;
        // SAFETY: it was written by the same version of the engine, with the same features; a test compares the two.
        unsafe { Js::load(ctx.clone(), module.compiled) }
    }
}

/// Resolves a relative import against the name of the importing module.
fn beside(base: &str, specifier: &str) -> String {
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Returns a hash of the SDK, of zod and of the bundler's version. A cached bundle of another version is not used.
pub fn version() -> String {
    blake3::hash(format!("rolldown 1.2.5, 8, {SOURCES_HASH}").as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rquickjs::module::WriteOptions;
    use rquickjs::{Context, Runtime};

    /// The build script has a build of the engine of its own, and marks functions by itself.
    #[test]
    fn the_bytecode_is_what_this_engine_writes() {
        let runtime = Runtime::new().expect("memory");
        runtime.set_loader(Modules, Modules);
        let context = Context::full(&runtime).expect("memory");
        for module in MODULES {
            let path = format!("{}/modules/{}", env!("OUT_DIR"), module.name);
            let source = std::fs::read_to_string(path).expect("the build script's copy");
            let marked = crate::bundle::fingerprint::mark(&source);
            let written = context.with(|ctx| {
                let name = format!("{SCHEME}{}", module.name);
                Js::declare(ctx, name, marked).and_then(|module| module.write(WriteOptions::default()))
            });
            assert!(written.is_ok_and(|written| written == module.compiled), "{}", module.name);
        }
    }

    #[test]
    fn relative_imports_are_looked_for_beside_their_module() {
        assert_eq!(beside("sdk/start.js", "../parts/sdk.js"), "parts/sdk.js");
        assert_eq!(beside("zod/v4/core/index.js", "../../../parts/core.js"), "parts/core.js");
        assert_eq!(beside("parts/core.js", "./sdk.js"), "parts/sdk.js");
    }

    #[test]
    fn what_is_imported_without_being_installed_names_its_exports() {
        for (specifier, export) in [
            ("@flow-state-dev/core", "defineFlow"),
            ("@standardagents/builder", "defineAgent"),
            ("@standardagents/spec", "defineModel"),
            ("@standardagents/openai", "openai"),
            ("acts", "Activity"),
            ("zod", "default"),
            ("zod/v3", "ZodError"),
            ("zod/v4", "z"),
            ("zod/v4-mini", "object"),
            ("zod/mini", "object"),
            ("zod/v4/core", "$ZodError"),
        ] {
            let link = link(specifier).unwrap_or_else(|| panic!("{specifier}"));
            let text = link_text(&link).expect("a link has a text");
            assert!(text.contains(&format!(" {export}")), "{specifier}: {text}");
        }
        assert_eq!(link("zod/v5"), None);
    }

    #[test]
    fn errors_name_modules_as_they_are_imported() {
        let engine = link("@flow-state-dev/engine").expect("a link");
        let below = link("@flow-state-dev/core/items/new.js").expect("a link");
        for (id, name) in [
            ("flowglass-link:sdk/index.js", "@flow-state-dev/core"),
            ("flowglass-link:zod/v4/index.js", "zod/v4"),
            ("flowglass-link:sdk/node/timers/promises.js", "node:timers/promises"),
            (engine.as_str(), "@flow-state-dev/engine"),
            (below.as_str(), "@flow-state-dev/core/items/new.js"),
        ] {
            let said = with_public_names(&format!("\"a\" in \"{id}\" and {id}."));
            assert_eq!(said, format!("\"a\" in \"{name}\" and {name}."));
        }
        let missing = format!("\"runAction\" is not exported by \"{engine}\", imported by \"main.ts\".");
        assert!(instead_of(&missing).is_some_and(|said| said.contains("for a host")), "{missing}");
    }
}
