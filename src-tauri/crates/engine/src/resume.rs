//! Going on with a request: what is taken from the log, and what the log says of that.

use std::rc::Rc;
use std::sync::Arc;

use crate::block::Flowing;
use crate::error::FlowError;
use crate::event::{EventKind, Outcome, Recorded, RequestStatus, Seq};
use crate::flow::Block;
use crate::frame::Frame;
use crate::log::AppendError;
use crate::memo::Shared;
use crate::request::Run;

impl Run {
    /// Records that the request goes on: it is taken over from here. Answers the event that holds
    /// the input. One that queues waits for its turn again.
    pub async fn take_up(self: &Rc<Self>) -> Result<Seq, AppendError> {
        let resumed = EventKind::RequestResumed {
            owner: self.asked.owner.clone(),
            code_hash: self.flow.code_hash.clone(),
            mock: self.asked.mock.clone(),
        };
        if self.queues() {
            self.recorder.record(None, 0, resumed);
            self.recorder.commit(None, 0, EventKind::RequestStatus { status: RequestStatus::Queued }).await?;
        } else {
            self.recorder.commit(None, 0, resumed).await?;
        }
        // The first event of every log holds the input.
        Ok(1)
    }

    /// Takes a finished block from the memo: its output flows on, its changes of shared state are
    /// in force again, and the log says that it was not run.
    pub(crate) async fn recall(
        self: &Rc<Self>,
        block: &Rc<Block>,
        path: &Arc<str>,
        parent: Option<&Rc<Frame>>,
        input: &Flowing,
    ) -> Result<Option<Flowing>, FlowError> {
        let Some(done) = self.memo.find(path, block)? else { return Ok(None) };
        let frame = self.frame(block.clone(), path.clone(), parent.cloned(), input.data.clone(), 0);
        self.record(
            &frame,
            EventKind::BlockStarted {
                name: block.name.clone(),
                block: block.kind(),
                parent: parent.map(|frame| frame.instance.clone()),
                input: input.recorded(),
                versions: Vec::new(),
            },
        );
        if done.input != input.data {
            let text = format!("drift: {path} got another input than when it ran; its recorded output is used");
            self.record(&frame, EventKind::Noted { text });
        }
        for (shared, operation) in &done.changes {
            let container = match shared {
                Shared::Request => Some(self.state.clone()),
                Shared::Of(path) => {
                    frame.chain().find(|around| *around.path == **path).and_then(|around| around.own.clone())
                }
            };
            let Some(container) = container else { continue };
            let mut next = (*container.read().1).clone();
            if operation.apply(&mut next) {
                let version = container.replace(next, self.next_stamp());
                let (scope, operation) = (container.key.clone(), operation.clone());
                self.record(&frame, EventKind::StateChanged { scope, operation, value: None, version });
            }
        }
        let event = EventKind::BlockFinished {
            outcome: Outcome::Completed,
            output: Some(Recorded::Of(done.seq)),
            error: None,
            transient: true,
            memoized: true,
            commits: Vec::new(),
        };
        self.record(&frame, event);
        frame.finish();
        let flowing = Flowing { data: done.output.clone(), origin: Some(done.seq), thrown: None };
        frame.end(&Ok(flowing.clone()));
        Ok(Some(flowing))
    }
}
