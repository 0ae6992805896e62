//! All packages of the program may be distributed with it: each comes from its registry, under a licence that
//! `deny.toml` allows. cargo-deny (`make audit`) checks more, but takes minutes to install.

use std::process::Command;

use serde_json::Value;
use tests::bench::repository;

fn read(file: &str) -> String {
    std::fs::read_to_string(repository().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The licences of `deny.toml`.
fn allowed() -> Vec<String> {
    let text = read("deny.toml");
    let (_, rest) = text.split_once("\nallow = [").expect("deny.toml lists what it allows");
    let (list, _) = rest.split_once(']').expect("the list ends");
    list.split('"').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Whether these licences satisfy an SPDX expression. Older packages write `/` for `OR`.
fn is_met(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let mut words = spaced.split_whitespace().peekable();
    let is_met = either(&mut words, allowed);
    assert_eq!(words.next(), None, "{expression:?} is no expression of licences");
    is_met
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut is_met = both(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        is_met |= both(words, allowed);
    }
    is_met
}

fn both(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut is_met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        is_met &= one(words, allowed);
    }
    is_met
}

fn one(words: &mut Words<'_>, allowed: &[String]) -> bool {
    let mut name = words.next().unwrap_or_default().to_owned();
    if name == "(" {
        let is_met = either(words, allowed);
        assert_eq!(words.next(), Some(")"), "a parenthesis is open");
        return is_met;
    }
    if words.next_if_eq(&"WITH").is_some() {
        name = format!("{name} WITH {}", words.next().unwrap_or_default());
    }
    allowed.contains(&name)
}

#[test]
fn licence_expressions_are_read_as_spdx() {
    let allowed = ["MIT", "Apache-2.0 WITH LLVM-exception", "ISC"].map(str::to_owned);
    for met in ["MIT", "GPL-3.0 OR MIT", "GPL-3.0/MIT", "(GPL-3.0 OR MIT) AND ISC", "MIT OR ISC AND GPL-3.0"] {
        assert!(is_met(met, &allowed), "{met}");
    }
    for refused in ["GPL-3.0", "MIT AND GPL-3.0", "Apache-2.0", "(MIT OR ISC) AND GPL-3.0", ""] {
        assert!(!is_met(refused, &allowed), "{refused}");
    }
    assert!(is_met("Apache-2.0 WITH LLVM-exception OR GPL-2.0", &allowed));
}

#[test]
fn every_crate_comes_from_the_registry_under_a_licence_we_may_use() {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()))
        .args(["metadata", "--locked", "--offline", "--format-version", "1", "--filter-platform", &platform])
        .current_dir(repository())
        .output()
        .expect("cargo is there");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("a list");
    assert!(packages.len() > 100, "there are only {} packages", packages.len());
    let (allowed, mut wrong) = (allowed(), Vec::new());
    for package in packages {
        let name = format!("{} {}", package["name"].as_str().expect("a name"), package["version"]);
        let source = package["source"].as_str();
        if source.is_some_and(|source| source != "registry+https://github.com/rust-lang/crates.io-index") {
            wrong.push(format!("{name} comes from {}", package["source"]));
        }
        let licence = package["license"].as_str().unwrap_or_default();
        if !is_met(licence, &allowed) {
            wrong.push(format!("{name} is under {licence:?}, which deny.toml does not allow"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Packages whose manifest names no licence, with the licence of their licence file.
const UNSAID: [(&str, &str); 1] = [("node_modules/svelte-toolbelt", "MIT")];

#[test]
fn every_npm_package_of_the_program_is_under_a_licence_we_may_use() {
    let (allowed, mut wrong, mut count) = (allowed(), Vec::new(), 0);
    for folder in ["ui", "flows", "src-tauri/crates/script/sdk"] {
        let lock: Value = serde_json::from_str(&read(&format!("{folder}/package-lock.json"))).expect("it is JSON");
        for (name, package) in lock["packages"].as_object().expect("a table") {
            // Packages without a source come from the registry of the person's npm.
            if !package["resolved"].is_null() || package["link"] == true {
                wrong.push(format!("{folder}: {name} comes from {}", package["resolved"]));
            }
            if name.is_empty() || package["dev"] == true {
                continue;
            }
            count += 1;
            let unsaid = || UNSAID.iter().find(|(known, _)| known == name).map(|(_, licence)| *licence);
            let licence = package["license"].as_str().or_else(unsaid).unwrap_or_default();
            if !is_met(licence, &allowed) {
                wrong.push(format!("{folder}: {name} is under {licence:?}, which deny.toml does not allow"));
            }
        }
    }
    assert!(count > 10, "there are only {count} packages");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
