//! A check of how deep a source file nests, before a recursive parser reads it.
//!
//! One pass over the bytes with a stack of open brackets, without recursion. Strings, comments, templates and regular
//! expressions are recognized well enough to skip them. If one is mistaken, a later closing bracket pops the stack to
//! its opening one, so that mistakes do not add up. The same pass tells which names stand in code, and not in a string
//! or a comment. Must not decide what is valid.

/// How many brackets may be nested.
const MAX_DEPTH: usize = 1_000;
/// How many operators, calls or branches one expression or statement may chain: each is a level of the tree.
const MAX_CHAIN: u32 = 20_000;

/// Where a file nests too deeply, 1-based, and what it does there.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TooDeep {
    pub(crate) line: u32,
    pub(crate) column: u32,
    pub(crate) message: String,
}

/// Looks for the first place that is too deep in TypeScript, JavaScript or JSON.
pub(crate) fn check(text: &str) -> Result<(), TooDeep> {
    Scan::new(text.as_bytes()).run().map_err(|at| {
        let before = text.get(..at.place).unwrap_or_default();
        let line = before.bytes().filter(|byte| *byte == b'\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) as u32 + 1;
        TooDeep { line, column, message: at.kind.message() }
    })
}

/// Tells every name that stands in the code of a source, by where it begins and ends. A source that nests too deeply is
/// read as far as that.
pub(crate) fn names(text: &str, each: &mut dyn FnMut(usize, usize)) {
    // What is too deep is told by whoever loads the file.
    let _ = Scan { each: Some(each), ..Scan::new(text.as_bytes()) }.run();
}

enum Kind {
    Depth,
    Chain,
}

impl Kind {
    fn message(&self) -> String {
        match self {
            Kind::Depth => {
                format!("brackets are nested deeper than {MAX_DEPTH} levels here; give inner parts names of their own")
            }
            Kind::Chain => format!(
                "more than {MAX_CHAIN} operators, calls or branches are chained here; give parts names of their own"
            ),
        }
    }
}

struct Found {
    place: usize,
    kind: Kind,
}

/// An open bracket, and how many operators are chained directly in it.
struct Level {
    open: u8,
    links: u32,
    /// Whether it is the condition of an `if` or a loop: a statement follows, not an operator.
    is_head: bool,
}

/// What the last token was: it decides whether a slash is a division or begins a regular expression.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// An operand ended: an operator may follow.
    Value,
    /// An operator, an opening bracket or a keyword: an operand must follow.
    Operator,
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
    /// The file itself, and the open brackets.
    levels: Vec<Level>,
    last: Last,
    /// Whether the last token was `if`, `for`, `while` or `with`.
    begins_head: bool,
    /// Hears of names.
    each: Option<&'a mut dyn FnMut(usize, usize)>,
}

/// On the stack of open brackets: `${` of a template.
const TEMPLATE: u8 = b'`';

impl<'a> Scan<'a> {
    fn new(text: &'a [u8]) -> Self {
        Scan {
            text,
            at: 0,
            levels: vec![Level { open: 0, links: 0, is_head: false }],
            last: Last::Operator,
            begins_head: false,
            each: None,
        }
    }

    fn run(mut self) -> Result<(), Found> {
        while let Some(byte) = self.text.get(self.at).copied() {
            let next = self.text.get(self.at + 1).copied();
            match byte {
                b'/' if next == Some(b'/') => self.skip_to(b"\n"),
                b'/' if next == Some(b'*') => {
                    self.at += 2;
                    self.skip_to(b"*/");
                }
                b'/' if self.last == Last::Operator => self.regex(),
                b'"' | b'\'' => self.string(byte),
                b'`' => self.template()?,
                b'(' | b'[' | b'{' => self.open(byte)?,
                b')' | b']' => self.close(byte),
                b'}' if self.is_in_template() => {
                    self.levels.pop();
                    self.template()?;
                }
                b'}' => self.close(byte),
                b';' | b',' => {
                    self.reset();
                    self.step(Last::Operator);
                }
                byte if byte.is_ascii_whitespace() => self.at += 1,
                byte if is_of_name(byte) => self.name()?,
                // `.` after a value goes on with it, as `+` does.
                _ => {
                    self.link()?;
                    self.step(Last::Operator);
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, last: Last) {
        self.at += 1;
        self.last = last;
        self.begins_head = false;
    }

    fn skip_to(&mut self, end: &[u8]) {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let found = rest.windows(end.len()).position(|part| part == end);
        self.at = found.map_or(self.text.len(), |found| self.at + found + end.len());
    }

    /// Ends the chain in the innermost bracket.
    fn reset(&mut self) {
        if let Some(level) = self.levels.last_mut() {
            level.links = 0;
        }
    }

    fn link(&mut self) -> Result<(), Found> {
        let place = self.at;
        match self.levels.last_mut() {
            Some(level) if level.links >= MAX_CHAIN => Err(Found { place, kind: Kind::Chain }),
            Some(level) => {
                level.links += 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn open(&mut self, bracket: u8) -> Result<(), Found> {
        // The file itself is the first level.
        if self.levels.len() > MAX_DEPTH {
            return Err(Found { place: self.at, kind: Kind::Depth });
        }
        self.levels.push(Level { open: bracket, links: 0, is_head: bracket == b'(' && self.begins_head });
        self.step(Last::Operator);
        Ok(())
    }

    fn close(&mut self, bracket: u8) {
        let opened = match bracket {
            b')' => b'(',
            b']' => b'[',
            _ => b'{',
        };
        let place = self.levels.iter().rposition(|level| level.open == opened);
        let is_head = place.and_then(|place| self.levels.get(place)).is_some_and(|level| level.is_head);
        if let Some(place) = place {
            self.levels.truncate(place);
        }
        self.step(if is_head { Last::Operator } else { Last::Value });
    }

    fn is_in_template(&self) -> bool {
        self.levels.last().is_some_and(|level| level.open == TEMPLATE)
    }

    /// Skips a string. It ends with its line at the latest.
    fn string(&mut self, quote: u8) {
        self.at += 1;
        while let Some(byte) = self.text.get(self.at).copied() {
            match byte {
                b'\\' => self.at += 1,
                b'\n' => break,
                byte if byte == quote => break,
                _ => {}
            }
            self.at += 1;
        }
        self.step(Last::Value);
    }

    /// Skips a template, from its beginning or after a `}`, to its end or the next `${`.
    fn template(&mut self) -> Result<(), Found> {
        self.at += 1;
        while let Some(byte) = self.text.get(self.at).copied() {
            match byte {
                b'\\' => self.at += 1,
                b'`' => break,
                b'$' if self.text.get(self.at + 1) == Some(&b'{') => {
                    self.at += 1;
                    return self.open(TEMPLATE);
                }
                _ => {}
            }
            self.at += 1;
        }
        self.step(Last::Value);
        Ok(())
    }

    /// Skips a regular expression, in which a slash may stand between square brackets. It ends with its line at the
    /// latest.
    fn regex(&mut self) {
        let mut is_in_class = false;
        self.at += 1;
        while let Some(byte) = self.text.get(self.at).copied() {
            match byte {
                b'\\' => self.at += 1,
                b'[' => is_in_class = true,
                b']' => is_in_class = false,
                b'/' if !is_in_class => break,
                b'\n' => break,
                _ => {}
            }
            self.at += 1;
        }
        self.step(Last::Value);
    }

    fn name(&mut self) -> Result<(), Found> {
        let start = self.at;
        let rest = self.text.get(start..).unwrap_or_default();
        let length = rest.iter().position(|byte| !is_of_name(*byte)).unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        if let Some(each) = &mut self.each {
            each(start, start + length);
        }
        let is_member = start > 0 && self.text.get(start - 1) == Some(&b'.');
        self.begins_head = !is_member && matches!(word, b"if" | b"for" | b"while" | b"with");
        match word {
            _ if is_member => self.last = Last::Value,
            b"else" | b"as" | b"satisfies" | b"in" | b"instanceof" | b"of" | b"extends" | b"is" | b"typeof"
            | b"void" | b"new" | b"await" | b"yield" | b"delete" | b"keyof" | b"infer" | b"if" | b"for" | b"while"
            | b"do" | b"with" | b"return" | b"throw" | b"case" => {
                // Only `else` and what stands between two values goes on with what was before.
                let goes_on = !matches!(word, b"return" | b"throw" | b"case");
                if self.last == Last::Operator || goes_on && is_between(word) {
                    self.link()?;
                } else {
                    self.reset();
                }
                self.last = Last::Operator;
            }
            _ => {
                // A value after a value begins another statement.
                if self.last == Last::Value {
                    self.reset();
                }
                self.last = Last::Value;
            }
        }
        self.at = start + length;
        Ok(())
    }
}

/// Returns whether a keyword continues the expression or statement before it.
fn is_between(word: &[u8]) -> bool {
    matches!(word, b"else" | b"as" | b"satisfies" | b"in" | b"instanceof" | b"of" | b"extends" | b"is")
}

fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte == b'#' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn refused(text: &str, place: (u32, u32), part: &str) {
        let found = check(text).expect_err("it is too deep");
        assert_eq!((found.line, found.column), place);
        assert!(found.message.contains(part), "{}", found.message);
    }

    #[test]
    fn brackets_count_where_they_are_brackets() {
        let deep = |times: usize| format!("const a =\n {}{};", "[".repeat(times), "]".repeat(times));
        assert_eq!(check(&deep(MAX_DEPTH)), Ok(()));
        refused(&deep(MAX_DEPTH + 1), (2, 2 + MAX_DEPTH as u32), "nested deeper than 1000 levels");
        refused(&"{".repeat(100_000), (1, MAX_DEPTH as u32 + 1), "nested");
        let many = "[".repeat(2 * MAX_DEPTH);
        for quoted in [
            format!("'{many}'"),
            format!("\"\\\"{many}\""),
            format!("`{many}${{1}}{many}`"),
            format!("/\\/[/{many}]/"),
            format!("1 // {many}"),
            format!("/* {many} */ 1"),
        ] {
            assert_eq!(check(&format!("const a = {quoted}; (1);")), Ok(()), "{}", &quoted[..20]);
        }
    }

    #[test]
    fn templates_in_templates_count() {
        let deep = format!("const a = {}", "`${".repeat(MAX_DEPTH + 1));
        refused(&deep, (1, 10 + 3 * MAX_DEPTH as u32 + 3), "nested");
        assert_eq!(check(&"`${a}`;".repeat(3 * MAX_DEPTH)), Ok(()));
    }

    #[test]
    fn chains_count_within_their_statement() {
        let times = MAX_CHAIN as usize + 2;
        for (head, link) in [
            ("const a = p", ".then((x) => x)"),
            ("const a = 1", " + 1"),
            ("const a = 0", " ? 1 : 0"),
            ("if (a) {}", " else if (a) {}"),
            ("const a = b", " as any"),
            ("const a = ", "!"),
            ("const a = ", "typeof "),
            ("", "if (a) "),
            ("const a = ", "x => "),
        ] {
            assert!(check(&format!("{head}{}", link.repeat(times))).is_err(), "{link}");
            assert_eq!(check(&format!("{head}{}", link.repeat(MAX_CHAIN as usize / 4))), Ok(()), "{link}");
        }
        let statements = ["a.b(c)\n", "const x = a + 1;\n", "{ a: 1, b: [2] },\n", "if (a) { b() }\n", "return a\n"];
        for statement in statements {
            assert_eq!(check(&statement.repeat(times)), Ok(()), "{statement}");
        }
    }
}
