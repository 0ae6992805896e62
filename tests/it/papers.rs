//! The papers and the code point at each other: what a comment cites is a heading that is there, what a paper
//! names is a file that is there, and no comment cites what nobody can read here.

use std::collections::BTreeSet;
use std::path::Path;

use tests::bench::repository;

use crate::architecture::{ARCHITECTURE, files, paper};

/// What a comment may cite, by the word before the `§`.
const PAPERS: [(&str, &str); 2] =
    [("ARCHITECTURE", ARCHITECTURE), ("SEMANTICS", "src-tauri/crates/engine/SEMANTICS.md")];

/// Other files that cite and name.
const READERS: [&str; 3] = ["README.md", "CONTRIBUTING.md", "src-tauri/GUIDE.md"];

/// Where citations stand.
const SOURCES: [(&str, &[&str]); 4] = [
    ("src-tauri", &["rs", "ts", "js", "sql", "toml"]),
    ("ui/src", &["ts", "svelte", "css"]),
    ("tests", &["rs", "ts", "md", "json"]),
    ("flows", &["ts", "md"]),
];

/// Documents that are not of this project, as a comment would name them.
const ELSEWHERE: [&str; 7] =
    ["ore-semantics", "untime-semantics", "design/", "upstream", "(authoring", "of the seeds", "eed 0"];

/// The numbers of a paper's headings, in order: `2` and `2.3`.
fn headings(text: &str) -> Vec<String> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("## ").or_else(|| line.strip_prefix("### ")));
    let numbers = lines.filter_map(|line| line.split(' ').next()).map(|number| number.trim_end_matches('.').to_owned());
    numbers.filter(|number| number.starts_with(|c: char| c.is_ascii_digit())).collect()
}

/// What a text cites: the word before each `§`, and the number behind it.
fn citations(text: &str) -> Vec<(String, String)> {
    let cited = text.match_indices('§').map(|(at, mark)| {
        let before = text[..at].trim_end_matches([' ', '\n']);
        let word = before.rsplit(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap_or_default();
        let number: String = text[at + mark.len()..].chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        (word.to_owned(), number.trim_end_matches('.').to_owned())
    });
    cited.collect()
}

/// The comment on a line of code, if there is one.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if ["*", "/*", "<!--", "-- "].iter().any(|begin| line.starts_with(begin)) {
        return Some(line);
    }
    let at = line.match_indices("//").map(|(at, _)| at).find(|at| !line[..*at].ends_with([':', '"', '\'', '/']))?;
    Some(&line[at..])
}

fn sources() -> Vec<(String, String)> {
    let all = SOURCES.iter().flat_map(|(folder, ends)| files(folder, ends));
    let read = |file: std::path::PathBuf| {
        let text = std::fs::read_to_string(repository().join(&file)).expect("a listed file");
        (file.display().to_string(), text)
    };
    all.map(read).filter(|(file, _)| file != "tests/it/papers.rs").collect()
}

#[test]
fn headings_are_numbered_in_order() {
    for (_, file) in PAPERS {
        let (mut section, mut part) = (0, 0);
        let found = headings(&paper(file));
        assert!(found.len() > 30, "{file} has only {} headings", found.len());
        for number in found {
            let expected = if number.contains('.') {
                part += 1;
                format!("{section}.{part}")
            } else {
                (section, part) = (section + 1, 0);
                section.to_string()
            };
            assert_eq!(number, expected, "{file}");
        }
    }
}

#[test]
fn what_is_cited_is_a_heading() {
    let known: Vec<(&str, BTreeSet<String>)> =
        PAPERS.iter().map(|(word, file)| (*word, headings(&paper(file)).into_iter().collect())).collect();
    let own = PAPERS.map(|(word, file)| (file.to_owned(), paper(file), Some(word)));
    let readers = READERS.map(|file| (file.to_owned(), paper(file), None));
    let code = sources().into_iter().map(|(file, text)| (file, text, None));
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (file, text, own) in own.into_iter().chain(readers).chain(code) {
        for (word, number) in citations(&text) {
            // Within a paper a number without a name is one of its own.
            let named = known.iter().find(|(name, _)| *name == word).map(|(name, _)| *name).or(own);
            let is_there = known.iter().any(|(name, numbers)| Some(*name) == named && numbers.contains(&number));
            count += 1;
            if !is_there {
                wrong.push(format!("{file}: {word} §{number}"));
            }
        }
    }
    assert!(count > 100, "only {count} citations were found");
    assert!(wrong.is_empty(), "no paper has these:\n{}", wrong.join("\n"));
}

/// `decision 4`, `decisions 2 and 22` and `H9` are numbers of documents that are not here.
fn is_numbered_elsewhere(comment: &str) -> bool {
    let words: Vec<&str> = comment.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let is_number = |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let is_decision = words.windows(2).any(|pair| {
        let is_word = pair[0].eq_ignore_ascii_case("decision") || pair[0].eq_ignore_ascii_case("decisions");
        is_word && is_number(&pair[1])
    });
    is_decision
        || words.iter().any(|word| word.strip_prefix('H').is_some_and(|rest| !rest.is_empty() && is_number(&rest)))
}

#[test]
fn no_comment_cites_what_is_not_here() {
    let mut wrong = Vec::new();
    for (file, text) in sources() {
        // What a case is about is its comment.
        let is_data = file.ends_with(".json");
        for (at, line) in text.lines().enumerate() {
            let said = if is_data { line.split_once("\"about\": ").map(|(_, about)| about) } else { comment(line) };
            let Some(said) = said else { continue };
            if is_numbered_elsewhere(said) || ELSEWHERE.iter().any(|name| said.contains(name)) {
                wrong.push(format!("{file}:{}: {}", at + 1, said.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "these cite documents that are not in the repository:\n{}", wrong.join("\n"));
}

#[test]
fn what_a_paper_names_is_there() {
    let places = [
        "",
        "src-tauri/crates/",
        "src-tauri/crates/engine/",
        "src-tauri/crates/engine/src/",
        "src-tauri/crates/store/src/",
        "src-tauri/crates/script/src/",
        "src-tauri/crates/script/sdk/src/",
        "src-tauri/src/",
        "ui/src/host/",
    ];
    let is_there = |named: &str| {
        let found = |folder: &&str| repository().join(format!("{folder}{named}")).exists();
        places.iter().any(found)
    };
    let ends = [".rs", ".ts", ".md", ".sql", ".svelte"];
    let (mut wrong, mut count) = (Vec::new(), 0);
    for file in PAPERS.iter().map(|(_, file)| *file).chain(READERS) {
        let text = paper(file);
        let base = Path::new(file).parent().unwrap_or(Path::new(""));
        let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link);
        for link in links.filter(|link| !link.contains(':')) {
            count += 1;
            if !repository().join(base).join(link).exists() {
                wrong.push(format!("{file}: {link}"));
            }
        }
        for named in text.split('`').skip(1).step_by(2) {
            let is_pattern = named.starts_with('.') || named.contains([' ', '*', '<', '…', '\n']);
            let is_file = ends.iter().any(|end| named.ends_with(end)) && !is_pattern;
            if is_file && !["hello.ts", "fsdev.config.ts"].contains(&named) {
                count += 1;
                if !is_there(named) {
                    wrong.push(format!("{file}: {named}"));
                }
            }
        }
    }
    assert!(count > 100, "only {count} names were found");
    assert!(wrong.is_empty(), "the papers name what is not there:\n{}", wrong.join("\n"));
}
