//! The modules that a flow can import without installing them: the SDK and zod, bundled by the build script.
//!
//! They are not part of a flow's bundle: the runtime loads them separately, compiled once for each process. The bundle
//! contains small link modules that name their exports, so that an import of a missing export fails at its place.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::{Declared, WriteOptions};
use rquickjs::{Ctx, Error, Module as Js, Result};

/// One module, as the build script made it.
struct Module {
    /// Its path among the modules: `sdk/index.js`.
    name: &'static str,
    code: &'static str,
    exports: &'static [&'static str],
}

static MODULES: &[Module] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The prefix of the modules' names in the runtime.
pub(crate) const SCHEME: &str = "flowglass:";
/// The prefix of the ids of link modules.
const LINK: &str = "flowglass-link:";
/// The first import of a bundle: it installs the globals and registers the flow file's exports.
pub(crate) const START: &str = "flowglass:sdk/start.js";
/// The helper that runs lowered async functions.
pub(crate) const ASYNC: &str = "flowglass:sdk/async.js";

fn named(name: &str) -> Option<&'static Module> {
    let name = name.strip_prefix(SCHEME)?;
    MODULES.iter().find(|module| module.name == name)
}

/// Returns whether the runtime has a module of this name.
pub(crate) fn is_module(name: &str) -> bool {
    named(name).is_some()
}

/// Returns whether an import is of the framework's core: all of it is in one module, whatever the framework keeps in
/// modules below it.
pub(crate) fn is_core(specifier: &str) -> bool {
    specifier.strip_prefix("@flow-state-dev/core").is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Returns the id of the link module for a bare import, if it is one of the embedded modules.
pub(crate) fn link(specifier: &str) -> Option<String> {
    let name: Cow<'_, str> = match specifier {
        core if is_core(core) => "sdk/index.js".into(),
        "@standardagents/builder" => "sdk/agents.js".into(),
        "acts" => "sdk/acts.js".into(),
        "zod" => "zod/index.js".into(),
        "zod/mini" => "zod/v4/mini/index.js".into(),
        other => format!("zod/{}/index.js", other.strip_prefix("zod/")?).into(),
    };
    MODULES.iter().any(|module| module.name == name).then(|| format!("{LINK}{name}"))
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
    let name = id.strip_prefix(LINK)?;
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
    let mut message = message.replace(&format!("{LINK}sdk/index.js"), "@flow-state-dev/core");
    message = message.replace(&format!("{LINK}sdk/agents.js"), "@standardagents/builder");
    message = message.replace(&format!("{LINK}sdk/acts.js"), "acts");
    for name in crate::bundle::built_ins::PRESENT {
        message = message.replace(&node_link(name), &format!("node:{name}"));
    }
    while let Some(at) = message.find(LINK) {
        let end = message[at..].find("/index.js").map_or(message.len(), |length| at + length + "/index.js".len());
        let name = message[at + LINK.len()..end].trim_end_matches("/index.js").to_owned();
        message.replace_range(at..end, &name);
    }
    message
}

/// Names that `@standardagents/builder` has elsewhere, and what takes their place.
const ELSEWHERE: &[(&str, &str)] = &[
    ("defineModel", "Models stand in flowglass.json, under \"models\""),
    ("defineProvider", "Models stand in flowglass.json, under \"models\""),
    ("defineThreadEndpoint", "A message is sent with `flowglass run` or in the window"),
    ("defineEffect", "Nothing runs between two messages of a thread"),
    ("defineHandler", "A side has a prompt, or a person speaks for it"),
];

/// What an import of a missing export says beside its place: what the module has, or what takes the place of the name.
pub(crate) fn instead_of(message: &str) -> Option<String> {
    /// A longer list helps nobody.
    const MOST: usize = 20;
    let (missing, rest) = message.split_once("\" is not exported by \"")?;
    let name = rest.strip_prefix(LINK)?.split('"').next()?;
    let module = MODULES.iter().find(|module| module.name == name)?;
    let missing = missing.rsplit('"').next()?;
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
        type Compiled = Mutex<HashMap<&'static str, Arc<[u8]>>>;
        /// The bytecode of modules, by name. Valid only within this process, whose runtime wrote it.
        static COMPILED: OnceLock<Compiled> = OnceLock::new();
        let module = named(name).ok_or_else(|| Error::new_loading(name))?;
        let all = COMPILED.get_or_init(Mutex::default);
        let compiled = all.lock().unwrap_or_else(PoisonError::into_inner).get(module.name).cloned();
        if let Some(compiled) = compiled {
            // SAFETY: what is loaded was written below, by the same engine in this process.
            return unsafe { Js::load(ctx.clone(), &compiled) };
        }
        let declared = Js::declare(ctx.clone(), name, crate::bundle::fingerprint::mark(module.code))?;
        // On an error the next runtime compiles the module again.
        if let Ok(compiled) = declared.write(WriteOptions::default()) {
            all.lock().unwrap_or_else(PoisonError::into_inner).insert(module.name, compiled.into());
        }
        Ok(declared)
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
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"rolldown 1.2.5, 4");
    for module in MODULES {
        hasher.update(module.name.as_bytes()).update(module.code.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let said =
            with_public_names("\"a\" in flowglass-link:sdk/index.js and \"b\" in flowglass-link:zod/v4/index.js");
        assert_eq!(said, "\"a\" in @flow-state-dev/core and \"b\" in zod/v4");
    }
}
