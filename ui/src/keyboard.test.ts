// The keyboard over the whole window: one listener, parts of the window, and what keys do where.
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test } from 'vitest';
import App from './App.svelte';
import { FakeHost } from './host/fake';
import { AppModel } from './model/app.svelte';
import { keymap } from './model/keymap.svelte';
import { Router } from './model/route.svelte';

let app: AppModel;

async function open(hash = 'session=ses-2&request=req-2') {
  history.replaceState(null, '', `#${hash}`);
  app = new AppModel(new FakeHost(0, 60), new Router(window));
  render(App, { props: { app } });
  await screen.findByTestId('session-ses-2');
  if (hash.includes('request=')) await screen.findAllByTestId('timeline-row');
}

const press = (key: string, more = {}) => fireEvent.keyDown(document.activeElement ?? document.body, { key, ...more });
const zone = () => document.activeElement?.closest<HTMLElement>('[data-zone]')?.dataset.zone;

beforeEach(() => {
  localStorage.clear();
  keymap.reload();
});
afterEach(cleanup);

test('keys of the request act wherever the focus is, and after the tab that had it is gone', async () => {
  await open();
  const end = app.request.seq;
  screen.getByTestId('session-ses-2').focus();
  await press(',');
  expect(app.cursor).toBe(end - 1);
  await press('2');
  expect(app.route.place.tab).toBe('items');
  screen.getByTestId('tab-items').focus();
  await press('1');
  await waitFor(() => screen.getByTestId('timeline').focus());
  await press('2');
  await waitFor(() => expect(screen.queryByTestId('timeline')).toBeNull());
  // The element that had the focus went away with its tab.
  expect(document.activeElement).toBe(document.body);
  await press('l');
  expect(app.route.place.seq).toBeNull();
  await press('4');
  expect(app.route.place.tab).toBe('events');
  await press('7');
  expect(app.route.place.tab).toBe('events');
});

test('the timeline takes the arrows while it has the focus, and j and k from anywhere', async () => {
  await open();
  const first = app.request.rows.get(1)?.instanceId;
  screen.getByTestId('timeline').focus();
  await press('ArrowDown');
  expect(app.route.place.block).toBe(first);
  screen.getByTestId('session-ses-2').focus();
  await press('k');
  expect(app.route.place.block).toBe(app.request.root);
  await press('ArrowDown');
  expect(app.route.place.block).toBe(app.request.root);
  await press('j');
  expect(app.route.place.block).toBe(first);
  // A slider keeps its own arrows, and another tab has no rows to move in.
  screen.getByTestId('time-slider').focus();
  await press('ArrowDown');
  await press('2');
  await waitFor(() => expect(app.window.timeline).toBeNull());
  await press('j');
  expect(app.route.place.block).toBe(first);
});

test('while text is written keys are text, but those with Ctrl still act', async () => {
  await open();
  screen.getByTestId('session-search').focus();
  await press('2');
  await press('?', { shiftKey: true });
  expect([app.route.place.tab, app.window.sheet]).toEqual(['timeline', null]);
  await fireEvent.click(screen.getByTestId('session-filter'));
  (await screen.findByTestId('session-status')).focus();
  await press('l');
  await press('k', { ctrlKey: true });
  expect(app.window.sheet).toBe('palette');
});

test('with a dialog open no key reaches what is below it', async () => {
  await open();
  await press('?', { shiftKey: true });
  await screen.findByText('Follow the newest event');
  await press('2');
  await press('F6');
  expect([app.route.place.tab, app.window.sheet]).toEqual(['timeline', 'keys']);
});

test('F6 walks the parts of the window in order, and Shift+F6 back', async () => {
  await open();
  await waitFor(() => expect(document.querySelector('[data-zone=state] button')).not.toBeNull());
  const seen = [];
  for (let n = 0; n < 8; n++) {
    await press('F6');
    seen.push(zone());
  }
  expect(seen).toEqual(['header', 'flows', 'sessions', 'request', 'view', 'block', 'state', 'header']);
  await press('F6', { shiftKey: true });
  await press('F6', { shiftKey: true });
  await press('F6', { shiftKey: true });
  expect([zone(), document.activeElement]).toEqual(['view', screen.getByTestId('timeline')]);
});

test('F6 reaches the form where no request is open', async () => {
  await open('flow=research&action=plan');
  await screen.findByTestId('run-form');
  for (let n = 0; n < 4; n++) await press('F6');
  expect(zone()).toBe('main');
});

test('keys without Ctrl or Alt can be turned off, and stay so', async () => {
  await open();
  app.window.turnSingleKeys();
  await press('2');
  expect(app.route.place.tab).toBe('timeline');
  await press('F6');
  expect(zone()).toBe('header');
  cleanup();
  await open();
  await press('2');
  expect(app.route.place.tab).toBe('timeline');
  app.window.turnSingleKeys();
  await press('2');
  expect(app.route.place.tab).toBe('items');
});

test('Ctrl+Shift with a letter is another key than Ctrl with it', async () => {
  await open();
  await press('K', { ctrlKey: true, shiftKey: true });
  expect(app.window.sheet).toBe('fork');
  app.window.sheet = null;
  await waitFor(() => expect(document.querySelector('[role=dialog]')).toBeNull());
  await press('k', { ctrlKey: true });
  expect(app.window.sheet).toBe('palette');
});

test('every key of the table is in the list of keys', async () => {
  await open();
  await press('?', { shiftKey: true });
  await screen.findByText('Focus next pane');
  const shown = [...document.querySelectorAll('kbd')].map((one) => one.textContent);
  for (const key of ['Ctrl+K', 'F6', 'Shift+F6', 'n', 'j', 'PgDn', 'Ctrl+Enter', '5']) expect(shown).toContain(key);
});

test('a key is changed in the list of keys, refused where another command has it, and given back', async () => {
  await open();
  await press('?', { shiftKey: true });
  const keys = () => screen.getByTestId('keys-instant.nextFailure').textContent;
  const change = await screen.findByTestId('change-instant.nextFailure');
  change.focus();
  await fireEvent.click(change);
  await press('l');
  expect(screen.getByTestId('key-asked').textContent).toContain('“Follow the newest event”. Press another');
  await press('Escape');
  expect([app.window.sheet, keys()]).toEqual(['keys', 'n']);
  await fireEvent.click(change);
  await press('x');
  expect(keys()).toBe('x');
  await fireEvent.click(change);
  await press('Backspace');
  expect(keys()).toBe('none');
  await fireEvent.click(screen.getByTestId('keys-reset'));
  expect(keys()).toBe('n');
  expect(screen.queryByTestId('keys-reset')).toBeNull();
});

test('the palette runs a command of the table', async () => {
  await open();
  await press('k', { ctrlKey: true });
  await fireEvent.input(await screen.findByTestId('palette-input'), { target: { value: 'show the events' } });
  await fireEvent.keyDown(screen.getByTestId('palette-input'), { key: 'Enter' });
  await waitFor(() => expect(app.route.place.tab).toBe('events'));
});

test('the palette chooses light or dark, or leaves it to the system', async () => {
  await open();
  for (const [typed, theme] of [
    ['dark', 'dark'],
    ['theme: light', 'light'],
    ['theme system', undefined],
  ] as const) {
    await press('k', { ctrlKey: true });
    await fireEvent.input(await screen.findByTestId('palette-input'), { target: { value: typed } });
    await fireEvent.keyDown(screen.getByTestId('palette-input'), { key: 'Enter' });
    await waitFor(() => expect(document.documentElement.dataset.theme).toBe(theme));
  }
});

test('a command of the palette that moves the focus is not undone by the palette that closes', async () => {
  await open();
  screen.getByTestId('timeline').focus();
  await press('k', { ctrlKey: true });
  await fireEvent.input(await screen.findByTestId('palette-input'), { target: { value: 'go to the sessions' } });
  await fireEvent.keyDown(screen.getByTestId('palette-input'), { key: 'Enter' });
  await waitFor(() => expect(zone()).toBe('sessions'));
  await new Promise((done) => setTimeout(done, 300));
  expect(zone()).toBe('sessions');
});
