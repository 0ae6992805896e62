// The page of settings over a recorded host: what is typed and nothing else, a file that another program writes, and
// what is said of something wrong.
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import App from './App.svelte';
import { applyTheme } from './base/theme';
import { FakeHost } from './host/fake';
import { AppModel } from './model/app.svelte';
import { COMMANDS } from './model/commands';
import { Router } from './model/route.svelte';

let app: AppModel;
let host: FakeHost;

async function open(section: string) {
  history.replaceState(null, '', `#settings=${section}`);
  host = new FakeHost(0, 5);
  app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
  await screen.findByTestId('settings-page');
}

const said = (id: string) => screen.getByTestId(id).textContent.replaceAll(/\s+/g, ' ').trim();
const box = async (id: string) => (await screen.findByTestId(id)) as HTMLInputElement;
const type = async (id: string, value: string) => fireEvent.change(await box(id), { target: { value } });

beforeEach(() => localStorage.clear());
afterEach(() => {
  cleanup();
  applyTheme('system');
  vi.restoreAllMocks();
});

test('a number that nobody typed is not made up, and is asked for', async () => {
  await open('models');
  host.folderSettings.rewrite('{}\n');
  await fireEvent(window, new Event('focus'));
  await waitFor(async () => expect((await box('price-input')).value).toBe(''));
  await type('price-input', '250');
  expect((await box('price-output')).value).toBe('');
  expect(said('price-incomplete')).toContain('lacks “Out”');
  await fireEvent.click(screen.getByTestId('settings-review'));
  await waitFor(() => expect(screen.getByTestId('settings-sheet').textContent).toContain('would not be valid'));
  expect(screen.getByTestId('settings-sheet').textContent).not.toContain('marked fields');
});

test('a number that a limit cannot be is told beside its box, and is not set', async () => {
  await open('folder');
  for (const [value, says] of [
    ['-1', 'A whole number from 8 on'],
    ['1.5', 'A whole number from 8 on'],
    ['7', 'A whole number from 8 on'],
    ['99999999999999999999', 'A whole number from 8 on'],
  ] as const) {
    await type('limit-memoryMb', value);
    expect(said('limit-memoryMb-problem')).toContain(says);
    expect((await box('limit-memoryMb')).getAttribute('aria-invalid')).toBe('true');
    expect(screen.queryByTestId('settings-review')).toBeNull();
  }
  await type('limit-memoryMb', '64');
  expect(screen.queryByTestId('limit-memoryMb-problem')).toBeNull();
  expect(await screen.findByTestId('settings-review')).toBeTruthy();
});

test('a file that another program wrote is shown at once, and edits are made of it', async () => {
  await open('models');
  await waitFor(async () => expect((await box('price-output')).value).toBe('2'));
  await type('price-input', '250');
  host.folderSettings.rewrite('{"prices":{"gpt-5-mini":{"input":0.25,"output":7}}}');
  await fireEvent(window, new Event('focus'));
  await waitFor(async () => expect((await box('price-output')).value).toBe('7'));
  expect((await box('price-input')).value).toBe('250');
  expect(await screen.findByTestId('settings-stale')).toBeTruthy();
  host.folderSettings.rewrite('{"prices":{"gpt-5-mini":{"input":250,"output":7}}}');
  await fireEvent(window, new Event('focus'));
  await waitFor(() => expect(screen.queryByTestId('settings-edits'), 'it says so by itself').toBeNull());
});

test('a file that cannot be read is not edited, also with a change made before', async () => {
  await open('folder');
  await type('limit-memoryMb', '64');
  expect(said('settings-edits')).toContain('1 change');
  const broken = '{ "durability": "power", broken';
  host.folderSettings.rewrite(broken);
  await fireEvent(window, new Event('focus'));
  await screen.findByTestId('settings-problem');
  for (const id of ['limit-memoryMb', 'limit-depth', 'durability', 'settings-review'])
    expect((await box(id)).disabled, `${id} is off`).toBe(true);
  expect(said('settings-edits'), 'the change waits').toContain('1 change');
  host.folderSettings.rewrite('{ "durability": "power" }');
  await fireEvent(window, new Event('focus'));
  await waitFor(() => expect(screen.queryByTestId('settings-problem')).toBeNull());
  await fireEvent.click(screen.getByTestId('settings-review'));
  await screen.findByTestId('settings-difference');
  expect(screen.getByTestId('settings-difference').textContent).toContain('"power"');
});

test('a file that breaks while its change is reviewed is not written', async () => {
  await open('folder');
  await type('limit-memoryMb', '64');
  const broken = '{ broken';
  host.folderSettings.rewrite(broken);
  await fireEvent.click(screen.getByTestId('settings-review'));
  await waitFor(() => expect(screen.getByTestId('settings-sheet').textContent).toContain('is not valid'));
  expect((await box('do-settings')).disabled).toBe(true);
  expect(host.folderSettings.text).toBe(broken);
});

test('an invalid host is refused', async () => {
  await open('network');
  await fireEvent.input(await box('host-add'), { target: { value: 'http://bad host/x' } });
  await fireEvent.submit((await box('host-add')).form as HTMLFormElement);
  await waitFor(() => expect(said('host-wrong')).toContain('is not a host'));
  expect(screen.queryByTestId('settings-edits')).toBeNull();
  await fireEvent.input(await box('host-add'), { target: { value: 'api.example.com' } });
  expect(screen.queryByTestId('host-wrong')).toBeNull();
  await fireEvent.submit((await box('host-add')).form as HTMLFormElement);
  await waitFor(() => expect(said('settings-edits')).toContain('1 change'));
});

test('own settings that cannot be written say so in words of their own', async () => {
  await open('look');
  vi.spyOn(host, 'changeOwnSettings').mockRejectedValue({ kind: 'internal', message: 'settings.json: it is broken' });
  await fireEvent.click(screen.getByText('Compact'));
  await waitFor(() =>
    expect(app.faults.notes.map((note) => note.words.title)).toEqual(['Your own settings were not saved']),
  );
});

test("the program's log is opened from the section about data, which then says where it is", async () => {
  await open('data');
  await fireEvent.click(await screen.findByTestId('open-log'));
  expect(await screen.findByText(await host.openLog())).toBeTruthy();
});

const shownSize = async () => (await box('own-zoom')).value;

test('the text size and the theme that are shown are the real ones, also when keys change them', async () => {
  await open('look');
  expect(await shownSize()).toBe('100');
  await fireEvent.keyDown(document.body, { key: '+', ctrlKey: true });
  await waitFor(async () => expect(await shownSize()).toBe('110'));
  await fireEvent.keyDown(document.body, { key: '-', ctrlKey: true });
  await fireEvent.keyDown(document.body, { key: '-', ctrlKey: true });
  await waitFor(async () => expect(await shownSize()).toBe('90'));
  await fireEvent.keyDown(document.body, { key: '0', ctrlKey: true });
  await waitFor(async () => expect(await shownSize()).toBe('100'));
  COMMANDS.find((one) => one.id === 'theme.dark')?.run(app);
  await waitFor(() => expect(screen.getByRole('radio', { name: 'Dark' }).getAttribute('aria-checked')).toBe('true'));
});

test('a text size that another program chose is in force and shown at once; an older file takes no choice back', async () => {
  await open('look');
  await screen.findByTestId('own-editor');
  const scaled = vi.spyOn(host, 'setZoom');
  await host.changeOwnSettings([{ field: 'textSize', value: 150 }]);
  await fireEvent(window, new Event('focus'));
  await waitFor(async () => expect(await shownSize()).toBe('150'));
  expect(scaled).toHaveBeenLastCalledWith(150);
  // The file can be read, but not written: what it said before is no news.
  vi.spyOn(host, 'changeOwnSettings').mockRejectedValue({ kind: 'internal', message: 'it is read-only' });
  await type('own-zoom', '125');
  await screen.findByTestId('fault');
  await fireEvent(window, new Event('focus'));
  await new Promise((done) => setTimeout(done));
  expect(await shownSize()).toBe('125');
});
