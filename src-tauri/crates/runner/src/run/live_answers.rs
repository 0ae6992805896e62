//! Brings a request the answers that others leave for it while it runs.

use std::rc::Rc;
use std::time::Duration;

use engine::request::Run;

use crate::run::owner::Answers;

/// How often answers are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// Takes answers to what the request asks, for as long as it is polled.
pub(crate) async fn take_answers(run: Rc<Run>, answers: Answers) {
    loop {
        for question in run.waiting_questions() {
            answers.take(&question).into_iter().for_each(|answer| run.answer(answer));
        }
        tokio::time::sleep(LOOK).await;
    }
}
