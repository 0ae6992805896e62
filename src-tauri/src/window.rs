//! The window of this process: one, over one workspace at a time. Other windows are processes of their own.

use std::collections::HashMap;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use runner::{Cancel, Consent, Fault, Notice, OpenOptions, Receiver, ReceiverRow, ViewBatch, Workspace};
use tauri::webview::NewWindowResponse;
use tauri::{Manager, WebviewUrl, WebviewWindowBuilder};

use crate::cli::args::{Cli, Command, Place};
use crate::cli::{Outcome, Stop, answer, window_options};
use crate::desktop::notification::Notifier;
use crate::desktop::{Desktop, dropped, menu, placement, restored};

/// At most this many batches of notices a second reach the window.
const BATCHES_A_SECOND: u32 = 60;

/// A workspace, and how it was opened: it is opened so again when it is trusted.
#[derive(Clone)]
struct Open {
    workspace: Arc<Workspace>,
    options: OpenOptions,
}

/// What the window's commands work on.
pub(crate) struct WindowState {
    /// None until a folder is chosen, where the program was started in a place that holds no flows.
    workspace: Mutex<Option<Open>>,
    /// Whether a folder was named that could not be opened: the page says why, and it is tried again when asked.
    is_unopened: AtomicBool,
    watchers: Arc<Mutex<Vec<tauri::ipc::Channel<Notice>>>>,
    /// Where the page hears of the views that it opened.
    views: Mutex<Option<tauri::ipc::Channel<ViewBatch>>>,
    options: OpenOptions,
    notifier: Arc<Notifier>,
    /// Ends what is being verified.
    verifying: Mutex<Cancel>,
    experiments: Mutex<Vec<Cancel>>,
    /// Where coding agents reach the open workspace by HTTP, while a person wants it.
    agents: Mutex<Option<mcp::Endpoint>>,
    /// Where the open workspace receives the traces of other programs, while a person wants it.
    receiver: Mutex<Option<Receiver>>,
}

impl WindowState {
    fn new(options: OpenOptions, is_folder_named: bool) -> Result<WindowState, Fault> {
        let watchers: Arc<Mutex<Vec<tauri::ipc::Channel<Notice>>>> = Arc::default();
        let notifier: Arc<Notifier> = Arc::default();
        let has_folder = is_folder_named || options.data.is_some() || Workspace::is_at(&options.dir);
        let open = || open_watched(options.clone(), &watchers, &notifier);
        let workspace = match has_folder.then(open).transpose() {
            Ok(workspace) => workspace,
            // A damaged database, a full disk: who began the program from a menu reads no standard error.
            Err(fault @ (Fault::Storage { .. } | Fault::Internal { .. } | Fault::Refused { .. })) => {
                tracing::error!(%fault, "the folder cannot be opened");
                None
            }
            Err(fault) => return Err(fault),
        };
        let is_unopened = AtomicBool::new(has_folder && workspace.is_none());
        let (workspace, views) = (Mutex::new(workspace), Mutex::default());
        let (verifying, experiments, agents) = (Mutex::default(), Mutex::default(), Mutex::default());
        let receiver = Mutex::default();
        Ok(WindowState {
            workspace,
            is_unopened,
            watchers,
            views,
            options,
            notifier,
            verifying,
            experiments,
            agents,
            receiver,
        })
    }

    /// What cancels an experiment that is about to begin.
    pub(crate) fn begin_experiment(&self) -> Cancel {
        let cancel = Cancel::default();
        lock(&self.experiments).push(cancel.clone());
        cancel
    }

    /// Cancels the experiments that this window runs.
    pub(crate) fn stop_experiments(&self) {
        lock(&self.experiments).drain(..).for_each(|cancel| cancel.cancel());
    }

    /// Lets coding agents in by HTTP, or no longer. An endpoint that is open stays as it is.
    pub(crate) fn let_agents_in(&self, is_wanted: bool) -> Result<(), Fault> {
        let mut agents = lock(&self.agents);
        // Read under the lock: another folder may be opened at this instant, which closes the endpoint afterwards.
        let workspace = self.workspace()?;
        match (is_wanted, &*agents) {
            (true, None) => *agents = Some(mcp::serve_http(workspace)?),
            (false, Some(_)) => *agents = None,
            _ => {}
        }
        Ok(())
    }

    /// The address and the token of the endpoint for coding agents, if it is open.
    pub(crate) fn endpoint(&self) -> Option<(String, String)> {
        lock(&self.agents).as_ref().map(|endpoint| (endpoint.url.clone(), endpoint.token.clone()))
    }

    /// Receives the traces of other programs, or no longer: on the usual port, or on another if that is taken.
    pub(crate) fn receive_traces(&self, is_wanted: bool) -> Result<(), Fault> {
        let mut receiver = lock(&self.receiver);
        // Read under the lock, as for agents.
        let workspace = self.workspace()?;
        match (is_wanted, &*receiver) {
            (true, None) => {
                let opened = workspace.receive_spans(runner::USUAL_PORT).or_else(|fault| match fault {
                    Fault::Refused { .. } => workspace.receive_spans(0),
                    fault => Err(fault),
                })?;
                *receiver = Some(opened);
            }
            (false, Some(_)) => *receiver = None,
            _ => {}
        }
        Ok(())
    }

    /// Where traces are received, if they are.
    pub(crate) fn receiver(&self) -> Option<ReceiverRow> {
        lock(&self.receiver).as_ref().map(Receiver::row)
    }

    /// Ends what is being verified, and from here on it is this that ends what is.
    pub(crate) fn verify_with(&self, cancel: Cancel) {
        std::mem::replace(&mut *lock(&self.verifying), cancel).cancel();
    }

    /// The open workspace, if a folder is open.
    pub(crate) fn opened(&self) -> Option<Arc<Workspace>> {
        lock(&self.workspace).as_ref().map(|open| open.workspace.clone())
    }

    /// The open workspace, for what needs one.
    pub(crate) fn workspace(&self) -> Result<Arc<Workspace>, Fault> {
        self.opened().ok_or_else(no_folder)
    }

    /// The open workspace; `None` where no folder was named. Tries again to open one that could not be opened.
    pub(crate) fn named(&self) -> Result<Option<Arc<Workspace>>, Fault> {
        if self.is_unopened.load(Ordering::Relaxed) {
            self.show(open_watched(self.options.clone(), &self.watchers, &self.notifier)?)?;
        }
        Ok(self.opened())
    }

    /// Opens another folder; the one before stays open while its requests run.
    pub(crate) fn choose(&self, dir: &str) -> Result<Arc<Workspace>, Fault> {
        // Trust in one folder says nothing about another.
        let consent = Consent::Asked;
        let options = OpenOptions { dir: dir.into(), data: None, trust: false, consent, ..self.options.clone() };
        self.show(open_watched(options, &self.watchers, &self.notifier)?)
    }

    /// Keeps the person's answer that the folder that is open is trusted, and opens it again: until then its database
    /// is only read. The answer is about the folder that was shown, and another may have been opened meanwhile.
    pub(crate) fn trust(&self, dir: &str) -> Result<Arc<Workspace>, Fault> {
        let Open { workspace, options } = lock(&self.workspace).clone().ok_or_else(no_folder)?;
        let row = workspace.row()?;
        if row.dir != dir {
            return Err(Fault::Refused { message: format!("{dir} is not the folder that is open: {} is", row.dir) });
        }
        workspace.give_trust()?;
        if workspace.is_trusted() {
            return Ok(workspace);
        }
        self.show_instead_of(&workspace, options)
    }

    /// Opens the same folder again, where its settings were changed, or its database, which is only read.
    pub(crate) fn reopen(&self, dir: &str) -> Result<Arc<Workspace>, Fault> {
        let Open { workspace, options } = lock(&self.workspace).clone().ok_or_else(no_folder)?;
        if workspace.row()?.dir != dir || !(workspace.is_outdated() || workspace.are_settings_changed()) {
            return Ok(workspace);
        }
        self.show_instead_of(&workspace, options)
    }

    /// Opens the folder of a workspace again. Where another folder was opened meanwhile, that one stays.
    fn show_instead_of(&self, before: &Arc<Workspace>, options: OpenOptions) -> Result<Arc<Workspace>, Fault> {
        let again = open_watched(options, &self.watchers, &self.notifier)?;
        let now = self.workspace()?;
        if Arc::ptr_eq(before, &now) { self.show(again) } else { Ok(now) }
    }

    fn show(&self, open: Open) -> Result<Arc<Workspace>, Fault> {
        let workspace = open.workspace.clone();
        self.is_unopened.store(false, Ordering::Relaxed);
        if let Some(before) = lock(&self.workspace).replace(open) {
            before.workspace.unwatch_views();
        }
        // An endpoint for agents was opened for the folder before.
        *lock(&self.agents) = None;
        *lock(&self.receiver) = None;
        if let Some(channel) = lock(&self.views).clone() {
            tell_views(&workspace, channel)?;
        }
        Ok(workspace)
    }

    /// A page that wants to hear of the views that it opens, in whatever folder.
    pub(crate) fn watch_views(&self, channel: tauri::ipc::Channel<ViewBatch>) -> Result<(), Fault> {
        *lock(&self.views) = Some(channel.clone());
        self.opened().map_or(Ok(()), |workspace| tell_views(&workspace, channel))
    }

    /// A page that wants to hear notices.
    pub(crate) fn watch(&self, channel: tauri::ipc::Channel<Notice>) {
        lock(&self.watchers).push(channel);
    }
}

fn no_folder() -> Fault {
    Fault::NotFound { message: "no folder is open; open one first".to_owned() }
}

/// A page that was reloaded left a channel that no longer takes anything.
fn tell_views(workspace: &Arc<Workspace>, channel: tauri::ipc::Channel<ViewBatch>) -> Result<(), Fault> {
    workspace.watch_views(move |batch| channel.send(batch).is_ok())
}

fn open_watched(
    options: OpenOptions,
    watchers: &Arc<Mutex<Vec<tauri::ipc::Channel<Notice>>>>,
    notifier: &Arc<Notifier>,
) -> Result<Open, Fault> {
    let options = OpenOptions { keep_ready: true, ..options };
    let workspace = Workspace::open(options.clone())?;
    workspace.watch_files()?;
    workspace.keep_time()?;
    workspace.watch_data()?;
    workspace.take_in_left();
    let (sender, notices) = std::sync::mpsc::channel();
    workspace.listen(move |notice| {
        // The window is closing when nobody forwards any more.
        let _ = sender.send(notice.clone());
    });
    let (watchers, notifier, heard) = (watchers.clone(), notifier.clone(), Arc::downgrade(&workspace));
    let tell = move |batch: &[Notice]| {
        // A page that was reloaded left a channel that no longer takes anything.
        lock(&watchers).retain(|channel| batch.iter().all(|notice| channel.send(notice.clone()).is_ok()));
        if let Some(workspace) = heard.upgrade() {
            batch.iter().for_each(|notice| notifier.hear(&workspace, notice));
        }
    };
    std::thread::Builder::new().name("notices".to_owned()).spawn(move || forward(&notices, tell))?;
    Ok(Open { workspace, options })
}

/// Sends notices on, the newest of each request once a frame.
fn forward(notices: &std::sync::mpsc::Receiver<Notice>, tell: impl Fn(&[Notice])) {
    while let Ok(first) = notices.recv() {
        std::thread::sleep(Duration::from_secs(1) / BATCHES_A_SECOND);
        let mut others: Vec<Notice> = Vec::new();
        let mut requests = HashMap::new();
        for notice in std::iter::once(first).chain(notices.try_iter()) {
            match &notice {
                Notice::Request { request_id, .. } => drop(requests.insert(request_id.clone(), notice)),
                _ if others.contains(&notice) => {}
                _ => others.push(notice),
            }
        }
        let batch: Vec<Notice> = others.into_iter().chain(requests.into_values()).collect();
        tell(&batch);
    }
}

/// Opens the window that was asked for, and stays until it is closed.
pub fn open_window(cli: Cli) -> ExitCode {
    let (dir, place) = match cli.command {
        Some(Command::Open { dir, place }) => (dir, place),
        _ => (None, Place::default()),
    };
    let opened = window_options(&cli.global, dir)
        .and_then(|(options, is_named)| open(options, is_named || place.is_named(), &place));
    answer(cli.global.json, opened.map_err(Stop::from))
}

/// Opens the window and stays until it is closed. A folder that nobody named, such as that of a menu of programs, is
/// opened only where it holds flows or what was recorded of them.
fn open(options: OpenOptions, is_folder_named: bool, place: &Place) -> Result<Outcome, Fault> {
    let has_display =
        ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if cfg!(target_os = "linux") && !has_display {
        // A folder that does not exist is wrong on every machine.
        if is_folder_named {
            Workspace::check_folder(&options.dir)?;
        }
        return Err(Fault::Unavailable {
            message: "there is no display to open a window on; `flowglass demo` shows the same without one".to_owned(),
        });
    }
    let rendering = crate::rendering::choose();
    // Until the window is closed; what is still to be written is written then.
    let _log = crate::diagnostics::to_file();
    tracing::info!(?rendering, "how the window draws");
    let state = WindowState::new(options, is_folder_named)?;
    let address = match state.opened() {
        Some(workspace) => crate::opening::address(&workspace, place)?,
        None => String::new(),
    };
    // A value is read, sent and dropped by its depth, which may be greater than usual threads have stack for.
    let runtime =
        tokio::runtime::Builder::new_multi_thread().thread_stack_size(crate::cli::STACK).enable_all().build()?;
    tauri::async_runtime::set(runtime.handle().clone());
    let builder = crate::ipc::builder();
    let (id, restores) = (place.window.clone(), place.window.is_none() && !place.is_named());
    let result = tauri::Builder::default()
        .plugin(tauri_plugin_dialog::init())
        .manage(state)
        .manage(Desktop::default())
        .plugin(placement::plugin())
        .menu(menu::first)
        .on_menu_event(|app, event| menu::chosen(app, &event.id().0))
        .invoke_handler(builder.invoke_handler())
        .setup(move |app| {
            builder.mount_events(app);
            app.state::<WindowState>().notifier.attach(app.handle());
            let workspace = app.state::<WindowState>().opened();
            let name = workspace.as_ref().map(|workspace| workspace.row()).transpose()?;
            let kept = restored::begin(app.handle(), workspace.as_deref(), (id.as_deref(), restores))?;
            let address = if kept.address.starts_with('#') { kept.address } else { address };
            let title = name.map_or_else(|| "Flowglass".to_owned(), |row| format!("{} · Flowglass", row.name));
            let window = WebviewWindowBuilder::new(app, "main", WebviewUrl::App(address.into()))
                .title(title)
                // The page knows which folder and what of it is shown. A title that cannot be set stays as it was.
                .on_document_title_changed(|window, title| drop(window.set_title(&title)))
                .inner_size(placement::SIZE.0, placement::SIZE.1)
                .min_inner_size(placement::MIN_SIZE.0, placement::MIN_SIZE.1)
                // The window shows its own pages and nothing else: what a flow or a model says is text.
                .on_navigation(is_own_page)
                .on_new_window(|_, _| NewWindowResponse::Deny)
                .build()?;
            restored::follow(app.handle(), &window, kept.frame)?;
            placement::follow(app.handle(), &window)?;
            let handle = app.handle().clone();
            window.on_window_event(move |event| dropped::hear(&handle, event));
            Ok(())
        })
        .run(context());
    result.map_err(|error| Fault::Internal { message: format!("the window could not be opened: {error}") })?;
    Ok(Outcome::done(serde_json::Value::Null, String::new()))
}

/// The pages and the settings that are built in.
#[cfg(not(test))]
fn context() -> tauri::Context {
    tauri::generate_context!()
}

/// The library's own tests open no window. Both builds of the library run at once, and what the macro compresses into
/// the build's folder it writes in place: one would take a file that the other has not written whole.
#[cfg(test)]
fn context() -> tauri::Context {
    unreachable!("a test of the library opens no window")
}

/// Whether an address is one that this program serves to its window.
fn is_own_page(address: &tauri::Url) -> bool {
    match address.scheme() {
        "tauri" => address.host_str() == Some("localhost"),
        // On Windows and Android.
        "http" | "https" => address.host_str() == Some("tauri.localhost"),
        _ => false,
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
