//! What a source takes from another module, read from its text.
//!
//! A bundler resolves an import before it has parsed who imports. Messages, and the few rules that depend on what is
//! taken, read the import itself. Must not decide what an import means.

/// What `import x from` takes of a module.
pub(crate) const DEFAULT: &str = "default";
/// What `import * as x from` takes of it.
pub(crate) const WHOLE: &str = "*";

/// Returns the names that a source takes from a specifier, as they are called there, each once; types are left out.
/// Empty where it only runs the module, or takes it with `require` or `import()`.
pub(crate) fn taken<'a>(source: &'a str, specifier: &str) -> Vec<&'a str> {
    let mut names = Vec::new();
    for quote in ['"', '\''] {
        for (at, _) in source.match_indices(&format!("{quote}{specifier}{quote}")) {
            for name in clause(&source[..at]).map(names_of).unwrap_or_default() {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
    }
    names
}

/// What stands between `import` or `export` and the `from` that ends a text.
fn clause(before: &str) -> Option<&str> {
    let clause = before.trim_end().strip_suffix("from")?;
    let begin = ["import", "export"].into_iter().filter_map(|word| {
        let is_whole =
            |at: &usize| !clause[..*at].ends_with(is_of_name) && !clause[at + word.len()..].starts_with(is_of_name);
        clause.rmatch_indices(word).map(|(at, _)| at).find(is_whole).map(|at| at + word.len())
    });
    begin.max().map(|begin| &clause[begin..])
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn names_of(clause: &str) -> Vec<&str> {
    let clause = clause.trim();
    if clause.strip_prefix("type").is_some_and(|rest| rest.starts_with([' ', '{', '\n'])) {
        return Vec::new();
    }
    let (outer, inner) = clause.split_once('{').unwrap_or((clause, ""));
    let outer = outer.split(',').map(str::trim).filter(|name| !name.is_empty());
    let inner = inner.split(['}', ',']).map(str::trim).filter(|name| !name.is_empty() && !name.starts_with("type "));
    let whole = outer.map(|name| if name.starts_with('*') { WHOLE } else { DEFAULT });
    whole.chain(inner.map(|name| name.split_whitespace().next().unwrap_or_default())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_from_the_import() {
        for (source, expected) in [
            ("import { a, b as c } from 'x';", vec!["a", "b"]),
            ("import d, {\n  a,\n  type T,\n} from \"x\";\nimport { a } from 'x';", vec![DEFAULT, "a"]),
            ("import * as all from 'x';", vec![WHOLE]),
            ("export { importer } from 'x';", vec!["importer"]),
            ("import type { T } from 'x';", vec![]),
            ("import 'x';\nconst y = await import('x');", vec![]),
            ("import { a } from 'x/y';", vec![]),
        ] {
            assert_eq!(taken(source, "x"), expected, "{source}");
        }
    }
}
