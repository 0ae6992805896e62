//! Translates the statements and the schema of this crate from SQLite to PostgreSQL.

/// Names of this crate that are reserved words in PostgreSQL.
const RESERVED: [&str; 1] = ["user"];

/// A statement for PostgreSQL: `?1` becomes `$1`, a `?` without a number the next one, and reserved names are quoted.
/// Quoted text and comments stay unchanged.
pub(super) fn statement(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len() + 16);
    let mut unnumbered = 0;
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '\'' | '"' => {
                let end = rest[1..].find(first).map_or(rest.len(), |end| end + 2);
                out.push_str(&rest[..end]);
                end
            }
            '-' if rest.starts_with("--") => {
                let end = rest.find('\n').unwrap_or(rest.len());
                out.push_str(&rest[..end]);
                end
            }
            '?' => {
                let digits = rest[1..].bytes().take_while(u8::is_ascii_digit).count();
                out.push('$');
                if digits == 0 {
                    unnumbered += 1;
                    out.push_str(&unnumbered.to_string());
                } else {
                    out.push_str(&rest[1..=digits]);
                }
                digits + 1
            }
            letter if letter.is_ascii_alphabetic() || letter == '_' => {
                let end = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
                let word = &rest[..end];
                if RESERVED.contains(&word) {
                    out.push('"');
                    out.push_str(word);
                    out.push('"');
                } else {
                    out.push_str(word);
                }
                end
            }
            other => {
                out.push(other);
                other.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    out
}

/// Translates the tables from SQLite to PostgreSQL. Texts compare by bytes, as in SQLite.
pub(crate) fn schema(sql: &str) -> String {
    let lines = sql.lines().filter(|line| !line.trim_start().starts_with("--"));
    let sql = lines.collect::<Vec<_>>().join("\n");
    let sql = statement(&sql)
        .replace("INTEGER PRIMARY KEY", "BIGINT PRIMARY KEY NUMBERED")
        .replace(" INTEGER", " BIGINT")
        .replace(" BLOB", " BYTEA")
        // In the same order as the queries in `read/run_order.rs`.
        .replace("(lower(coalesce(title, words)),", "(lower(coalesce(title, words)) NULLS FIRST,")
        .replace("(max(finished_at - started_at, 0),", "(max(finished_at - started_at, 0) NULLS FIRST,")
        .replace(" STRICT, WITHOUT ROWID;", ";")
        .replace(" STRICT;", ";")
        .replace("lower(hex(randomblob(8)))", "substr(md5(random()::text || clock_timestamp()::text), 1, 16)");
    let mut out = String::with_capacity(sql.len() + 1024);
    let mut table = "";
    for line in sql.lines() {
        table = line.strip_prefix("CREATE TABLE ").and_then(|rest| rest.split(' ').next()).unwrap_or(table);
        let is_column = line.starts_with("    ")
            && line.split_whitespace().nth(1).is_some_and(|word| word.trim_end_matches(',') == "TEXT");
        let is_added = line.contains("ADD COLUMN") && line.contains(" TEXT");
        let line = &line.replace("NUMBERED", &format!("DEFAULT next_number('{table}')"));
        out.push_str(&if is_column || is_added {
            line.replacen("TEXT", "TEXT COLLATE \"C\"", 1)
        } else {
            line.to_owned()
        });
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_have_numbers_and_quoted_names() {
        let sql = "SELECT user, 'user ?1' FROM request WHERE r.user = ?2 AND user_name = ? AND n = ?12";
        let expected = "SELECT \"user\", 'user ?1' FROM request WHERE r.\"user\" = $2 AND user_name = $1 AND n = $12";
        assert_eq!(statement(sql), expected);
        assert_eq!(statement("-- what's this?\nSELECT 'x?', ?"), "-- what's this?\nSELECT 'x?', $1");
    }
}
