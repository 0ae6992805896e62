// Starts `flowglass dap` for a debug session. The program does the rest.

'use strict';

const vscode = require('vscode');

const TYPE = 'flowglass';

/** What runs if a person starts the debugger without a configuration. */
function lastFailedRun(folder) {
  return {
    type: TYPE,
    request: 'launch',
    name: 'Last failed run',
    dir: folder ? folder.uri.fsPath : '${workspaceFolder}',
    requestId: 'last-failed',
  };
}

/** The folder of the active file, or the first one. */
function currentFolder() {
  const file = vscode.window.activeTextEditor?.document.uri;
  return (file && vscode.workspace.getWorkspaceFolder(file)) ?? vscode.workspace.workspaceFolders?.[0];
}

const configurations = {
  provideDebugConfigurations: (folder) => [lastFailedRun(folder)],

  resolveDebugConfiguration(folder, configuration) {
    const isEmpty = !configuration.type && !configuration.request && !configuration.name;
    const resolved = isEmpty ? lastFailedRun(folder ?? currentFolder()) : { ...configuration };
    if (!resolved.dir) resolved.dir = (folder ?? currentFolder())?.uri.fsPath;
    if (!resolved.dir) {
      void vscode.window.showErrorMessage('Open the folder with your flows to debug their runs.');
      return undefined;
    }
    return resolved;
  },
};

const adapters = {
  createDebugAdapterDescriptor(session) {
    const folder = session.workspaceFolder;
    const path = vscode.workspace.getConfiguration(TYPE, folder?.uri).get('path') || 'flowglass';
    return new vscode.DebugAdapterExecutable(path, ['dap'], { cwd: folder?.uri.fsPath });
  },
};

async function debugLastFailedRun() {
  const folder = currentFolder();
  if (!folder) {
    void vscode.window.showErrorMessage('Open the folder with your flows to debug their runs.');
    return;
  }
  await vscode.debug.startDebugging(folder, lastFailedRun(folder));
}

function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand('flowglass.debugLastFailedRun', debugLastFailedRun),
    vscode.debug.registerDebugConfigurationProvider(TYPE, configurations),
    vscode.debug.registerDebugConfigurationProvider(
      TYPE,
      { provideDebugConfigurations: configurations.provideDebugConfigurations },
      vscode.DebugConfigurationProviderTriggerKind.Dynamic,
    ),
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, adapters),
  );
}

module.exports = { activate };
