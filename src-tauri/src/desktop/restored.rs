//! This window among those that are open: it opens those that were left, keeps where it is and what it shows, and
//! closes with the others. Where nothing can be kept, it is a window without a past.

use std::time::Duration;

use runner::{Fault, Workspace};
use tauri::{AppHandle, Manager, PhysicalPosition, PhysicalSize, WebviewWindow, WindowEvent};

use super::windows::{Frame, OpenWindows, WindowRecord, start};

/// How often a window looks whether all are to be closed.
const LOOK_TIME: Duration = Duration::from_millis(500);

/// The windows that are open; `None` where there is no folder to keep them in.
struct Windows(Option<OpenWindows>);

/// Begins to keep this window: the one that another one reserved, or a new one. A new one that a person started without
/// a place to show opens again what was left. Answers what is kept of this window.
pub(crate) fn begin(
    app: &AppHandle,
    workspace: Option<&Workspace>,
    (id, restores): (Option<&str>, bool),
) -> Result<WindowRecord, Fault> {
    let begun = app.path().data_dir().map_err(std::io::Error::other).and_then(|data| {
        let folder = data.join("flowglass").join("windows");
        OpenWindows::begin(&folder, id)
    });
    let windows = match begun {
        Ok(windows) => windows,
        Err(error) if error.kind() == std::io::ErrorKind::ResourceBusy => {
            return Err(Fault::Refused { message: format!("{error}; it is opened once") });
        }
        Err(error) => {
            tracing::warn!(%error, "which windows are open cannot be kept");
            app.manage(Windows(None));
            return Ok(WindowRecord::default());
        }
    };
    let mut record = windows.record();
    let kept = keep_folder(&windows, workspace);
    let restored = if restores { restore(&windows, workspace, &mut record) } else { Ok(()) };
    if let Err(error) = kept.and(restored) {
        tracing::warn!(%error, "the windows that were left cannot be opened again");
    }
    app.manage(Windows(Some(windows)));
    Ok(record)
}

fn restore(windows: &OpenWindows, workspace: Option<&Workspace>, record: &mut WindowRecord) -> Result<(), Fault> {
    let data = workspace.map(Workspace::row).transpose()?.map(|row| row.data_file);
    let (own, others) = windows.take_left(data.as_deref())?;
    record.frame = own.and_then(|own| own.frame);
    for (id, left) in others {
        let is_trusted = workspace.is_some_and(|one| data.as_ref() == Some(&left.data) && one.sends_keys());
        start(&left, Some(&id), &[], is_trusted)?;
    }
    Ok(())
}

/// Keeps which folder is open.
fn keep_folder(windows: &OpenWindows, workspace: Option<&Workspace>) -> Result<(), Fault> {
    let row = workspace.map(Workspace::row).transpose()?;
    windows.keep(|own| (own.dir, own.data) = row.map(|row| (row.dir, row.data_file)).unwrap_or_default())?;
    Ok(())
}

/// Puts the window where it was, and follows it: a person who closes it does not want it back.
pub(crate) fn follow(app: &AppHandle, window: &WebviewWindow, frame: Option<Frame>) -> tauri::Result<()> {
    if let Some(Frame { x, y, width, height, is_maximized }) = frame {
        window.set_size(PhysicalSize::new(width, height))?;
        window.set_position(PhysicalPosition::new(x, y))?;
        if is_maximized {
            window.maximize()?;
        }
    }
    let handle = app.clone();
    window.on_window_event(move |event| {
        if matches!(event, WindowEvent::CloseRequested { .. }) {
            with(&handle, "the window stays among those that are opened again", |windows| windows.close());
        }
    });
    let handle = app.clone();
    let look = move || {
        loop {
            std::thread::sleep(LOOK_TIME);
            let Some(windows) = &handle.state::<Windows>().inner().0 else { return };
            if windows.is_told_to_close() {
                break;
            }
        }
        let closing = handle.clone();
        if let Err(error) = handle.run_on_main_thread(move || close_windows(&closing)) {
            tracing::warn!(%error, "the window does not close");
        }
    };
    std::thread::Builder::new().name("windows".to_owned()).spawn(look)?;
    Ok(())
}

/// Does something with the windows that are open; a failure is only told in the log.
fn with(app: &AppHandle, what: &str, act: impl FnOnce(&OpenWindows) -> std::io::Result<()>) {
    let Some(windows) = app.try_state::<Windows>() else { return };
    if let Some(Err(error)) = windows.inner().0.as_ref().map(act) {
        tracing::warn!(%error, "{what}");
    }
}

/// Whether a person started this program, and not another window.
pub(crate) fn is_first(app: &AppHandle) -> bool {
    let windows = app.try_state::<Windows>();
    windows.and_then(|windows| windows.inner().0.as_ref().map(|one| one.record().is_first)).unwrap_or(true)
}

/// Keeps where the window is. On the window's own thread, which knows that.
pub(crate) fn keep_frame(app: &AppHandle) {
    let frame = || -> tauri::Result<Option<Frame>> {
        let Some(window) = app.get_webview_window("main") else { return Ok(None) };
        let (at, size) = (window.outer_position()?, window.inner_size()?);
        let is_maximized = window.is_maximized()?;
        Ok(Some(Frame { x: at.x, y: at.y, width: size.width, height: size.height, is_maximized }))
    };
    match frame() {
        Ok(frame) => with(app, "where the window is cannot be kept", |windows| windows.keep(|own| own.frame = frame)),
        Err(error) => tracing::warn!(%error, "where the window is cannot be kept"),
    }
}

/// Keeps which folder is open and what of it is shown.
pub(crate) fn keep_address(app: &AppHandle, workspace: Option<&Workspace>, address: String) -> Result<(), Fault> {
    let Some(windows) = &app.state::<Windows>().inner().0 else { return Ok(()) };
    keep_folder(windows, workspace)?;
    Ok(windows.keep(|own| own.address = address)?)
}

/// Starts the program of another window of the open folder; flags say what it shows.
pub(crate) fn open_another(app: &AppHandle, workspace: &Workspace, flags: &[String]) -> Result<(), Fault> {
    let row = workspace.row()?;
    let record = WindowRecord { dir: row.dir, data: row.data_file, ..WindowRecord::default() };
    let id = app.state::<Windows>().inner().0.as_ref().map(|windows| windows.reserve(&record)).transpose()?;
    Ok(start(&record, id.as_deref(), flags, workspace.sends_keys())?)
}

/// Closes all windows; the next start opens them again.
pub(crate) fn quit(app: &AppHandle) {
    with(app, "other windows stay open", OpenWindows::quit);
    close_windows(app);
}

/// Closes the windows of this process.
pub(crate) fn close_windows(app: &AppHandle) {
    for window in app.webview_windows().into_values() {
        if let Err(error) = window.close() {
            tracing::warn!(%error, "the window does not close");
        }
    }
}
