//! What going on with a request will do, as text.

use runner::PlanRow;

use super::counted;

/// How many blocks are named.
const MAX_NAMED: usize = 12;

pub(crate) fn plan(plan: &PlanRow) -> String {
    let mut text = format!(
        "taken from the log: {}\nruns again: {}\nmodels asked: {}\n",
        counted(plan.from_log.into(), "block"),
        counted(plan.runs_again.into(), "block"),
        counted(plan.models_asked.into(), "call"),
    );
    for block in plan.again.iter().take(MAX_NAMED) {
        let asks = match block.models_asked {
            0 => String::new(),
            asks => format!(" ({})", counted(asks.into(), "model call")),
        };
        text.push_str(&format!("  {}{asks}\n", block.path));
    }
    if plan.again.len() > MAX_NAMED {
        text.push_str(&format!("  and {} more\n", plan.again.len() - MAX_NAMED));
    }
    for open in &plan.may_have_happened {
        let (kind, ordinal, path) = (open.kind.as_str(), open.ordinal, &open.path);
        text.push_str(&format!("may have happened: {kind} #{ordinal} of {path}, it will be made again\n"));
    }
    if plan.error.is_some() {
        text.push_str("it cannot go on like this\n");
    }
    text
}
