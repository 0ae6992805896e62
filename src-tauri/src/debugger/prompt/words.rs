//! The commands of the prompt, and their parser.

use runner::Move;

use super::super::session::Direction;

/// A parsed line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    Step(Move),
    GoOn(Direction),
    RunTo(u32, Direction),
    Break(Place, Option<String>),
    Breakpoints,
    Delete(u32),
    Watch(String),
    Print(String),
    Stack,
    Where,
    Locals,
    Tick,
    Help,
    /// An empty line, before any movement.
    Nothing,
    Quit,
}

/// `FILE:LINE[:COL]`, or `LINE` of the current file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) file: Option<String>,
    pub(super) line: u32,
    pub(super) column: Option<u32>,
}

/// Each command: its name, its long name, its arguments, and its description.
const WORDS: [(&str, &str, &str, &str); 21] = [
    ("n", "next", "", "to the next statement of this function, or of the one that called it"),
    ("s", "step", "", "to the next statement, also in a function that is called, or in a block inside"),
    ("o", "out", "", "to the next statement of the function that called this one"),
    ("bn", "", "", "like n, back in time"),
    ("bs", "", "", "like s, back in time"),
    ("bo", "", "", "like o, back in time: to the statement that called this function"),
    ("c", "continue", "", "to the next breakpoint"),
    ("rc", "", "", "back to the previous breakpoint"),
    ("u", "", "LINE", "to the next time that a line of this file runs"),
    ("ub", "", "LINE", "back to the last time that a line of this file ran"),
    ("until", "", "EXPR", "to the next statement of this block at which an expression holds"),
    ("b", "break", "[FILE:]LINE[:COL] [if EXPR]", "sets a breakpoint; without a place it lists them"),
    ("d", "delete", "N", "deletes a breakpoint"),
    ("watch", "", "SCOPE.PATH", "stops where a path of the state is written, like session.plan"),
    ("p", "print", "EXPR", "the value of a TypeScript expression in the scope of the statement"),
    ("locals", "", "", "the names in scope, and their values"),
    ("bt", "stack", "", "the blocks around the statement, and the functions that run"),
    ("where", "", "", "the statement, with the lines around it"),
    ("t", "tick", "", "which statement of the block this is, and of the request"),
    ("h", "help", "", "this list"),
    ("q", "quit", "", "ends; so does the end of the input"),
];

/// The list of commands with their descriptions.
pub(super) fn help() -> String {
    let mut text = String::new();
    for (word, long, needs, does) in WORDS {
        let name = if long.is_empty() { word.to_owned() } else { format!("{word}, {long}") };
        text.push_str(&format!("  {:40}{does}\n", format!("{name} {needs}")));
    }
    text.push_str("An empty line repeats the last movement. Values are those before the statement runs.\n");
    text
}

impl Word {
    /// Parses a line. The error says what would be right.
    pub(super) fn read(line: &str) -> Result<Word, String> {
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        if first.is_empty() {
            return Ok(Word::Nothing);
        }
        let known = WORDS.iter().find(|(word, long, ..)| *word == first || (*long == first && !long.is_empty()));
        let Some((word, _, needs, _)) = known else {
            let all: Vec<&str> = WORDS.iter().map(|(word, ..)| *word).collect();
            return Err(format!("unknown command \"{first}\"; the commands are {}; h explains them", all.join(" ")));
        };
        let usage = || format!("write: {word} {needs}");
        if needs.is_empty() && !rest.is_empty() {
            return Err(format!("{word} takes no argument (got \"{rest}\")"));
        }
        let text = || if rest.is_empty() { Err(usage()) } else { Ok(rest.to_owned()) };
        let number = || rest.parse::<u32>().ok().filter(|number| *number > 0).ok_or_else(usage);
        Ok(match *word {
            "n" => Word::Step(Move::Over),
            "s" => Word::Step(Move::Into),
            "o" => Word::Step(Move::Out),
            "bn" => Word::Step(Move::BackOver),
            "bs" => Word::Step(Move::Back),
            "bo" => Word::Step(Move::BackOut),
            "c" => Word::GoOn(Direction::Forward),
            "rc" => Word::GoOn(Direction::Back),
            "u" => Word::RunTo(number()?, Direction::Forward),
            "ub" => Word::RunTo(number()?, Direction::Back),
            "until" => Word::Step(Move::Until(text()?)),
            "b" if rest.is_empty() => Word::Breakpoints,
            "b" => breakpoint(rest).ok_or_else(usage)?,
            "d" => Word::Delete(number()?),
            "watch" => Word::Watch(text()?),
            "p" => Word::Print(text()?),
            "locals" => Word::Locals,
            "bt" => Word::Stack,
            "where" => Word::Where,
            "t" => Word::Tick,
            "h" => Word::Help,
            _ => Word::Quit,
        })
    }

    /// Whether an empty line repeats it.
    pub(super) fn is_move(&self) -> bool {
        matches!(self, Word::Step(_) | Word::GoOn(_) | Word::RunTo(..))
    }
}

fn breakpoint(text: &str) -> Option<Word> {
    let (place, condition) = match text.split_once(" if ") {
        Some((place, condition)) => (place.trim(), Some(condition.trim().to_owned()).filter(|text| !text.is_empty())),
        None => (text, None),
    };
    if place.is_empty() || place.ends_with(" if") {
        return None;
    }
    let number = |part: &str| part.parse().ok().filter(|number| *number > 0);
    let place = match place.rsplit_once(':') {
        None => Place { file: None, line: number(place)?, column: None },
        Some((rest, last)) => match rest.rsplit_once(':').and_then(|(file, line)| Some((file, number(line)?))) {
            Some((file, line)) => Place { file: Some(file.to_owned()), line, column: Some(number(last)?) },
            None if number(rest).is_some() => Place { file: None, line: number(rest)?, column: Some(number(last)?) },
            None => Place { file: Some(rest.to_owned()), line: number(last)?, column: None },
        },
    };
    Some(Word::Break(place, condition))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file: Option<&str>, line: u32, column: Option<u32>) -> Place {
        Place { file: file.map(str::to_owned), line, column }
    }

    #[test]
    fn lines_are_commands_with_arguments() {
        assert_eq!(Word::read("n"), Ok(Word::Step(Move::Over)));
        assert_eq!(Word::read("next"), Word::read("n"));
        assert_eq!(Word::read("b"), Ok(Word::Breakpoints));
        assert_eq!(Word::read("b a.ts:3"), Ok(Word::Break(place(Some("a.ts"), 3, None), None)));
        let conditional = Word::Break(place(Some("a.ts"), 3, Some(7)), Some("x if y".to_owned()));
        assert_eq!(Word::read("b a.ts:3:7 if x if y"), Ok(conditional));
        assert_eq!(Word::read("b 12"), Ok(Word::Break(place(None, 12, None), None)));
        assert_eq!(Word::read("b 12:5"), Ok(Word::Break(place(None, 12, Some(5)), None)));
        assert_eq!(Word::read("p a + b"), Ok(Word::Print("a + b".to_owned())));
        assert_eq!(Word::read(""), Ok(Word::Nothing));
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let wrong = |line: &str| Word::read(line).expect_err(line);
        assert!(wrong("jump").contains("the commands are n s o"), "{}", wrong("jump"));
        assert_eq!(wrong("n 3"), "n takes no argument (got \"3\")");
        for line in ["b a.ts", "b a.ts:0", "b :", "b if x", "b a.ts:3 if"] {
            assert_eq!(wrong(line), "write: b [FILE:]LINE[:COL] [if EXPR]", "{line}");
        }
        for line in ["d", "d x", "u", "u 0", "p", "watch", "until"] {
            assert!(wrong(line).starts_with("write: "), "{line}");
        }
    }
}
