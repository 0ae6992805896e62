// A tooltip is shown after a rest, and never lies over what opened.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { REST_MS, tooltips } from './tooltips';

let stop = () => {};

function open(html: string) {
  document.body.innerHTML = html;
  stop = tooltips(document);
}
const one = (id: string) => document.getElementById(id) as HTMLElement;
const titleOf = (id: string) => one(id).getAttribute('title');
function point(kind: string, id: string, relatedTarget?: HTMLElement) {
  one(id).dispatchEvent(new MouseEvent(kind, { bubbles: true, relatedTarget }));
}
const shown = () => document.querySelector('[role=tooltip]')?.textContent ?? null;

beforeEach(() => vi.useFakeTimers());
afterEach(() => (stop(), vi.useRealTimers()));

test('a pointer that rests is told, and nothing is left when it goes', () => {
  open('<div id="row" title="row"><button id="menu" title="More"><i id="icon"></i></button></div><p id="away"></p>');
  point('pointerover', 'icon');
  expect([titleOf('row'), titleOf('menu'), shown()]).toEqual([null, null, null]);
  vi.advanceTimersByTime(REST_MS - 1);
  expect(shown()).toBeNull();
  vi.advanceTimersByTime(1);
  expect(shown()).toBe('More');
  point('pointerout', 'icon', one('away'));
  expect([titleOf('row'), titleOf('menu'), shown()]).toEqual(['row', 'More', null]);
});

test('what was pressed says nothing until the pointer comes again', () => {
  open('<button id="menu" title="More"></button><p id="away"></p>');
  point('pointerover', 'menu');
  point('pointerdown', 'menu');
  point('pointerover', 'menu');
  vi.advanceTimersByTime(2 * REST_MS);
  expect(shown()).toBeNull();
  point('pointerout', 'menu', one('away'));
  expect(titleOf('menu')).toBe('More');
  point('pointerover', 'menu');
  vi.advanceTimersByTime(REST_MS);
  expect(shown()).toBe('More');
});

test('with a menu open only what is in it says a tooltip', () => {
  open('<button id="below" title="below"></button><div id="menu"><b id="inside" title="inside"></b></div>');
  point('pointerover', 'below');
  one('menu').setAttribute('role', 'menu');
  vi.advanceTimersByTime(REST_MS);
  expect(shown()).toBeNull();
  point('pointerout', 'below', one('inside'));
  point('pointerover', 'inside');
  vi.advanceTimersByTime(REST_MS);
  expect(shown()).toBe('inside');
});

test('what opened a popover says nothing while that is open', () => {
  open('<button id="ids" title="Details" data-state="open"></button>');
  point('pointerover', 'ids');
  vi.advanceTimersByTime(REST_MS);
  expect(shown()).toBeNull();
});

test('a tooltip goes with what it is about', async () => {
  open('<main><button id="row" title="4 ms"></button></main><p id="away"></p>');
  point('pointerover', 'row');
  vi.advanceTimersByTime(REST_MS);
  one('away').append('news');
  await Promise.resolve();
  expect(shown()).toBe('4 ms');
  document.querySelector('main')?.remove();
  await Promise.resolve();
  expect(shown()).toBeNull();
});

test('a window of another size has its parts elsewhere', () => {
  open('<button id="row" title="4 ms"></button>');
  point('pointerover', 'row');
  vi.advanceTimersByTime(REST_MS);
  window.dispatchEvent(new Event('resize'));
  expect(shown()).toBeNull();
});

test('a key takes it away, and a tooltip that changed meanwhile stays as it is', () => {
  open('<button id="turn" title="Show it"></button><p id="away"></p>');
  point('pointerover', 'turn');
  vi.advanceTimersByTime(REST_MS);
  expect(shown()).toBe('Show it');
  document.body.dispatchEvent(new KeyboardEvent('keydown', { bubbles: true }));
  expect(shown()).toBeNull();
  one('turn').title = 'Put it away';
  point('pointerout', 'turn', one('away'));
  expect(titleOf('turn')).toBe('Put it away');
});

test('a tooltip shows marks that reorder its text as escapes', () => {
  open('<p id="row"></p><p id="away"></p>');
  one('row').title = 'pay \u202egro.live';
  point('pointerover', 'row');
  vi.advanceTimersByTime(REST_MS);
  expect(shown()).toBe('pay \\u202egro.live');
});
