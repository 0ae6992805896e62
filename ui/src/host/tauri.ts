// The host inside the desktop window: the generated commands. The only file besides the generated bindings that may name
// Tauri, so that every other module also runs in a browser and in tests.
import { Channel } from '@tauri-apps/api/core';
import { commands, type DesktopEvent, type Notice, type TryProgress, type VerifyProgress } from './bindings';
import type { ViewBatch } from './bindings';
import type { Host } from './host';

export const insideTauri = () => '__TAURI_INTERNALS__' in globalThis;

/** A command of which only the end matters. */
const told =
  <A extends unknown[]>(command: (...args: A) => Promise<unknown>) =>
  async (...args: A): Promise<void> =>
    void (await command(...args));

export function tauriHost(): Host {
  return {
    ...commands,
    openSource: told(commands.openSource),
    abort: told(commands.abort),
    cancelVerify: told(commands.cancelVerify),
    cancelInside: told(commands.cancelInside),
    deleteBackup: told(commands.deleteBackup),
    clearCache: told(commands.clearCache),
    openWindow: told(commands.openWindow),
    keepWindow: told(commands.keepWindow),
    stopExperiments: told(commands.stopExperiments),
    closeComparison: told(commands.closeComparison),
    showMenu: told(commands.showMenu),
    enableInMenu: told(commands.enableInMenu),
    setZoom: told(commands.setZoom),
    setTheme: told(commands.setTheme),
    closeView: told(commands.closeView),
    viewWatchItems: told(commands.viewWatchItems),
    viewAck: told(commands.viewAck),
    verify: (query, onProgress) => commands.verify(query, new Channel<VerifyProgress>(onProgress)),
    tryOut: (query, onProgress) => commands.tryOut(query, new Channel<TryProgress>(onProgress)),
    goOnTrying: (experiment, changed, onProgress) =>
      commands.goOnTrying(experiment, changed, new Channel<TryProgress>(onProgress)),
    culprit: (query, onProgress) => commands.culprit(query, new Channel<TryProgress>(onProgress)),
    async desktopEvents(onEvent) {
      const channel = new Channel<DesktopEvent>(onEvent);
      await commands.desktopEvents(channel);
      return () => void (channel.onmessage = () => {});
    },
    async viewUpdates(onBatch) {
      const channel = new Channel<ViewBatch>(onBatch);
      await commands.viewUpdates(channel);
      return () => void (channel.onmessage = () => {});
    },
    async watch(onNotice) {
      const channel = new Channel<Notice>(onNotice);
      await commands.watch(channel);
      // Nothing tells the other side to stop; a silent channel costs one message per notice until the window closes.
      return () => void (channel.onmessage = () => {});
    },
  };
}
