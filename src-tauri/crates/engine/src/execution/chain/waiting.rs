//! `waitForCondition`: a chain that waits for what its request shows (SEMANTICS §3.6).
//!
//! The condition is asked once, then whenever an item was added, updated or done. It must not be cut
//! off while it is asked: only the pauses between race against the clock.

use futures_util::StreamExt;
use futures_util::future::{Either, select};
use serde_json::{Value, json};

use crate::execution::chain::sequencer::Chain;
use crate::execution::recorder::News;
use crate::execution::step_value::StepValue;
use crate::model::callable::{Arg, Fun};
use crate::model::error::FlowError;

/// Waits until the condition on the request's items holds or the time is up; tells which.
pub(crate) async fn wait_for(
    chain: &Chain<'_>,
    condition: &Fun,
    wake_on: Option<&Fun>,
    timeout_ms: u64,
) -> Result<StepValue, FlowError> {
    let cx = chain.cx;
    // Heard from before the first look, so that nothing falls between the two.
    let mut news = cx.run.recorder.listen();
    let mut timer = cx.run.effects.sleep(timeout_ms);
    let mut due = true;
    let timed_out = loop {
        if due && holds(chain, condition).await? {
            break false;
        }
        let Either::Right((Some(first), _)) = select(&mut timer, news.next()).await else { break true };
        // One look answers for all that has happened meanwhile.
        let mut happened = vec![first];
        while let Ok(more) = news.try_recv() {
            happened.push(more);
        }
        due = wakes(chain, wake_on, &happened).await;
    };
    Ok(StepValue::new(json!({ "timedOut": timed_out }).into()))
}

async fn holds(chain: &Chain<'_>, condition: &Fun) -> Result<bool, FlowError> {
    let items = Value::Array(chain.cx.request_items());
    Ok(chain.call_with("condition", condition, vec![Arg::Data(items.into())]).await?.into_data()?.is_truthy())
}

/// Whether any of the news is a reason to ask again. A filter that throws, or an item that has
/// already given way to a newer one, is no reason to stay asleep.
async fn wakes(chain: &Chain<'_>, filter: Option<&Fun>, happened: &[News]) -> bool {
    let Some(filter) = filter else { return true };
    let items = chain.cx.request_items();
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
