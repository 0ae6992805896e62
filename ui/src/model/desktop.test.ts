import { beforeEach, expect, test, vi } from 'vitest';
import { FakeHost } from '../host/fake';
import { AppModel } from './app.svelte';
import { COMMANDS } from './commands';
import { enabledIn, hear, menuKeys, menuOf } from './desktop';
import { keymap } from './keymap.svelte';
import { Router } from './route.svelte';

beforeEach(() => {
  localStorage.clear();
  keymap.reload();
});

async function open(hash = '') {
  history.replaceState(null, '', hash || '#');
  const app = new AppModel(new FakeHost(0, 0), new Router(window));
  await app.start();
  await expect.poll(() => app.workspace.info.answer).not.toBeNull();
  return app;
}

test('the menu has each command once, with keys that do not type a character', async () => {
  const app = await open();
  const menu = menuOf(app);
  const ids = menu.map((one) => one.id);
  expect([...ids].sort()).toEqual(
    COMMANDS.filter((one) => one.scope === 'window')
      .map((one) => one.id)
      .sort(),
  );
  expect(menu.find((one) => one.id === 'palette')).toMatchObject({ menu: 'Go', keys: 'Ctrl+k', enabled: true });
  expect(menu.find((one) => one.id === 'keys')).toMatchObject({ menu: 'Help', keys: null });
  expect(menu.find((one) => one.id === 'zone.next')).toMatchObject({ keys: null });
  expect(menu.find((one) => one.id === 'fork')).toMatchObject({ menu: 'Run', enabled: false });
});

test('the menu has the keys that a person chose, if a menu can show them', async () => {
  const app = await open();
  const keyOf = (id: string) => menuOf(app).find((one) => one.id === id)?.keys;
  const of = (id: string) => COMMANDS.find((one) => one.id === id) as (typeof COMMANDS)[number];
  const before = menuKeys();
  expect(keymap.set(of('palette'), 'Ctrl+p', COMMANDS)).toBeNull();
  expect(keyOf('palette')).toBe('Ctrl+p');
  expect(menuKeys()).not.toBe(before);
  expect(keymap.set(of('palette'), 'Ctrl+ö', COMMANDS)).toBeNull();
  expect(keyOf('palette')).toBeNull();
  expect(keymap.set(of('palette'), 'Ctrl+q', COMMANDS)).toBe('Ctrl+Q quits Flowglass');
});

test('a command of the menu is executed if it is enabled', async () => {
  const app = await open();
  hear(app, { kind: 'command', id: 'fork' });
  expect(app.window.sheet).toBeNull();
  hear(app, { kind: 'command', id: 'palette' });
  expect(app.window.sheet).toBe('palette');
  expect(enabledIn(app)).toEqual([]);
  hear(app, { kind: 'command', id: 'keys' });
  expect(app.window.sheet).toBe('palette');
});

test('a dropped file opens the import sheet, and a notification opens its request', async () => {
  const app = await open();
  hear(app, { kind: 'dropped', file: '/tmp/session.jsonl' });
  expect([app.window.sheet, app.window.file]).toEqual(['import', '/tmp/session.jsonl']);
  hear(app, { kind: 'request', requestId: 'req-2' });
  await vi.waitFor(() => expect(app.route.place.request).toBe('req-2'));
  expect(app.window.sheet).toBeNull();
});
