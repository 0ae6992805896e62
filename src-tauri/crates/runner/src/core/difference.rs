//! What differs between two texts, line by line, for a person who is about to write the second one.

/// How many lines around an edit are shown.
const AROUND: usize = 2;

/// The lines that differ, with those around them, as one part; empty where nothing differs.
pub(crate) fn difference(before: &str, after: &str) -> String {
    if before == after {
        return String::new();
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let first = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let rest = old.len().min(new.len()) - first;
    let last = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let mut text = format!("@@ line {} @@\n", first + 1);
    let mut put = |sign: char, lines: &[&str]| lines.iter().for_each(|line| text.push_str(&format!("{sign} {line}\n")));
    put(' ', &old[first.saturating_sub(AROUND)..first]);
    put('-', &old[first..old.len() - last]);
    put('+', &new[first..new.len() - last]);
    put(' ', &old[old.len() - last..(old.len() - last + AROUND).min(old.len())]);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_the_lines_that_change() {
        assert_eq!(difference("a\nb\nc\nd\ne", "a\nb\nC\nd\ne"), "@@ line 3 @@\n  a\n  b\n- c\n+ C\n  d\n  e\n");
        assert_eq!(difference("a", "a\nb"), "@@ line 2 @@\n  a\n+ b\n");
        assert_eq!(difference("a\na", "a\na\na"), "@@ line 3 @@\n  a\n  a\n+ a\n");
    }
}
