//! Circles of modules: modules that can only be understood together, because each names the next and the last names the
//! first. The largest one of each crate, and of the window, may only shrink.

use std::collections::{BTreeMap, BTreeSet};

use tests::bench::repository;

use super::architecture::files;

/// How many modules the largest circle of each source folder has; 1 if it has none.
const CIRCLES: [(&str, usize); 9] = [
    ("src-tauri/crates/engine/src", 11),
    ("src-tauri/crates/dialects/src", 7),
    ("src-tauri/crates/contract/src", 1),
    ("src-tauri/crates/store/src", 8),
    ("src-tauri/crates/script/src", 20),
    ("src-tauri/crates/runner/src", 23),
    ("src-tauri/crates/mcp/src", 2),
    ("src-tauri/src", 28),
    ("ui/src", 10),
];

/// The names of a path: those of the modules around an item, and its own.
type Names = Vec<String>;

/// Which modules each module names.
type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn circles_of_modules_only_shrink() {
    let mut wrong = Vec::new();
    for (source, known) in CIRCLES {
        let graph = if source.starts_with("ui") { window(source) } else { rust(source) };
        let circle = largest_circle(&graph);
        let size = circle.len();
        if size > known {
            wrong.push(format!("{source}: {size} modules name each other, {known} are known: {circle:#?}"));
        } else if size < known {
            wrong.push(format!("{source}: the largest circle has {size} modules now: lower its number, {known}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the modules of the largest circle: those that reach one another.
fn largest_circle(graph: &Graph) -> BTreeSet<&str> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|module| (module.as_str(), reached_from(graph, module))).collect();
    let circle_of = |module: &'_ &str| -> BTreeSet<&str> {
        let back = |other: &&str| reached.get(other).is_some_and(|from| from.contains(module));
        reached[module]
            .iter()
            .copied()
            .filter(back)
            .chain(graph.get_key_value(*module).map(|(own, _)| &**own))
            .collect()
    };
    reached.keys().map(circle_of).max_by_key(BTreeSet::len).unwrap_or_default()
}

fn reached_from<'g>(graph: &'g Graph, module: &str) -> BTreeSet<&'g str> {
    let mut reached = BTreeSet::new();
    let mut left: Vec<&String> = graph[module].iter().collect();
    while let Some(next) = left.pop() {
        if reached.insert(next.as_str()) {
            left.extend(graph.get(next).into_iter().flatten());
        }
    }
    reached
}

/// Returns which modules of a crate each of its modules names, tests excepted. The root counts as none of them.
fn rust(source: &str) -> Graph {
    let mut modules: BTreeMap<Names, Vec<Token>> = BTreeMap::new();
    for file in files(source, &["rs"]) {
        let inside = file.strip_prefix(source).expect("it is below").with_extension("");
        let mut names: Names = inside.iter().map(|name| name.to_string_lossy().into_owned()).collect();
        if names.iter().any(|name| name.contains("tests")) {
            continue;
        }
        names.pop_if(|last| ["lib", "main", "mod"].contains(&last.as_str()));
        let text = std::fs::read_to_string(repository().join(&file)).expect("a listed file");
        modules.insert(names, tokens(&text));
    }
    // What each module passes on from elsewhere, by its name there.
    let mut passed_on: BTreeMap<(Names, String), Names> = BTreeMap::new();
    let mut named: BTreeMap<Names, Vec<Names>> = BTreeMap::new();
    for (module, tokens) in &modules {
        for Named { path, name, is_public } in paths(tokens) {
            let Some(path) = absolute(path, module, &modules) else { continue };
            if is_public {
                passed_on.insert((module.clone(), name), path.clone());
            }
            // A folder names its own parts only to pass them on.
            if !(is_public && path.starts_with(module)) {
                named.entry(module.clone()).or_default().push(path);
            }
        }
    }
    let follow = |mut path: Names| {
        for _ in 0..8 {
            let module = (0..=path.len()).rev().map(|end| &path[..end]).find(|names| modules.contains_key(*names));
            let module = module.unwrap_or_default().to_vec();
            let next = path.get(module.len()).and_then(|name| passed_on.get(&(module.clone(), name.clone())));
            match next {
                Some(next) if *next != path => path = [&next[..], &path[module.len() + 1..]].concat(),
                _ => return module,
            }
        }
        Names::new()
    };
    let edges = modules.keys().map(|module| {
        let targets = named.remove(module).unwrap_or_default().into_iter().map(&follow);
        let targets = targets.filter(|target| target != module && !target.is_empty());
        (module.join("/"), targets.map(|target| target.join("/")).collect())
    });
    edges.collect()
}

/// A path in a Rust file, and under which name a `use` makes it known.
struct Named {
    path: Names,
    name: String,
    is_public: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Name(String),
    /// `::`
    Into,
    Other(char),
}

/// Returns the words and signs of a Rust file before its tests, without comments.
fn tokens(text: &str) -> Vec<Token> {
    let (text, _) = text.split_once("#[cfg(test)]\nmod tests").unwrap_or((text, ""));
    let lines = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut left = code.as_str();
    let mut tokens = Vec::new();
    while let Some(first) = left.chars().next() {
        let name = left.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).next().unwrap_or_default();
        if let Some(rest) = left.strip_prefix("::") {
            tokens.push(Token::Into);
            left = rest;
        } else if name.is_empty() {
            if !first.is_whitespace() {
                tokens.push(Token::Other(first));
            }
            left = &left[first.len_utf8()..];
        } else {
            tokens.push(Token::Name(name.to_owned()));
            left = &left[name.len()..];
        }
    }
    tokens
}

/// Returns the paths of a file: those of its `use` lines, one for each name, and those in its code.
fn paths(tokens: &[Token]) -> Vec<Named> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let is_inside_path = at > 0 && tokens[at - 1] == Token::Into;
        match (&tokens[at], tokens.get(at + 1)) {
            (Token::Name(word), _) if word == "use" => {
                let before = at.checked_sub(1).map(|before| &tokens[before]);
                let is_public =
                    matches!(before, Some(Token::Other(')'))) || before == Some(&Token::Name("pub".to_owned()));
                at = tree(tokens, at + 1, &[], is_public, &mut found);
            }
            (Token::Name(_), Some(Token::Into)) if !is_inside_path => {
                let mut path = Names::new();
                while let (Some(Token::Name(name)), sign) = (tokens.get(at), tokens.get(at + 1)) {
                    path.push(name.clone());
                    at += 2;
                    if sign != Some(&Token::Into) {
                        break;
                    }
                }
                found.push(Named { path, name: String::new(), is_public: false });
            }
            _ => at += 1,
        }
    }
    found
}

/// Reads one tree of a `use` line. Returns where it ends.
fn tree(tokens: &[Token], mut at: usize, around: &[String], is_public: bool, found: &mut Vec<Named>) -> usize {
    let mut path = around.to_vec();
    loop {
        match tokens.get(at) {
            Some(Token::Name(word)) if word == "as" => {
                let Some(Token::Name(name)) = tokens.get(at + 1) else { return at };
                found.push(Named { path, name: name.clone(), is_public });
                return at + 2;
            }
            Some(Token::Name(name)) => path.push(name.clone()),
            Some(Token::Into) => {}
            Some(Token::Other('{')) => {
                at += 1;
                while !matches!(tokens.get(at), None | Some(Token::Other('}'))) {
                    at = tree(tokens, at, &path, is_public, found);
                    at += usize::from(tokens.get(at) == Some(&Token::Other(',')));
                }
                return at + 1;
            }
            Some(Token::Other('*')) => {}
            _ => {
                path.pop_if(|last| last == "self");
                let name = path.last().cloned().unwrap_or_default();
                found.push(Named { path, name, is_public });
                return at;
            }
        }
        at += 1;
    }
}

/// Returns a path from the root of the crate on; `None` if it leads out of the crate.
fn absolute(path: Names, module: &[String], modules: &BTreeMap<Names, Vec<Token>>) -> Option<Names> {
    let first = path.first()?.as_str();
    match first {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => {
            let ups = path.iter().take_while(|name| *name == "super").count();
            Some([module.get(..module.len().checked_sub(ups)?)?, &path[ups..]].concat())
        }
        // A part of this module, by its bare name.
        _ => {
            let inside = [module, &path[..1]].concat();
            modules.contains_key(&inside).then(|| [module, &path[..]].concat())
        }
    }
}

/// Returns which files of the window each of its files imports, tests excepted.
fn window(source: &str) -> Graph {
    let shown = |file: &std::path::PathBuf| file.strip_prefix(source).expect("it is below").display().to_string();
    let found = files(source, &["ts", "svelte"]);
    let known: BTreeSet<String> = found.iter().map(shown).filter(|file| !file.contains(".test.")).collect();
    let imports = |file: &String| {
        let text = std::fs::read_to_string(repository().join(source).join(file)).expect("a listed file");
        let quoted = text.split(['\'', '"', '`']).collect::<Vec<_>>();
        let named = quoted.windows(2).filter(|pair| {
            let before = pair[0].trim_end();
            before.ends_with("from") || before.ends_with("import") || before.ends_with("import(")
        });
        named.filter_map(|pair| imported(file, pair[1], &known)).filter(|other| other != file).collect()
    };
    known.iter().map(|file| (file.clone(), imports(file))).collect()
}

/// Returns the file that an import of a file means; `None` if it is none of the window's.
fn imported(file: &str, named: &str, known: &BTreeSet<String>) -> Option<String> {
    let mut names: Vec<&str> = file.split('/').collect();
    names.pop();
    if !named.starts_with('.') {
        return None;
    }
    for name in named.split('/') {
        match name {
            "." => {}
            ".." => _ = names.pop()?,
            name => names.push(name),
        }
    }
    let path = names.join("/");
    let ends = ["", ".ts", ".svelte", ".svelte.ts", "/index.ts"];
    ends.iter().map(|end| format!("{path}{end}")).find(|path| known.contains(path))
}
