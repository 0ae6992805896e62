//! A small host: one flow file in a temporary workspace, the system clock, the log in memory.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use engine::abort::Abort;
use engine::data::Data;
use engine::effects::{Effects, FetchCall, FetchReply, Listener, ModelCall, ModelReply};
use engine::error::FlowError;
use engine::event::Event;
use engine::memory_log::MemoryLog;
use engine::request::{Ended, Run, StartRequest};
use futures_util::future::LocalBoxFuture;
use futures_util::{FutureExt, select_biased};
use script::{Bundler, Limits, LoadError, LoadTime, Loaded};
use serde_json::Value;

/// A clock that only moves when somebody sleeps.
#[derive(Default)]
pub(crate) struct TestEffects(Rc<Cell<i64>>);

impl Effects for TestEffects {
    fn now_ms(&self) -> i64 {
        1_000 + self.0.get()
    }
    fn random(&self) -> f64 {
        0.25
    }
    fn uuid(&self) -> String {
        "00000000-0000-4000-8000-000000000001".to_owned()
    }
    fn sleep(&self, ms: u64) -> LocalBoxFuture<'static, ()> {
        let clock = self.0.clone();
        async move {
            // The engine's own time-outs are far away; a flow's pauses are real but short.
            tokio::time::sleep(std::time::Duration::from_millis(ms)).await;
            clock.set(clock.get() + ms as i64);
        }
        .boxed_local()
    }
    fn fetch(&self, _call: FetchCall) -> LocalBoxFuture<'static, Result<FetchReply, FlowError>> {
        std::future::ready(Err(FlowError::plain("no network here"))).boxed_local()
    }
    fn model(
        &self,
        call: ModelCall,
        _listener: Option<Listener>,
    ) -> LocalBoxFuture<'static, Result<ModelReply, FlowError>> {
        async move { Ok(ModelReply { text: Some(format!("echo of {}", call.generator)), ..ModelReply::default() }) }
            .boxed_local()
    }
}

pub(crate) fn load(source: &str, limits: Limits) -> Result<(tempfile::TempDir, Loaded), LoadError> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("flow.ts");
    std::fs::write(&file, source).expect("writable");
    let bundler = Bundler::new().expect("threads");
    let made = bundler.bundle(folder.path(), &file, Arc::new(|_| ()))?;
    Loaded::load(&made, None, folder.path(), limits, LoadTime::new(|effect| effect.placeholder()))
        .map(|loaded| (folder, loaded))
}

/// Runs the only action of a flow.
pub(crate) fn run(source: &str, input: Value) -> (Ended, Vec<Event>) {
    run_limited(source, input, Limits::default())
}

pub(crate) fn run_limited(source: &str, input: Value, limits: Limits) -> (Ended, Vec<Event>) {
    let source = source.to_owned();
    std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || {
            let (_folder, loaded) = load(&source, limits).expect("the flow loads");
            let flow = loaded.flow.clone().expect("the file exports a flow");
            let log = Arc::new(MemoryLog::default());
            let asked = StartRequest {
                request: "r1".into(),
                action: flow.actions.keys().next().expect("an action").clone(),
                input: Data::from(input),
                session: "s1".into(),
                ephemeral: false,
                user: "u1".into(),
                project: None,
                mock: None,
                owner: "test".to_owned(),
                retry_of: None,
                trigger: None,
                dispatched_by: None,
                claim: None,
                fork: None,
                isolated: Default::default(),
                time_zone: None,
            };
            let run = Run::new(flow, asked, log.clone(), Rc::new(TestEffects::default()), Abort::default());
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            let ended = runtime.block_on(async {
                let input = run.begin().await.expect("the log works");
                let mut work = Box::pin(run.execute(input).fuse());
                let mut drive = Box::pin(loaded.drive().fuse());
                select_biased! {
                    ended = work => ended,
                    () = drive => unreachable!("the driver outlives the run"),
                }
            });
            (ended, log.events("r1"))
        })
        .expect("a thread")
        .join()
        .expect("no panic")
}
