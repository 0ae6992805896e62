//! What a replay came to, as text for people.

use runner::Replay;

use super::{short, unset_variables};

pub(crate) fn replay(replay: &Replay) -> String {
    let count = replay.compared;
    match &replay.divergence {
        None => format!("identical: {count} blocks did what they did then\n"),
        Some(first) => format!(
            "diverged at event {} in {}\n  then  {}\n  now   {}\n{count} blocks compared\n{}",
            first.seq,
            first.path,
            short(&first.recorded.0),
            short(&first.found.0),
            unset_variables(&replay.unset_variables)
        ),
    }
}
