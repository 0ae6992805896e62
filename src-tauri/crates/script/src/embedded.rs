//! The files a flow can import without installing them, by their virtual names.

/// `(name, text)`, sorted within each scheme; made by the build script.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// The text of an embedded file.
pub(crate) fn file(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// What a bare import means, if it is one of ours.
pub(crate) fn module(specifier: &str) -> Option<String> {
    let name = match specifier {
        "@flow-state-dev/core" => "flowglass:sdk/index.ts".to_owned(),
        "zod" => "flowglass:zod/index.js".to_owned(),
        "zod/v3" => "flowglass:zod/v3/index.js".to_owned(),
        "zod/v4" => "flowglass:zod/v4/index.js".to_owned(),
        "zod/v4-mini" | "zod/mini" | "zod/v4/mini" => "flowglass:zod/v4/mini/index.js".to_owned(),
        other => format!("flowglass:{}", other.strip_prefix("zod/").map(|rest| format!("zod/{rest}/index.js"))?),
    };
    file(&name).map(|_| name)
}

/// A relative import between embedded files.
pub(crate) fn relative(importer: &str, specifier: &str) -> Option<String> {
    let (scheme, inside) = importer.split_once('/')?;
    let mut parts: Vec<&str> = inside.split('/').collect();
    parts.pop();
    for part in specifier.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let path = format!("{scheme}/{}", parts.join("/"));
    [path.clone(), format!("{path}.ts"), format!("{path}.js")].into_iter().find(|name| file(name).is_some())
}

/// A hash of everything embedded and of the pinned bundler: a cached bundle of another version is
/// not used.
pub fn version() -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(b"rolldown 1.2.5, 3");
    for (name, text) in FILES.iter().filter(|(name, _)| name.starts_with("flowglass:sdk/")) {
        hasher.update(name.as_bytes()).update(text.as_bytes());
    }
    hasher.finalize().to_hex().to_string()
}
