//! The examples that `print`, `step` and `coverage` show in their help work, in a folder with the flow of the README.

use tests::bench::{Place, repository};

/// The first TypeScript of the README.
fn flow() -> String {
    let readme = std::fs::read_to_string(repository().join("README.md")).expect("the README");
    let (_, rest) = readme.split_once("```ts\n").expect("a flow in the README");
    rest.split_once("```").expect("its end").0.to_owned()
}

/// The words of a line as a shell reads it, up to what is said of it: that comes after several spaces.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for (at, letter) in line.char_indices() {
        match letter {
            '\'' => quoted = !quoted,
            ' ' if !quoted && line[at..].starts_with("  ") => break,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            letter => word.push(letter),
        }
    }
    words.push(word);
    words
}

/// The examples in the help of a command.
fn examples(place: &Place, command: &str) -> Vec<Vec<String>> {
    let help = place.run(&[command, "--help"]).stdout;
    let (_, examples) = help.split_once("Examples:\n").expect("examples");
    examples.lines().filter_map(|line| line.strip_prefix("  flowglass ")).map(words).collect()
}

#[test]
fn the_examples_of_the_help_work() {
    let place = Place::new().file("hello.ts", &flow());
    for command in ["print", "step", "coverage"] {
        let examples = examples(&place, command);
        assert!(examples.len() > 1, "{command}: {examples:?}");
        for example in examples {
            let answer = place.run(&example);
            assert_eq!(answer.code, Some(0), "{example:?}\n{answer}");
            assert!(!answer.stdout.trim().is_empty(), "{example:?}");
        }
    }
    assert!(place.run(&["print", "hello.ts:11", "name"]).stdout.contains("\"Ada\""));
}
