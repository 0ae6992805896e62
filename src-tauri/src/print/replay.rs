//! What a replay came to, as text for people.

use runner::Replay;

use super::{counted, short, unset_variables};

pub(crate) fn replay(replay: &Replay) -> String {
    let blocks = counted(replay.compared.into(), "block");
    match &replay.divergence {
        None if replay.why.is_some() => format!("not comparable: {}\n", replay.why.as_deref().unwrap_or_default()),
        None if replay.compared == 0 => "identical up to its end: no block had ended\n".to_owned(),
        None => format!("identical: {blocks} compared\n"),
        Some(first) => format!(
            "diverged at event {} in {}\n  then  {}\n  now   {}\n{blocks} compared\n{}",
            first.seq,
            first.path,
            short(&first.recorded.0),
            short(&first.found.0),
            unset_variables(&replay.unset_variables)
        ),
    }
}
