//! The modules a flow can import without installing them: our SDK and zod, each bundled when this program was built.
//!
//! They are no part of a flow's bundle: the runtime loads them beside it, compiled once in this process. A bundle
//! names their exports all the same, so that an import of what is not there fails with its place.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::{Declared, WriteOptions};
use rquickjs::{Ctx, Error, Module as Js, Result};

/// One module, as the build script made it.
struct Module {
    /// Where it lies among the modules: `sdk/index.js`.
    name: &'static str,
    code: &'static str,
    exports: &'static [&'static str],
}

static MODULES: &[Module] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// What the runtime calls our modules, before their names.
pub(crate) const SCHEME: &str = "flowglass:";
/// What stands for a module in a bundle and names its exports.
const LINK: &str = "flowglass-link:";
/// What a bundle imports first: the globals of a flow, and what finds its exports.
pub(crate) const START: &str = "flowglass:sdk/start.js";
/// What async functions are run by.
pub(crate) const ASYNC: &str = "flowglass:sdk/async.js";

fn named(name: &str) -> Option<&'static Module> {
    let name = name.strip_prefix(SCHEME)?;
    MODULES.iter().find(|module| module.name == name)
}

/// Whether the runtime has a module of this name.
pub(crate) fn is_module(name: &str) -> bool {
    named(name).is_some()
}

/// What stands for the module that a bare import means, if it is one of ours.
pub(crate) fn link(specifier: &str) -> Option<String> {
    let name: Cow<'_, str> = match specifier {
        "@flow-state-dev/core" => "sdk/index.js".into(),
        "zod" => "zod/index.js".into(),
        "zod/mini" => "zod/v4/mini/index.js".into(),
        other => format!("zod/{}/index.js", other.strip_prefix("zod/")?).into(),
    };
    MODULES.iter().any(|module| module.name == name).then(|| format!("{LINK}{name}"))
}

/// The text of what stands for a module.
pub(crate) fn link_text(id: &str) -> Option<String> {
    let name = id.strip_prefix(LINK)?;
    let module = MODULES.iter().find(|module| module.name == name)?;
    Some(format!("export {{ {} }} from \"{SCHEME}{name}\";\n", module.exports.join(", ")))
}

/// Whether an import stands in the text of a link.
pub(crate) fn is_link(importer: &str) -> bool {
    importer.starts_with(LINK)
}

/// What people know a module by, for errors that name it.
pub(crate) fn with_public_names(message: &str) -> String {
    let mut message = message.replace(&format!("{LINK}sdk/index.js"), "@flow-state-dev/core");
    while let Some(at) = message.find(LINK) {
        let end = message[at..].find("/index.js").map_or(message.len(), |length| at + length + "/index.js".len());
        let name = message[at + LINK.len()..end].trim_end_matches("/index.js").to_owned();
        message.replace_range(at..end, &name);
    }
    message
}

/// Finds our modules; there are no others beside a bundle.
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
        /// By name, what a module compiled to. It holds for this process alone, whose runtime wrote it.
        static COMPILED: OnceLock<Compiled> = OnceLock::new();
        let module = named(name).ok_or_else(|| Error::new_loading(name))?;
        let all = COMPILED.get_or_init(Mutex::default);
        let compiled = all.lock().unwrap_or_else(PoisonError::into_inner).get(module.name).cloned();
        if let Some(compiled) = compiled {
            // SAFETY: what is loaded was written below, by the same engine in this process.
            return unsafe { Js::load(ctx.clone(), &compiled) };
        }
        let declared = Js::declare(ctx.clone(), name, crate::bundle::fingerprint::mark(module.code))?;
        // Without it the next runtime compiles again.
        if let Ok(compiled) = declared.write(WriteOptions::default()) {
            all.lock().unwrap_or_else(PoisonError::into_inner).insert(module.name, compiled.into());
        }
        Ok(declared)
    }
}

/// A relative import, from the name of the module that it stands in.
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

/// A hash of the SDK, of zod and of the pinned bundler: a cached bundle of another version is not used.
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
