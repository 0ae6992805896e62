//! Passes answers from other processes to a running request.

use std::rc::Rc;
use std::time::Duration;

use engine::request::Run;

use crate::run::owner::Answers;

/// The pause between two checks for answers.
const LOOK: Duration = Duration::from_millis(50);

/// Takes answers to the request's questions, as long as it is polled.
pub(crate) async fn take_answers(run: Rc<Run>, answers: Answers) {
    loop {
        for question in run.waiting_questions() {
            answers.take(&question).into_iter().for_each(|answer| run.answer(answer));
        }
        tokio::time::sleep(LOOK).await;
    }
}
