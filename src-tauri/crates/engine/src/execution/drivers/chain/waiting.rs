//! `waitForCondition`: a chain waits for a condition on the request's items (SEMANTICS §3.6).
//!
//! The condition is evaluated once, then whenever an item was added, updated or finished. The timeout interrupts the
//! waits between evaluations, but not an evaluation.

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use serde_json::{Value, json};

use crate::execution::core::recorder::ItemChange;
use crate::execution::drivers::chain::sequencer::Chain;
use crate::model::callable::{Arg, Fun};
use crate::model::error::FlowError;
use crate::model::step_value::StepValue;

/// Waits until the condition on the request's items holds or the time is up. Returns `{ timedOut }`.
pub(crate) async fn wait_for(
    chain: &Chain<'_>,
    condition: &Fun,
    wake_on: Option<&Fun>,
    timeout_ms: u64,
) -> Result<StepValue, FlowError> {
    let cx = chain.cx;
    // Subscribed before the first evaluation, so that no change is missed in between.
    let mut news = cx.run.recorder.listen().map_err(|error| FlowError::storage(error.to_string()))?;
    let mut timer = cx.run.effects.sleep(timeout_ms);
    let mut due = true;
    let timed_out = loop {
        if due && holds(chain, condition).await? {
            break false;
        }
        let Either::Right((Some(first), _)) = select(&mut timer, news.next()).await else { break true };
        // One evaluation covers all changes so far.
        let mut happened = vec![first];
        while let Ok(more) = news.try_recv() {
            happened.push(more);
        }
        due = wakes(chain, wake_on, &happened).await;
    };
    Ok(StepValue::new(json!({ "timedOut": timed_out }).into()))
}

async fn holds(chain: &Chain<'_>, condition: &Fun) -> Result<bool, FlowError> {
    let items = Value::Array(chain.cx.request_items()?);
    Ok(chain.call_with("condition", condition, vec![Arg::Data(items.into())]).await?.into_data()?.is_truthy())
}

/// Returns whether any of the changes passes `wakeOn`. A change also passes if the filter throws or if a newer version
/// of the item has replaced it. If the items cannot be read, the condition will report that.
async fn wakes(chain: &Chain<'_>, filter: Option<&Fun>, happened: &[ItemChange]) -> bool {
    let Some(filter) = filter else { return true };
    let Ok(items) = chain.cx.request_items() else { return true };
    for news in happened {
        let Some(item) = items.iter().find(|item| item["seq"] == news.seq) else { return true };
        for kind in news.kinds {
            let args = vec![Arg::Data(item.clone().into()), Arg::Data(Value::from(*kind).into())];
            let admitted = chain.call_with("wakeOn", filter, args).await.and_then(|returned| returned.into_data());
            if admitted.map_or(true, |admitted| admitted.is_truthy()) {
                return true;
            }
        }
    }
    false
}
