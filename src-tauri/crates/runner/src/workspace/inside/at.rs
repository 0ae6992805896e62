//! Instants inside a block as people write them, and where to go from one.

use serde::Deserialize;

/// An instant inside a block, as people write it: `PATH[#ATTEMPT][+TICK]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsideAt {
    /// The block.
    pub path: String,
    /// Which attempt, from 0; the newest without it.
    pub attempt: Option<u32>,
    /// Which statement, from 1; without it the first, or the one that threw.
    pub tick: Option<u64>,
}

impl std::str::FromStr for InsideAt {
    type Err = String;

    fn from_str(text: &str) -> Result<InsideAt, String> {
        let number = |rest: &str| -> Option<u64> {
            let is_number = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
            is_number.then(|| rest.parse().ok()).flatten()
        };
        let cut = |text: &str, sign: char| -> Option<(String, u64)> {
            let (before, rest) = text.rsplit_once(sign)?;
            Some((before.to_owned(), number(rest)?))
        };
        let (rest, tick) = cut(text, '+').map_or((text.to_owned(), None), |(rest, tick)| (rest, Some(tick)));
        let (path, attempt) = cut(&rest, '#').map_or((rest.clone(), None), |(path, attempt)| (path, Some(attempt)));
        if path.is_empty() {
            return Err(format!("\"{text}\" names no block; write PATH, PATH#ATTEMPT or PATH#ATTEMPT+TICK"));
        }
        let attempt = attempt.map(u32::try_from).transpose().map_err(|_| format!("\"{text}\" has no such attempt"))?;
        Ok(InsideAt { path, attempt, tick })
    }
}

/// Where to go from an instant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, specta::Type)]
#[serde(rename_all = "camelCase")]
pub enum Move {
    /// Nowhere.
    #[default]
    Stay,
    /// To the next statement, also of a function that is called.
    Into,
    /// To the next statement of this function, or of one that called it.
    Over,
    /// To the next statement of a function that called this one.
    Out,
    /// To the statement before.
    Back,
    /// To the statement before in this function, or in one that called it.
    BackOver,
    /// To the statement before in a function that called this one.
    BackOut,
    /// To the next time that a line of this file runs.
    To(u32),
    /// To the last time that a line of this file ran.
    BackTo(u32),
    /// To the next statement at which an expression holds.
    Until(String),
}
