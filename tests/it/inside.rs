//! A flow has no file system while it is bundled: what lies outside its workspace is refused at the import that
//! names it, and nothing of it is told.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use tests::bench::Place;

/// What the files outside say, and nobody may.
const SECRET: &str = "sesame";

const TAIL: &str = "import { defineFlow, handler } from '@flow-state-dev/core';
export default defineFlow({ kind: 'f', actions: { go: { block: handler({ name: 'h', execute: () => found }) } } });
";

/// A folder with secrets, and a workspace `inner` in it.
struct Places {
    outer: Place,
}

impl Places {
    fn new() -> Places {
        let outer = Place::new()
            .file("secret.txt", SECRET)
            .file("secret.json", &format!("{{\"found\": \"{SECRET}\"}}"))
            .file("secret.ts", &format!("export default '{SECRET}';\n"))
            .file("inner/own.txt", "own");
        Places { outer }
    }

    fn file(self, name: &str, text: &str) -> Places {
        self.outer.write(name, text);
        self
    }

    fn link(self, name: &str, target: impl AsRef<Path>) -> Places {
        let link = self.outer.dir().join(name);
        std::fs::create_dir_all(link.parent().expect("a folder")).expect("writable");
        std::os::unix::fs::symlink(target, link).expect("writable");
        self
    }

    /// With a flow that imports `found` by this specifier.
    fn importing(self, specifier: &str) -> Places {
        self.file("inner/f.ts", &format!("import found from '{specifier}';\n{TAIL}"))
    }

    fn flows(&self) -> Value {
        let dir = self.outer.dir().join("inner").display().to_string();
        let answer = self.outer.run(&["flows", "--dir", &dir, "--json"]);
        assert!(!answer.stdout.contains(SECRET) && !answer.stderr.contains(SECRET), "{answer}");
        answer.json()
    }

    /// The import is refused at its place, by its name, and nothing of the file is in the cache.
    #[track_caller]
    fn check_refused(&self, specifier: &str) {
        let flows = self.flows();
        let error = &flows[0]["error"];
        let message = error["message"].as_str().unwrap_or_default();
        assert!(message.contains(&format!("\"{specifier}\"")), "{flows}");
        assert!(
            message.contains("leads out of the workspace") && message.contains("the folder that holds both"),
            "{flows}"
        );
        assert_eq!((&error["file"], &error["line"]), (&json!("f.ts"), &json!(1)), "{flows}");
        self.check_untold();
    }

    #[track_caller]
    fn check_untold(&self) {
        let cache = self.outer.dir().join("inner/.flowglass/cache");
        for file in std::fs::read_dir(cache).into_iter().flatten().flatten() {
            let text = std::fs::read_to_string(file.path()).expect("it is text");
            assert!(!text.contains(SECRET), "{}", file.path().display());
        }
    }

    /// The flow loads and gives this.
    #[track_caller]
    fn check_found(&self, found: &Value) {
        let dir = self.outer.dir().join("inner").display().to_string();
        let answer = self.outer.run(&["run", "f", "go", "--user", "ada", "--dir", &dir, "--json"]);
        assert_eq!(&answer.json()["output"], found, "{answer}");
    }
}

#[test]
fn files_of_the_workspace_are_there() {
    Places::new().importing("./own.txt").check_found(&json!("own"));
    Places::new().file("inner/lib/a.json", "{\"n\": 1}").importing("./lib/a.json").check_found(&json!({"n": 1}));
    Places::new().link("inner/lib/b.txt", "../own.txt").importing("./lib/b.txt").check_found(&json!("own"));
}

#[test]
fn paths_that_lead_out_are_refused() {
    for specifier in ["../secret.txt", "../secret.json", "../secret.ts", "../secret", "./x/../../secret.ts"] {
        Places::new().importing(specifier).check_refused(specifier);
    }
    let places = Places::new();
    let absolute = places.outer.dir().join("secret.txt").display().to_string();
    places.importing(&absolute).check_refused(&absolute);
    Places::new().importing("/no/such/file.txt").check_refused("/no/such/file.txt");
}

#[test]
fn links_that_lead_out_are_refused() {
    Places::new().link("inner/a.txt", "../secret.txt").importing("./a.txt").check_refused("./a.txt");
    Places::new().link("inner/out", "..").importing("./out/secret.ts").check_refused("./out/secret.ts");
    let flow = Places::new().file("f.ts", &format!("const found = 1;\n{TAIL}")).link("inner/f.ts", "../f.ts").flows();
    assert!(flow[0]["error"]["message"].as_str().is_some_and(|text| text.contains("leads out")), "{flow}");
    let folder = Places::new().file("others/f.ts", TAIL).link("inner/flows", "../others").flows();
    assert!(folder[0]["error"]["message"].as_str().is_some_and(|text| text.contains("leads out")), "{folder}");
}

#[test]
fn settings_that_lead_out_are_refused() {
    let paths = |target: &str| {
        format!("{{ // ours\n \"compilerOptions\": {{ \"paths\": {{ \"@s/*\": [\"{target}\"], }}, }} }}")
    };
    Places::new().file("inner/tsconfig.json", &paths("../*")).importing("@s/secret").check_refused("@s/secret");
    let inside = Places::new().file("inner/tsconfig.json", &paths("./lib/*")).file("inner/lib/a.txt", "own");
    inside.importing("@s/a.txt").check_found(&json!("own"));
    let outside =
        Places::new().file("base.json", &paths("./*")).file("inner/tsconfig.json", "{\n\"extends\": \"../base.json\"}");
    // What it says is not read, and what it would have said is missed where it is needed.
    let outside = outside.importing("./own.txt");
    outside.check_found(&json!("own"));
    outside.check_untold();
    let flows = outside.importing("@s/own.txt").flows();
    let error = &flows[0]["error"];
    assert_eq!((&error["file"], &error["line"]), (&json!("f.ts"), &json!(1)), "{flows}");
    assert!(error["message"].as_str().is_some_and(|text| text.contains("base.json may say where it is")), "{flows}");
    let listed = Places::new().file("others/f.ts", TAIL).file("inner/flowglass.json", "{\"flows\": [\"../others\"]}");
    let dir = listed.outer.dir().join("inner").display().to_string();
    let answer = listed.outer.run(&["flows", "--dir", &dir]);
    assert!(answer.code == Some(2) && answer.stderr.contains("../others, which leads out"), "{answer}");
}

#[test]
fn packages_are_what_lies_in_their_folder() {
    let package = |folder: &str, main: &str| {
        Places::new().file(&format!("{folder}/package.json"), &format!("{{\"name\": \"p\", \"main\": \"{main}\"}}"))
    };
    for folder in ["inner/node_modules/p", "node_modules/p"] {
        let good = package(folder, "./main.js")
            .file(&format!("{folder}/main.js"), "import data from './data.json';\nexport default data.n;\n")
            .file(&format!("{folder}/data.json"), "{\"n\": 7}");
        good.importing("p").check_found(&json!(7));
        for main in ["../../secret.txt", "../../secret.json"] {
            let places = package(folder, main).file("inner/secret.txt", SECRET).file("inner/secret.json", "[1]");
            places.importing("p").check_refused("p");
        }
        package(folder, "./main.json").link(&format!("{folder}/main.json"), "../../secret.json").importing("p").flows();
        package("inner/node_modules/p", "../../../secret.txt").importing("p").check_refused("p");
        let nested = package(folder, "./main.js")
            .file(&format!("{folder}/main.js"), "import found from '../../../secret.txt';\nexport default found;\n");
        let flows = nested.importing("p").flows();
        assert!(flows[0]["error"]["message"].is_string(), "{flows}");
    }
    Places::new().link("inner/node_modules/p", "../..").importing("p/secret.ts").check_refused("p/secret.ts");
    let data = package("node_modules/p", "./data.json").file("node_modules/p/data.json", "{\"n\": 7}");
    data.importing("p/data.json").check_refused("p/data.json");
}

#[test]
fn what_is_no_ordinary_file_is_not_read() {
    let pipe = |name: &str| {
        let places = Places::new().file("inner/a/b.txt", "");
        let path = places.outer.dir().join(name);
        assert!(Command::new("mkfifo").arg(path).status().is_ok_and(|status| status.success()));
        places
    };
    for (places, part) in [
        (pipe("inner/a.txt").importing("./a.txt"), "not an ordinary file"),
        (pipe("inner/a.ts").importing("./own.txt"), "not an ordinary file"),
        (Places::new().link("inner/zero.txt", "/dev/zero").importing("./zero.txt"), "zero.txt"),
        (pipe("inner/package.json").importing("./own.txt"), "package.json is not an ordinary file"),
        (Places::new().link("inner/package.json", "/dev/zero").importing("./own.txt"), "not an ordinary file"),
        (pipe("inner/tsconfig.json").importing("./own.txt"), "tsconfig.json is not an ordinary file"),
    ] {
        let flows = places.flows();
        let told = flows
            .as_array()
            .expect("a list")
            .iter()
            .any(|flow| flow["error"]["message"].as_str().is_some_and(|message| message.contains(part)));
        assert!(told, "{part}: {flows}");
    }
}

#[test]
fn links_in_circles_end() {
    let flows = Places::new().importing("./own.txt").link("inner/flows/a", ".").link("inner/flows/b", "..").flows();
    assert_eq!(flows[0]["kind"], "f", "{flows}");
}

#[test]
fn broken_settings_are_named() {
    for (file, text) in [
        ("tsconfig.json", "{\n \"compilerOptions\": {\n"),
        ("tsconfig.json", "{\n \"compilerOptions\": nothing\n}"),
        ("package.json", "{\n \"name\": \"a\",,\n}"),
    ] {
        let flows = Places::new().file(&format!("inner/{file}"), text).importing("./own.txt").flows();
        let error = &flows[0]["error"];
        assert_eq!(error["file"], json!(file), "{flows}");
        assert!(error["line"].as_u64().is_some_and(|line| line >= 2), "{flows}");
        assert!(
            error["message"].as_str().is_some_and(|message| message.contains(&format!("{file} is not JSON"))),
            "{flows}"
        );
    }
    let package = Places::new().file("inner/node_modules/p/package.json", "{\n \"name\" \"p\" }").importing("p");
    let flows = package.flows();
    assert_eq!(flows[0]["error"]["file"], json!("node_modules/p/package.json"), "{flows}");
}
