//! The one writing thread: gathers appends, commits them together, then answers.
//!
//! Everything that can wake it is a [`Message`]. Evidence waits for the next step boundary, for
//! 16 ms, or until there is much of it; a lone step boundary is committed at once.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use engine::event::Event;
use engine::log::{AppendError, Durability};
use futures_channel::oneshot;
use rusqlite::{Connection, ErrorCode};

use crate::append::{Requests, append, publish};
use crate::error::Error;
use crate::scopes::Records;
use crate::{Committed, Listener, lock};

/// How long evidence may wait.
const PATIENCE: Duration = Duration::from_millis(16);
/// How many events of evidence may wait.
const MUCH: usize = 2_000;

enum Message {
    Append(Unit),
    LimitPages(u32),
    Close,
}

struct Unit {
    request: Arc<str>,
    events: Vec<Event>,
    durability: Durability,
    answer: oneshot::Sender<Result<(), AppendError>>,
}

/// The handle of the writing thread; dropping it writes what waits and ends the thread.
pub(crate) struct Writer {
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(crate) fn start(connection: Connection, records: Arc<Records>, listeners: Arc<Mutex<Vec<Listener>>>) -> Writer {
        let (messages, inbox) = channel();
        let state = State { connection, requests: Requests::default(), records, listeners };
        let thread = std::thread::Builder::new().name("store writer".to_owned()).stack_size(32 << 20).spawn(move || work(state, &inbox));
        Writer { messages, thread: thread.ok() }
    }

    pub(crate) fn append(
        &self,
        request: Arc<str>,
        events: Vec<Event>,
        durability: Durability,
    ) -> oneshot::Receiver<Result<(), AppendError>> {
        let (answer, receiver) = oneshot::channel();
        // A thread that is gone drops the answer, and the receiver hears that.
        let _ = self.messages.send(Message::Append(Unit { request, events, durability, answer }));
        receiver
    }
}

impl Writer {
    pub(crate) fn limit_pages(&self, pages: u32) {
        // Without the thread there is nothing to limit.
        let _ = self.messages.send(Message::LimitPages(pages));
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.messages.send(Message::Close);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread was reported when it happened.
            let _ = thread.join();
        }
    }
}

struct State {
    connection: Connection,
    requests: Requests,
    records: Arc<Records>,
    listeners: Arc<Mutex<Vec<Listener>>>,
}

fn work(mut state: State, inbox: &Receiver<Message>) {
    let mut waiting: Vec<Unit> = Vec::new();
    let mut since: Option<Instant> = None;
    loop {
        let message = match since {
            None => inbox.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(since) => inbox.recv_timeout(PATIENCE.saturating_sub(since.elapsed())),
        };
        let mut close = false;
        match message {
            Ok(Message::Append(unit)) => waiting.push(unit),
            Ok(Message::LimitPages(pages)) => state.limit_pages(pages),
            Ok(Message::Close) | Err(RecvTimeoutError::Disconnected) => close = true,
            Err(RecvTimeoutError::Timeout) => {}
        }
        // Whatever else has arrived joins this commit.
        while let Ok(message) = inbox.try_recv() {
            match message {
                Message::Append(unit) => waiting.push(unit),
                Message::LimitPages(pages) => state.limit_pages(pages),
                Message::Close => close = true,
            }
        }
        let somebody_waits = waiting.iter().any(|unit| unit.durability == Durability::Committed);
        let much = waiting.iter().map(|unit| unit.events.len()).sum::<usize>() > MUCH;
        let long = since.is_some_and(|since| since.elapsed() >= PATIENCE);
        if somebody_waits || much || long || close {
            state.commit(std::mem::take(&mut waiting));
        }
        since = if waiting.is_empty() { None } else { since.or_else(|| Some(Instant::now())) };
        if close {
            return;
        }
    }
}

impl State {
    fn limit_pages(&self, pages: u32) {
        // The pragma answers the limit it took; a file already larger keeps its size.
        let _ = self.connection.pragma_update(None, "max_page_count", pages);
    }

    fn commit(&mut self, units: Vec<Unit>) {
        if units.is_empty() {
            return;
        }
        match self.write(units) {
            Ok(answers) => {
                for (answer, result) in answers {
                    // Evidence is often not waited for.
                    let _ = answer.send(result);
                }
            }
            Err((units, error)) => {
                // Nothing of the batch is in the file; what was remembered of it is not true.
                self.requests.clear();
                self.records.forget();
                let message = explain(&error);
                for unit in units {
                    let _ = unit.send(Err(AppendError::Storage(message.clone())));
                }
            }
        }
    }

    #[expect(clippy::type_complexity, reason = "answers by their channel, once")]
    fn write(
        &mut self,
        mut units: Vec<Unit>,
    ) -> Result<
        Vec<(oneshot::Sender<Result<(), AppendError>>, Result<(), AppendError>)>,
        (Vec<oneshot::Sender<Result<(), AppendError>>>, Error),
    > {
        let mut changed = Vec::new();
        let mut results = Vec::with_capacity(units.len());
        let outcome = (|| -> Result<(), Error> {
            self.connection.execute_batch("BEGIN IMMEDIATE")?;
            for unit in &mut units {
                results.push(append(&self.connection, &mut self.requests, &unit.request, &mut unit.events, &mut changed)?);
            }
            self.connection.execute_batch("COMMIT")?;
            Ok(())
        })();
        if let Err(error) = outcome {
            if !self.connection.is_autocommit() {
                // A rollback that fails leaves nothing to do: the next BEGIN will say so.
                let _ = self.connection.execute_batch("ROLLBACK");
            }
            return Err((units.into_iter().map(|unit| unit.answer).collect(), error));
        }
        publish(&self.records, changed);
        let mut answers = Vec::with_capacity(units.len());
        let mut committed = Vec::new();
        for (unit, result) in units.into_iter().zip(results) {
            if !unit.events.is_empty() && !matches!(result, Err(AppendError::Exists | AppendError::OutOfOrder { .. } | AppendError::Storage(_))) {
                committed.push(Committed { request: unit.request, events: unit.events.into() });
            }
            answers.push((unit.answer, result));
        }
        let listeners = lock(&self.listeners);
        for batch in &committed {
            for listener in listeners.iter() {
                listener(batch);
            }
        }
        Ok(answers)
    }
}

fn explain(error: &Error) -> String {
    if let Error::Sqlite(error) = error {
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => return "the disk is full; nothing of this step was written".to_owned(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                return "another process keeps the database locked; nothing of this step was written".to_owned();
            }
            Some(ErrorCode::ReadOnly) => return "the database is read-only; nothing of this step was written".to_owned(),
            _ => {}
        }
    }
    error.to_string()
}
