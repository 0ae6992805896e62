//! The world of a made-up request: time that flies, and models that answer at once.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::Poll;

use engine::effects::{Effects, FetchCall, FetchReply, Listener, ModelCall, ModelDelta, ModelReply, ToolCall};
use engine::error::FlowError;
use fastrand::Rng;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, pending, ready};
use serde_json::json;

use super::plan::sentence;
use crate::effects::outside::now_ms;

/// About how long an event takes, on average, in milliseconds.
pub(super) const USUAL_MS: i64 = 12;
/// Longer pauses are time-outs, which nothing here reaches.
const LONG_MS: u64 = 5_000;

/// See the module.
pub(super) struct Pace {
    /// None where it is as late as it is.
    now: Option<Cell<i64>>,
    /// In how many pieces a model answers, each of a kilobyte and an event of its own; 0 for a sentence at once.
    pieces: u64,
    chance: RefCell<Rng>,
}

impl Pace {
    /// A world where it is `began`, milliseconds since the epoch, or one with today's clock.
    pub(super) fn new(began: Option<i64>, pieces: u64, chance: Rng) -> Self {
        Pace { now: began.map(Cell::new), pieces, chance: RefCell::new(chance) }
    }

    fn pass(&self, ms: i64) -> i64 {
        let Some(now) = &self.now else { return now_ms() };
        now.set(now.get() + ms);
        now.get()
    }
}

impl Effects for Pace {
    fn now_ms(&self) -> i64 {
        // Most things take no time, and some take long.
        let mut chance = self.chance.borrow_mut();
        let ms = match chance.u8(..) {
            0..200 => 0,
            200..250 => chance.i64(1..20),
            _ => chance.i64(20..900),
        };
        self.pass(ms)
    }

    fn random(&self) -> f64 {
        self.chance.borrow_mut().f64()
    }

    fn uuid(&self) -> String {
        uuid::Builder::from_random_bytes(self.chance.borrow_mut().u128(..).to_be_bytes()).into_uuid().to_string()
    }

    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        if ms >= LONG_MS {
            return pending().boxed_local();
        }
        self.pass(ms as i64);
        ready(()).boxed_local()
    }

    fn model(
        &self,
        call: ModelCall,
        listener: Option<Listener>,
    ) -> LocalBoxFuture<'static, Result<ModelReply, FlowError>> {
        if self.pieces > 0 {
            return stream(self.chance.borrow_mut().fork(), self.pieces, call.model, listener).boxed_local();
        }
        let mut chance = self.chance.borrow_mut();
        let took = chance.i64(200..2_500);
        let text = sentence(&mut chance);
        let tools = if call.step < 2 { chance.usize(..=call.tools.len()) } else { 0 };
        let tool_calls: Vec<ToolCall> = call
            .tools
            .iter()
            .take(tools)
            .enumerate()
            .map(|(n, tool)| {
                let args = json!({ "query": sentence(&mut chance) });
                ToolCall::new(format!("call-{}-{n}", call.step), tool.name.clone(), args)
            })
            .collect();
        drop(chance);
        if let Some(listener) = listener {
            text.split_inclusive(' ').for_each(|word| listener(ModelDelta::Text(word.to_owned())));
        }
        self.pass(took);
        let (prompt, completion) = (call.messages.len() * 40, text.len() / 4);
        let reply = ModelReply {
            finish_reason: Some(if tool_calls.is_empty() { "stop" } else { "tool-calls" }.to_owned()),
            text: Some(text),
            tool_calls,
            usage: Some(json!({ "promptTokens": prompt, "completionTokens": completion })),
            model: Some(call.model),
            ..ModelReply::default()
        };
        ready(Ok(reply)).boxed_local()
    }

    fn fetch(&self, call: FetchCall) -> LocalBoxFuture<'static, Result<FetchReply, FlowError>> {
        ready(Err(FlowError::plain(format!("a made-up request fetches nothing, not {}", call.url)))).boxed_local()
    }
}

/// About how long a piece of a stream is, in bytes.
const PIECE: usize = 1_024;

/// A long answer. It waits after every piece, so that what drives the request can write it down.
async fn stream(
    mut chance: Rng,
    pieces: u64,
    model: String,
    listener: Option<Listener>,
) -> Result<ModelReply, FlowError> {
    let mut text = String::new();
    for _ in 0..pieces {
        let mut piece = String::new();
        while piece.len() < PIECE {
            piece.push_str(&sentence(&mut chance));
            piece.push_str(". ");
        }
        text.push_str(&piece);
        if let Some(listener) = &listener {
            listener(ModelDelta::Text(piece));
        }
        once_pending().await;
    }
    let usage = json!({ "promptTokens": 40, "completionTokens": text.len() / 4 });
    let (text, usage, finish_reason) = (Some(text), Some(usage), Some("stop".to_owned()));
    Ok(ModelReply { finish_reason, text, usage, model: Some(model), ..ModelReply::default() })
}

/// Ready when it is asked a second time.
async fn once_pending() {
    let mut was_asked = false;
    poll_fn(|cx| {
        if std::mem::replace(&mut was_asked, true) {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
