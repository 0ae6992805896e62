//! The options of a step: the signal that its block runs under, and who is told how that ended (SEMANTICS §3.7).

use serde_json::Value;

use crate::execution::drivers::chain::sequencer::Chain;
use crate::model::callable::Arg;
use crate::model::error::FlowError;
use crate::model::flow::Child;
use crate::model::step_value::StepValue;

impl Chain<'_> {
    /// Runs the block of a step that has options. A block whose end is in the log is not dispatched, so nothing of
    /// them is called; nor in a plan, which only foresees what would run.
    pub(crate) async fn run_with_options(
        &self,
        path: String,
        child: &Child,
        value: StepValue,
    ) -> Result<StepValue, FlowError> {
        let has_ended = self.cx.run.replay_cache.end_of(&path, &child.block).is_some();
        if self.cx.run.only_plans || has_ended {
            return self.connect_and_dispatch(path, child, value).await;
        }
        if let Some(signal) = &child.options.signal {
            let path = Value::from(path.as_str());
            self.call_with(&self.unused_role("signal"), signal, vec![Arg::Data(path.into())]).await?;
        }
        let result = self.connect_and_dispatch(path, child, value).await;
        let Some(settled) = &child.options.settled else { return result };
        let outcome = match &result {
            Ok(_) => "returned",
            Err(error) if error.is_suspension() => "suspended",
            // The request ends: none of its functions are called any more.
            Err(error) if error.is_uncatchable() => return result,
            Err(_) => "threw",
        };
        let told = vec![Arg::Data(Value::from(outcome).into())];
        match self.call_with(&self.unused_role("settled"), settled, told).await {
            // What it throws is swallowed: it cannot change how the step ended.
            Err(error) if error.is_uncatchable() => Err(error),
            _ => result,
        }
    }
}
