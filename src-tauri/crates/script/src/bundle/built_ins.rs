//! Node's built-in modules: those that flows have, which are part of the SDK (`sdk/src/node`), and the replacements of
//! the others.
//!
//! An author's file that imports one of the others is refused, unless it only reads files beside it. In a package such
//! an import may be in code that the flow never reaches, so it gets a module that fails when it is used.

use crate::bundle::embedded;
use crate::bundle::imported_names::{DEFAULT, WHOLE, taken};

/// The prefix of the ids of modules that stand for a built-in that flows do not have.
const ABSENT: &str = "flowglass-absent:";

/// The built-ins that flows have; each is a module of the SDK.
pub(crate) const PRESENT: [&str; 17] = [
    "assert",
    "assert/strict",
    "async_hooks",
    "buffer",
    "crypto",
    "events",
    "path",
    "path/posix",
    "perf_hooks",
    "process",
    "querystring",
    "string_decoder",
    "timers",
    "timers/promises",
    "url",
    "util",
    "util/types",
];

/// The others that may be imported without `node:`, and what a flow uses instead.
const OTHERS: &[(&str, &str)] = &[
    ("fs", FILES),
    ("fs/promises", FILES),
    ("path/win32", "paths are those of node:path"),
    ("http", FETCH),
    ("https", FETCH),
    ("http2", FETCH),
    ("net", FETCH),
    ("tls", FETCH),
    ("dgram", FETCH),
    ("dns", FETCH),
    ("dns/promises", FETCH),
    ("child_process", PROCESSES),
    ("cluster", PROCESSES),
    ("worker_threads", "work beside other work is a step of the flow: parallel, forEach or work"),
    ("os", "process.platform is the same everywhere, and what a flow needs of a machine is given as input or env"),
    ("stream", STREAMS),
    ("stream/promises", STREAMS),
    ("stream/web", STREAMS),
    ("stream/consumers", STREAMS),
    ("zlib", "compress where the data is served"),
    ("readline", ASK),
    ("readline/promises", ASK),
    ("repl", ASK),
    ("tty", ASK),
    ("diagnostics_channel", RECORDED),
    ("inspector", RECORDED),
    ("inspector/promises", RECORDED),
    ("trace_events", RECORDED),
    ("v8", RECORDED),
    ("constants", NONE),
    ("domain", NONE),
    ("module", "import what is needed at the top of the file"),
    ("punycode", "new URL(…).hostname has it"),
    ("sys", "it is node:util"),
    ("vm", NONE),
    ("wasi", NONE),
];
/// The others that must be imported with `node:`.
const PREFIXED: &[(&str, &str)] = &[
    ("sqlite", FILES),
    ("test", "tests are files of their own, *.test.ts, which are no flows"),
    ("test/reporters", "tests are files of their own, *.test.ts, which are no flows"),
    ("sea", NONE),
];

const FILES: &str =
    "keep data in resources (defineResource), and import a file's text with \"./prompt.md\" or \"./any.file?raw\"";
const FETCH: &str = "use fetch, and name its hosts in flowglass.json under fetch.allow";
const PROCESSES: &str = "a flow starts no processes; use fetch, or give what they came to as input";
const STREAMS: &str = "what fetch answers is whole: use its text(), json() or bytes()";
const ASK: &str = "ask a person with ctx.suspend";
const RECORDED: &str = "everything a flow does is recorded: look at its events";
const NONE: &str = "a flow has nothing in its place";

/// The result of an import of a built-in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BuiltIn {
    /// The module of the SDK, without its ending.
    Present(&'static str),
    /// A flow does not have it, and uses this instead.
    Absent(&'static str),
    /// Node does not have it either.
    Unknown,
}

/// Finds a built-in by its specifier, with or without `node:`; `None` if it is not a built-in.
pub(crate) fn find(specifier: &str) -> Option<BuiltIn> {
    let (name, is_prefixed) = match specifier.strip_prefix("node:") {
        Some(name) => (name, true),
        None => (specifier, false),
    };
    let absent =
        |list: &[(&str, &'static str)]| list.iter().find(|(known, _)| *known == name).map(|(_, instead)| *instead);
    let present = PRESENT.iter().find(|known| **known == name).map(|name| BuiltIn::Present(name));
    let found = present.or_else(|| absent(OTHERS).map(BuiltIn::Absent));
    if !is_prefixed {
        return found;
    }
    found.or_else(|| absent(PREFIXED).map(BuiltIn::Absent)).or(Some(BuiltIn::Unknown))
}

/// Returns the message that refuses a built-in.
pub(crate) fn refusal(specifier: &str, instead: &str) -> String {
    format!("\"{specifier}\" is a Node.js built-in that a flow does not have: {instead}")
}

/// The SDK's replacement for `fs`: it reads the texts that are part of the bundle.
const FILES_OF_BUNDLE: &str = "files";

/// The synchronous readers of `node:fs`, and `promises`.
const READERS: [&str; 8] =
    ["existsSync", "readFileSync", "readdirSync", "statSync", "lstatSync", "accessSync", "realpathSync", "promises"];
const PROMISED_READERS: [&str; 6] = ["readFile", "readdir", "stat", "lstat", "access", "realpath"];

/// Returns whether an author's module that imports `fs` may get the bundle's texts: it uses its own location, to read
/// files beside it, or it imports only readers by name.
pub(crate) fn may_read_texts(specifier: &str, text: &str) -> bool {
    let readers: &[&str] = match specifier.trim_start_matches("node:") {
        "fs" => &READERS,
        "fs/promises" => &PROMISED_READERS,
        _ => return false,
    };
    let says_where = ["url", "dirname", "filename"].iter().any(|word| text.contains(&format!("import.meta.{word}")));
    let taken = taken(text, specifier);
    !taken.is_empty()
        && taken.iter().all(|name| readers.contains(name) || says_where && [DEFAULT, WHOLE].contains(name))
}

/// Returns the id of the replacement of an absent module whose import is allowed.
pub(crate) fn stand_in_id(specifier: &str) -> String {
    match specifier.trim_start_matches("node:") {
        "fs" | "fs/promises" => lenient_id(&embedded::node_link(FILES_OF_BUNDLE)),
        _ => format!("{ABSENT}{specifier}"),
    }
}

/// Returns the text of the replacement of an absent module: everything in it fails when it is used.
pub(crate) fn absent_text(id: &str) -> Option<String> {
    let specifier = id.strip_prefix(ABSENT)?;
    let Some(BuiltIn::Absent(instead)) = find(specifier) else { return Some("module.exports = {};\n".to_owned()) };
    let said = serde_json::to_string(&refusal(specifier, instead)).unwrap_or_default();
    // A bundle copies own properties of CommonJS modules, but reads inherited ones when they are used.
    let name = serde_json::to_string(specifier.trim_start_matches("node:")).unwrap_or_default();
    Some(format!("{}module.exports = Object.create(absent({name}));\n", absent_value(&said)))
}

/// The text of a function that makes values which fail when they are called; `said` is the reason, as JSON.
fn absent_value(said: &str) -> String {
    format!(
        "const absent = (name) => {{
  const fail = () => {{ throw new Error(`${{name}} cannot be used: ` + {said}); }};
  return new Proxy(function () {{}}, {{
    get: (own, key) => typeof key === 'symbol' || key === 'prototype' || key === '__esModule' ? own[key]
      : absent(key === 'default' ? name : `${{name}}.${{key}}`),
    construct: () => absent(`new ${{name}}`), apply: fail, set: fail,
  }});
}};\n"
    )
}

/// The prefix of the ids of modules that accept imports of any name: the framework's core for packages, and its parts
/// for hosts for modules beside the flow file.
const LENIENT: &str = "flowglass-lenient:";

/// Returns the id of a module with everything in a link module, and with a failing value for any other name.
pub(crate) fn lenient_id(link: &str) -> String {
    format!("{LENIENT}{link}")
}

/// The prefix of the ids of modules that the settings of a host import. Their parts for a server, which flows do not
/// have, are replaced by a value that accepts every operation and does nothing.
const HOST: &str = "flowglass-host:";

/// The code of this value.
const NOTHING: &str = "const unnamed = ['then', '__esModule'];
const nothing = new Proxy(function () {}, {
  get: (own, key) => key === Symbol.toPrimitive ? () => ''
    : typeof key === 'symbol' || unnamed.includes(key) ? undefined : key === 'prototype' ? own.prototype : nothing,
  apply: () => nothing, construct: () => nothing, set: () => true,
});\n";

/// Returns the id of such a module. It has everything in a link module, and the value above for any other name; for an
/// empty link, it has only that value.
pub(crate) fn host_id(link: &str) -> String {
    format!("{HOST}{link}")
}

fn host_text(link: &str) -> String {
    if link.is_empty() {
        let made = "Object.setPrototypeOf(function () { return nothing; }, nothing)";
        return format!("{NOTHING}module.exports = {made};\n");
    }
    let link = serde_json::to_string(link).unwrap_or_default();
    let known = "new Proxy(known, { get: (own, key) => key in own || typeof key === 'symbol' || key === '__esModule' \
                 ? own[key] : nothing })";
    format!("const known = require({link});\n{NOTHING}module.exports = Object.create({known});\n")
}

/// Returns the text of a lenient module.
pub(crate) fn lenient_text(id: &str) -> Option<String> {
    if let Some(link) = id.strip_prefix(HOST) {
        return Some(host_text(link));
    }
    let link = id.strip_prefix(LENIENT)?;
    let said = if link == embedded::node_link(FILES_OF_BUNDLE) {
        refusal("node:fs", FILES)
    } else {
        let name = embedded::public_name(link).unwrap_or_default();
        if embedded::is_of_host(&name) {
            format!("{name} has it, and Flowglass does not. {}", embedded::HOST)
        } else {
            format!("a package takes it from {name}, and Flowglass does not have it")
        }
    };
    let (link, said) = (serde_json::to_string(link).ok()?, serde_json::to_string(&said).ok()?);
    let known = "new Proxy(known, { get: (own, key) => key in own || typeof key === 'symbol' || key === '__esModule' \
                 ? own[key] : absent(key) })";
    Some(format!("const known = require({link});\n{}module.exports = Object.create({known});\n", absent_value(&said)))
}

/// Returns whether an importer is a lenient module.
pub(crate) fn is_lenient(importer: &str) -> bool {
    importer.starts_with(LENIENT) || importer.starts_with(HOST)
}

/// Returns the SDK's built-ins whose globals a source uses, so that other flows do not load them. A word in a comment
/// counts as well, and only costs time.
pub(crate) fn globals_used(text: &str) -> Vec<&'static str> {
    let mut used = Vec::new();
    for (word, module) in [("Buffer", "buffer"), ("atob", "buffer"), ("btoa", "buffer"), ("process", "process")] {
        if !used.contains(&module) && (uses(text, word) || may_ask_global(text, word)) {
            used.push(module);
        }
    }
    let is_formatted = ["String", "DateString", "TimeString"];
    if uses(text, "Intl") || is_formatted.iter().any(|what| text.contains(&format!(".toLocale{what}("))) {
        used.push("intl");
    } else if text.contains(".localeCompare(") {
        used.push("collate");
    }
    if uses(text, "crypto") && text.contains("subtle") {
        used.push("crypto");
    }
    used
}

/// Whether a text may read a word from the global object by a computed name: `globalThis["process"]`, `(globalThis as
/// any)[name]`.
fn may_ask_global(text: &str, word: &str) -> bool {
    let is_whole =
        |(at, _): (usize, &str)| !text[..at].ends_with(is_of_name) && !text[at + word.len()..].starts_with(is_of_name);
    text.contains("globalThis") && text.match_indices(word).any(is_whole)
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Whether a text uses a word as a name.
fn uses(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + word.len()..]);
        let is_whole = !before.ends_with(is_of_name) && !after.starts_with(is_of_name);
        let is_asked_for = before.trim_end().ends_with("typeof") || before.ends_with("globalThis.");
        is_whole
            && (is_asked_for
                || !before.ends_with('.') && after.trim_start().starts_with(['.', '[', '?', '(', ',', ')', ';']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_that_only_read_files_get_the_texts_of_the_bundle() {
        for (specifier, text, expected) in [
            ("node:fs", "import { readFileSync, existsSync as is } from 'node:fs';", true),
            ("fs", "import {\n  readdirSync,\n} from \"fs\";", true),
            ("fs/promises", "import { readFile } from 'fs/promises';", true),
            ("node:fs", "import fs from 'node:fs'; const here = import.meta.dirname;", true),
            ("node:fs", "import { writeFileSync } from 'node:fs'; const here = import.meta.url;", false),
            ("node:fs", "import fs from 'node:fs';", false),
            ("node:fs", "import fs, { readFileSync } from 'node:fs';", false),
            ("node:fs", "import { readFile } from 'node:fs';", false),
            ("node:fs", "import { readFileSync, writeFileSync } from 'node:fs';", false),
            ("node:fs", "const fs = await import('node:fs');", false),
            ("node:os", "import { cpus } from 'node:os'; import.meta.url", false),
        ] {
            assert_eq!(may_read_texts(specifier, text), expected, "{text}");
        }
    }

    #[test]
    fn built_ins_are_found_with_and_without_node_prefix() {
        assert_eq!(find("node:crypto"), Some(BuiltIn::Present("crypto")));
        assert_eq!(find("path/posix"), Some(BuiltIn::Present("path/posix")));
        assert_eq!(find("fs/promises"), Some(BuiltIn::Absent(FILES)));
        assert_eq!(find("node:nothing"), Some(BuiltIn::Unknown));
        // Packages have these names.
        for package in ["test", "sqlite", "lodash", "fs-extra", "path-to-regexp"] {
            assert_eq!(find(package), None, "{package}");
        }
    }

    #[test]
    fn globals_count_if_they_are_used() {
        for (text, module) in [
            ("Buffer.from('a')", "buffer"),
            ("if (typeof process === 'object') {}", "process"),
            ("const key = process.env.KEY", "process"),
            ("globalThis.process?.env", "process"),
            ("globalThis[\"process\"]", "process"),
            ("(globalThis as any).Buffer", "buffer"),
            ("['Buffer'].map((name) => typeof globalThis[name])", "buffer"),
            ("btoa(x)", "buffer"),
            ("f(Buffer)", "buffer"),
            ("new Intl.NumberFormat()", "intl"),
            ("date.toLocaleDateString('de')", "intl"),
            ("a.localeCompare(b)", "collate"),
        ] {
            assert_eq!(globals_used(text), [module], "{text}");
        }
        for text in [
            "// we process the input",
            "const preprocess = 1",
            "ArrayBuffer.isView(x)",
            "ctx.process.run()",
            "a.toLocaleUpperCase()",
        ] {
            assert!(globals_used(text).is_empty(), "{text}");
        }
    }
}
