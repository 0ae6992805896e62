//! The window's commands about experiments.

use runner::{
    Adopted, Cancel, CulpritQuery, CulpritView, ExperimentRow, ExperimentView, Fault, TryPlan, TryProgress, TryQuery,
};
use tauri::State;
use tauri::ipc::Channel;

use super::off_the_main_thread;
use crate::window::WindowState;

/// What an experiment will take.
#[tauri::command]
#[specta::specta]
pub(super) async fn plan_try(state: State<'_, WindowState>, query: TryQuery) -> Result<TryPlan, Fault> {
    off_the_main_thread(state, move |workspace| workspace.plan_try(&query)).await
}

/// Begins an experiment and runs it. The first report of progress names it.
#[tauri::command]
#[specta::specta]
pub(super) async fn try_out(
    state: State<'_, WindowState>,
    query: TryQuery,
    on_progress: Channel<TryProgress>,
) -> Result<ExperimentView, Fault> {
    let cancel = state.begin_experiment();
    // A page that is gone hears nothing.
    off_the_main_thread(state, move |workspace| {
        workspace.try_out(&query, &cancel, |progress| _ = on_progress.send(progress))
    })
    .await
}

/// Goes on with an experiment: what is missing is run and scored.
#[tauri::command]
#[specta::specta]
pub(super) async fn go_on_trying(
    state: State<'_, WindowState>,
    experiment: String,
    changed: TryQuery,
    on_progress: Channel<TryProgress>,
) -> Result<ExperimentView, Fault> {
    let cancel = state.begin_experiment();
    off_the_main_thread(state, move |workspace| {
        workspace.go_on_trying(&experiment, &changed, &cancel, |progress| _ = on_progress.send(progress))
    })
    .await
}

/// What is left to do of an experiment, and what that will take.
#[tauri::command]
#[specta::specta]
pub(super) async fn plan_going_on(
    state: State<'_, WindowState>,
    experiment: String,
    changed: TryQuery,
) -> Result<TryPlan, Fault> {
    off_the_main_thread(state, move |workspace| workspace.plan_going_on(&experiment, &changed)).await
}

/// Stops the experiments and searches that this window runs. What has ended stays.
#[tauri::command]
#[specta::specta]
pub(super) async fn stop_experiments(state: State<'_, WindowState>) -> Result<(), Fault> {
    state.stop_experiments();
    Ok(())
}

/// The experiments, newest first.
#[tauri::command]
#[specta::specta]
pub(super) async fn experiments(
    state: State<'_, WindowState>,
    limit: u32,
    offset: u32,
) -> Result<Vec<ExperimentRow>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.experiments(limit.into(), offset.into())).await
}

/// What an experiment has found so far.
#[tauri::command]
#[specta::specta]
pub(super) async fn experiment(state: State<'_, WindowState>, id: String) -> Result<ExperimentView, Fault> {
    off_the_main_thread(state, move |workspace| workspace.experiment(&id)).await
}

/// The edit that makes an arm what the flow does; written if `write` says so.
#[tauri::command]
#[specta::specta]
pub(super) async fn adopt(
    state: State<'_, WindowState>,
    experiment: String,
    arm: String,
    write: bool,
) -> Result<Adopted, Fault> {
    off_the_main_thread(state, move |workspace| workspace.adopt(&experiment, &arm, write)).await
}

/// What a search for the deciding step may ask, all forks together; nothing is run.
#[tauri::command]
#[specta::specta]
pub(super) async fn plan_culprit(state: State<'_, WindowState>, query: CulpritQuery) -> Result<TryPlan, Fault> {
    off_the_main_thread(state, move |workspace| workspace.plan_culprit(&query)).await
}

/// Looks for the step at which a failure was decided.
#[tauri::command]
#[specta::specta]
pub(super) async fn culprit(
    state: State<'_, WindowState>,
    query: CulpritQuery,
    on_progress: Channel<TryProgress>,
) -> Result<CulpritView, Fault> {
    let cancel: Cancel = state.begin_experiment();
    off_the_main_thread(state, move |workspace| {
        workspace.culprit(&query, &cancel, |progress| _ = on_progress.send(progress))
    })
    .await
}
