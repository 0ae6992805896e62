//! The one list of what the window can ask. Each command is one call of the workspace.
//!
//! The page's side of this list, `ui/src/host/bindings.ts`, is generated from it; a test fails
//! when that file is stale.

mod agents;
mod code;
mod comparison;
mod database;
mod desktop;
mod experiment;
mod going_on;
mod home;
mod inside;
mod lists;
mod payload;
mod receiving;
mod runs;
mod session;
mod settings;
mod starting;
mod verify;
mod view;

use std::sync::Arc;

use engine::event::RequestStatus;
use runner::{
    At, Audience, BlockDetail, Change, EventQuery, EventRow, Fault, FlowRow, ItemRow, Notice, StateView, Workspace,
    WorkspaceRow,
};
use serde::Deserialize;
use tauri::{AppHandle, Manager, State};
use tauri_specta::{Builder, ErrorHandlingMode, collect_commands};

use crate::window::WindowState;

/// The list, for the window and for the test that writes the bindings.
pub(crate) fn builder() -> Builder<tauri::Wry> {
    Builder::<tauri::Wry>::new()
        .error_handling(ErrorHandlingMode::Throw)
        .commands(collect_commands![
            workspace,
            choose_workspace,
            trust_workspace,
            reopen_workspace,
            flows,
            code::source,
            code::load_anyway,
            starting::start_run,
            starting::trigger,
            abort,
            lists::sessions,
            lists::requests,
            runs::runs,
            runs::run_ids,
            runs::count_runs,
            runs::samples_left_out,
            runs::runs_summary,
            runs::block_sums,
            runs::tag_counts,
            runs::tags,
            runs::tag_runs,
            runs::sessions_of,
            session::conversation,
            session::turn_of,
            session::fork_tree,
            session::session_tags,
            session::tag_session,
            settings::settings,
            settings::plan_settings,
            settings::write_settings,
            settings::test_model,
            settings::delete_backup,
            settings::clear_cache,
            settings::own_settings,
            settings::change_own_settings,
            home::pick_folder,
            home::pick_file,
            home::open_examples,
            home::open_source,
            home::write_first_flow,
            block,
            items,
            state_at,
            diff,
            flow_state_diff,
            events,
            open_log,
            code::open_in_editor,
            code::block_source,
            code::files_that_ran,
            inside::print_at,
            inside::step_inside,
            inside::coverage,
            inside::open_value,
            inside::cancel_inside,
            verify::verify,
            verify::cancel_verify,
            verify::run_files,
            verify::keep_run,
            verify::waiting_requests,
            agents::agent_access,
            agents::let_agents_in,
            receiving::trace_receiver,
            receiving::serve,
            receiving::runnable,
            experiment::plan_try,
            experiment::try_out,
            experiment::go_on_trying,
            experiment::plan_going_on,
            experiment::stop_experiments,
            experiment::experiments,
            experiment::experiment,
            experiment::adopt,
            experiment::plan_culprit,
            experiment::culprit,
            watch,
            going_on::resume,
            going_on::plan_resume,
            going_on::plan_retry,
            going_on::plan_fork,
            going_on::retry,
            going_on::fork,
            going_on::replay,
            going_on::suspensions,
            database::search,
            database::history,
            database::why,
            database::written_before,
            database::journal,
            database::checkpoints,
            database::compare,
            comparison::related,
            comparison::open_comparison,
            comparison::open_replay,
            comparison::comparison_rows,
            comparison::next_difference,
            comparison::replayed_block,
            comparison::compare_locals,
            comparison::close_comparison,
            database::stats,
            database::check_data,
            database::compact,
            database::delete_session,
            database::missing_secrets,
            database::export_session,
            database::export_page,
            database::export_trace,
            database::import_file,
            database::check_file,
            desktop::desktop_events,
            desktop::show_menu,
            desktop::enable_in_menu,
            desktop::set_zoom,
            desktop::set_theme,
            desktop::open_window,
            desktop::keep_window,
            payload::event_parts,
            payload::payload,
            payload::payload_find,
            payload::payload_whole,
            payload::payload_save,
            view::open_view,
            view::close_view,
            view::view_rows,
            view::view_items,
            view::view_watch_items,
            view::view_fold,
            view::view_filter,
            view::view_find,
            view::view_row_of,
            view::view_blocks,
            view::view_calls,
            view::view_seq_at,
            view::view_time_of,
            view::view_step,
            view::view_overview,
            view::view_updates,
            view::view_ack,
        ])
        .constant("verbs", crate::cli::args::verbs())
        .dangerously_cast_bigints_to_number()
        // The page only reads what is sent and only sends what is read, so one shape of each type will do.
        .disable_serde_phases()
}

/// Reads of the database must not hold up the window's own thread.
async fn off_the_main_thread<R: Send + 'static>(
    state: State<'_, WindowState>,
    ask: impl FnOnce(Arc<Workspace>) -> Result<R, Fault> + Send + 'static,
) -> Result<R, Fault> {
    let workspace = state.workspace()?;
    blocking(move || ask(workspace)).await
}

/// Opens a folder, which reads its flows, and of a database that is only read a copy.
async fn opening(
    app: AppHandle,
    open: impl FnOnce(&WindowState) -> Result<Arc<Workspace>, Fault> + Send + 'static,
) -> Result<WorkspaceRow, Fault> {
    blocking(move || open(&app.state::<WindowState>())?.row()).await
}

async fn blocking<R: Send + 'static>(act: impl FnOnce() -> Result<R, Fault> + Send + 'static) -> Result<R, Fault> {
    let answer = tauri::async_runtime::spawn_blocking(act).await;
    answer.unwrap_or_else(|error| Err(Fault::Internal { message: error.to_string() }))
}

/// The folder that is open; null where none was chosen yet. Fails where the one that was named cannot be opened.
#[tauri::command]
#[specta::specta]
async fn workspace(app: AppHandle) -> Result<Option<WorkspaceRow>, Fault> {
    blocking(move || app.state::<WindowState>().named()?.map(|workspace| workspace.row()).transpose()).await
}

/// Opens another folder.
#[tauri::command]
#[specta::specta]
async fn choose_workspace(app: AppHandle, dir: String) -> Result<WorkspaceRow, Fault> {
    opening(app, move |state| state.choose(&dir)).await
}

/// Keeps the person's answer that the flows of the folder that is open may be loaded and run. The answer is about the
/// folder that was shown, and another may have been opened meanwhile.
#[tauri::command]
#[specta::specta]
async fn trust_workspace(app: AppHandle, dir: String) -> Result<WorkspaceRow, Fault> {
    opening(app, move |state| state.trust(&dir)).await
}

/// Opens the folder that is open again, where its database is only read and was changed by somebody.
#[tauri::command]
#[specta::specta]
async fn reopen_workspace(app: AppHandle, dir: String) -> Result<WorkspaceRow, Fault> {
    opening(app, move |state| state.reopen(&dir)).await
}

/// Opens the newest file of the program's own log with whatever this system opens texts with; answers where it is.
#[tauri::command]
#[specta::specta]
async fn open_log() -> Result<String, Fault> {
    let missing = || Fault::NotFound { message: "this window has written no log".to_owned() };
    let file = crate::diagnostics::newest_file().ok_or_else(missing)?;
    let shown = file.display().to_string();
    match open::that_detached(&file) {
        Ok(()) => Ok(shown),
        Err(error) => Err(Fault::Internal { message: format!("{shown} cannot be opened: {error}") }),
    }
}

/// All flows, up to date with their files.
#[tauri::command]
#[specta::specta]
async fn flows(state: State<'_, WindowState>) -> Result<Vec<FlowRow>, Fault> {
    off_the_main_thread(state, |workspace| workspace.flows()).await
}

/// A value that is there, `null` too.
fn present_exact<'a, D: serde::Deserializer<'a>>(input: D) -> Result<Option<serde_json::Value>, D::Error> {
    engine::json::exact(input).map(Some)
}

/// Stops a running request.
#[tauri::command]
#[specta::specta]
async fn abort(state: State<'_, WindowState>, request_id: String) -> Result<RequestStatus, Fault> {
    off_the_main_thread(state, move |workspace| workspace.abort(&request_id)).await
}

/// Everything about one execution of a block.
#[tauri::command]
#[specta::specta]
async fn block(state: State<'_, WindowState>, request_id: String, instance_id: String) -> Result<BlockDetail, Fault> {
    off_the_main_thread(state, move |workspace| workspace.block(&request_id, &instance_id)).await
}

/// Whose items, as whom.
#[derive(Debug, Deserialize, specta::Type)]
struct ItemQuery {
    #[serde(default)]
    session: Option<String>,
    #[serde(default)]
    request: Option<String>,
    view: Audience,
}

/// Items, oldest first.
#[tauri::command]
#[specta::specta]
async fn items(state: State<'_, WindowState>, query: ItemQuery) -> Result<Vec<ItemRow>, Fault> {
    off_the_main_thread(state, move |workspace| {
        workspace.items(query.session.as_deref(), query.request.as_deref(), query.view, None)
    })
    .await
}

/// Every scope's state just after an event.
#[tauri::command]
#[specta::specta]
async fn state_at(state: State<'_, WindowState>, request_id: String, seq: u64) -> Result<StateView, Fault> {
    off_the_main_thread(state, move |workspace| workspace.state_at(&request_id, Some(&At::Seq(seq)))).await
}

/// What differs between two instants of a request.
#[tauri::command]
#[specta::specta]
async fn diff(state: State<'_, WindowState>, request_id: String, from: u64, to: u64) -> Result<Vec<Change>, Fault> {
    off_the_main_thread(state, move |workspace| {
        workspace.diff(&request_id, Some(&At::Seq(from)), Some(&At::Seq(to)), None)
    })
    .await
}

/// What differs between the `FlowState`s of an agent at two instants of a request; nothing where it has none.
#[tauri::command]
#[specta::specta]
async fn flow_state_diff(
    state: State<'_, WindowState>,
    request_id: String,
    from: u64,
    to: u64,
) -> Result<Vec<Change>, Fault> {
    off_the_main_thread(state, move |workspace| workspace.flow_state_diff(&request_id, from, to)).await
}

/// Raw events, oldest first.
#[tauri::command]
#[specta::specta]
async fn events(
    state: State<'_, WindowState>,
    request_id: String,
    from: u64,
    limit: u32,
) -> Result<Vec<EventRow>, Fault> {
    off_the_main_thread(state, move |workspace| {
        let query = EventQuery { from: Some(from), limit: Some(limit.into()), ..EventQuery::default() };
        workspace.events(&request_id, query)
    })
    .await
}

/// Tells the page when to read again.
#[tauri::command]
#[specta::specta]
async fn watch(state: State<'_, WindowState>, on_notice: tauri::ipc::Channel<Notice>) -> Result<(), Fault> {
    state.watch(on_notice);
    Ok(())
}

#[cfg(test)]
mod tests {
    use specta_typescript::Typescript;

    /// The page's side of the list is what this list generates. `UPDATE=1 cargo test` rewrites it.
    #[test]
    fn bindings_are_current() {
        let fresh = std::env::temp_dir().join(format!("flowglass-bindings-{}.ts", std::process::id()));
        super::builder()
            .export(
                Typescript::default()
                    .header("// Generated from src-tauri/src/ipc.rs by `UPDATE=1 cargo test bindings`. Do not edit.\n"),
                &fresh,
            )
            .expect("the list exports");
        let text = std::fs::read_to_string(&fresh).expect("it was written");
        let _ = std::fs::remove_file(&fresh);
        let committed = concat!(env!("CARGO_MANIFEST_DIR"), "/ui/src/host/bindings.ts");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(committed, &text).expect("writable");
        }
        let known = std::fs::read_to_string(committed).unwrap_or_default();
        assert!(known == text, "ui/src/host/bindings.ts is stale: run `UPDATE=1 cargo test -p flowglass bindings`");
    }
}
