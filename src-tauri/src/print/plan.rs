//! What going on with a request will do, as text.

use runner::{AgainRow, MayHaveHappened, PlanRow};

use super::{counted, cut};

/// How many of each list are named.
const MAX_NAMED: usize = 12;

pub(crate) fn plan(plan: &PlanRow) -> String {
    let named =
        |goes_on: bool| plan.again.iter().filter(move |block| block.goes_on == goes_on).map(|block| block.path.clone());
    let asks = |block: &AgainRow| match block.models_asked {
        1 => block.path.clone(),
        asks => format!("{} ({})", block.path, counted(asks.into(), "call")),
    };
    let asked = plan.again.iter().filter(|block| block.models_asked > 0).map(asks);
    let open =
        |MayHaveHappened { path, kind, ordinal }: &MayHaveHappened| format!("{} #{ordinal} of {path}", kind.as_str());
    let inside = plan.inside_from_log.map(|inside| format!(", with the {inside} inside {}", them(plan.from_log)));
    let taken = format!("{}{}", counted(plan.from_log.into(), "block"), inside.unwrap_or_default());
    let mut text = format!("taken from the log: {taken}\n");
    if let Some(goes_on) = plan.goes_on {
        text.push_str(&list(&format!("goes on: {}", counted(goes_on.into(), "block")), named(true)));
    }
    text.push_str(&list(&format!("runs again: {}", counted(plan.runs_again.into(), "block")), named(false)));
    let at_least = if plan.may_ask_more { "at least " } else { "" };
    let models = format!("models asked: {at_least}{} by what runs again", counted(plan.models_asked.into(), "call"));
    text.push_str(&list(&models, asked));
    if !plan.reused.is_empty() {
        text.push_str(&list("from the log:", plan.reused.iter().cloned()));
    }
    if !plan.may_have_happened.is_empty() {
        let head = "may have happened, and will be made again:";
        text.push_str(&list(head, plan.may_have_happened.iter().map(open)));
    }
    if !plan.orphaned.is_empty() {
        let head = format!("gone from the flow, not used: {}", counted(plan.orphaned.len() as u64, "block"));
        text.push_str(&list(&head, plan.orphaned.iter().cloned()));
    }
    if !plan.new.is_empty() {
        text.push_str(&list(&format!("new: {}", counted(plan.new.len() as u64, "block")), plan.new.iter().cloned()));
    }
    if !plan.drift.is_empty() {
        let drift = |text: &String| cut(text.strip_prefix("drift: ").unwrap_or(text));
        text.push_str(&list("drift:", plan.drift.iter().map(drift)));
    }
    if !plan.undeclared.is_empty() {
        text.push_str(&list("set, and declared by no schema of the flow:", plan.undeclared.iter().cloned()));
    }
    text.push_str(match plan.error {
        Some(_) => "it cannot go on like this\n",
        None => "blocks that have never run are not counted, nor the models they ask\n",
    });
    text
}

fn them(blocks: u32) -> &'static str {
    if blocks == 1 { "it" } else { "them" }
}

/// A heading with what stands under it.
fn list(head: &str, of: impl Iterator<Item = String>) -> String {
    let mut text = format!("{head}\n");
    let mut more = 0;
    for (at, line) in of.enumerate() {
        if at < MAX_NAMED {
            text.push_str(&format!("  {line}\n"));
        } else {
            more += 1;
        }
    }
    if more > 0 {
        text.push_str(&format!("  and {more} more\n"));
    }
    text
}
