//! Where a window opens: what `flowglass open` names, as the address the window's page reads.

use runner::{At, Fault, Workspace};
use serde_json::json;

use crate::cli::args::Place;

/// The address of a place. What does not exist is refused here, before there is a window to say it in; flows are not
/// looked at, because they may not be trusted yet, and the page names those that are missing.
pub(crate) fn address(workspace: &Workspace, place: &Place) -> Result<String, Fault> {
    let mut fields: Vec<(&str, String)> = Vec::new();
    for (name, value) in [("flow", &place.flow), ("action", &place.action), ("session", &place.session)] {
        fields.extend(value.as_ref().map(|value| (name, value.clone())));
    }
    if let Some(session) = &place.session {
        workspace.session_state(session)?;
    }
    if let Some(request) = &place.request {
        fields.push(("request", request.clone()));
        let state = workspace.request_state(request, place.at.as_ref())?;
        let at_block = place.at.as_ref().and_then(|at| match at {
            At::Path(path) => Some(path),
            At::Seq(_) => None,
        });
        // An instant named by a block selects that block, and a selected block shows its end, as a click on it does.
        if at_block.is_none() || place.block.as_ref().is_some_and(|block| Some(block) != at_block) {
            fields.extend(place.at.as_ref().and(state.seq).map(|seq| ("seq", seq.to_string())));
        }
        if let Some(path) = place.block.as_ref().or(at_block) {
            let block = workspace.block_at(request, path, place.attempt)?.block;
            fields.push(("block", block.instance_id));
        }
        fields.extend(place.tab.as_ref().map(|tab| ("tab", tab.clone())));
        fields.extend(place.pane.as_ref().map(|pane| ("pane", pane.clone())));
        fields.extend(place.view.and_then(|view| Some(("audience", json!(view).as_str()?.to_owned()))));
    }
    let mut address =
        tauri::Url::parse("tauri://localhost").map_err(|error| Fault::Internal { message: error.to_string() })?;
    address.query_pairs_mut().extend_pairs(&fields);
    Ok(format!("#{}", address.query().unwrap_or_default()))
}
