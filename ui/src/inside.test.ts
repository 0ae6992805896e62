// The debugger inside a block, in the whole window, over a recording with synthetic answers about the inside.
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test } from 'vitest';
import App from './App.svelte';
import { FakeHost } from './host/fake';
import type { Captured, InsideQuery, Instant, Printed } from './host/host';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';

const [FILE, HELPER] = ['flows/research.ts', 'lib/checks.ts'];
const TEXT = Array.from({ length: 120 }, (_, n) => `  const line${n + 1} = sum;`).join('\n');
const FAILED = 'section[1]/step:check';
const TICKS = 55;
let app: AppModel;
let host: FakeHost;
let asked: InsideQuery[] = [];

const value = (preview: string, handle?: string): Captured => ({ kind: 'object', preview, handle: handle ?? null });

/** The instant with this tick. Ticks below ten are in a helper in another file. */
const instantAt = (path: string, attempt: number, tick: number, seq: number): Instant =>
  ({
    instant: `${path}#${attempt}+${tick}`,
    file: tick < 10 ? HELPER : FILE,
    line: tick < 10 ? tick : 40 + tick,
    column: 3,
    endLine: tick < 10 ? tick : 40 + tick,
    endColumn: 9,
    function: tick < 10 ? 'check' : 'execute',
    path,
    attempt,
    tick,
    ticks: TICKS,
    locals: [
      { name: 'sum', value: value(String(tick)) },
      { name: 'order', value: value('<b>{…}</b>', `order ${tick}`) },
    ],
    watches: [],
    stack: [{ function: 'execute', file: FILE, line: 40 + tick }],
    seq,
  }) as unknown as Instant;

const seqOf = () => app.detail.answer?.block.seqStart ?? 1;

async function open(request = 'req-3') {
  asked = [];
  host = new FakeHost(0, 0);
  host.blockSource = async () => ({ file: FILE, hash: '', text: TEXT, from: 90, to: 110 });
  host.filesThatRan = async () => [
    { file: FILE, text: TEXT },
    { file: HELPER, text: 'export const check = 1;\n'.repeat(12) },
  ];
  host.coverage = async () => [
    {
      file: FILE,
      lines: [
        { line: 95, hits: 12 },
        { line: 96, hits: 0 },
        { line: 97, hits: 1234 },
      ],
    },
  ];
  host.openValue = async (handle) => ({
    kind: 'object',
    preview: '',
    total: 1,
    entries: [{ name: 'of', value: value(`inside ${handle}`) }],
  });
  host.stepInside = async (_, query) => {
    asked.push(query);
    const [, path = '', attempt = 0, at = TICKS] = /^(.+)#(\d+)(?:\+(\d+))?$/.exec(query.at) ?? [];
    const from = Number(at);
    const by = query.to === 'stay' ? 0 : typeof query.to === 'string' ? (query.to.startsWith('back') ? -1 : 1) : 0;
    const tick = typeof query.to === 'string' ? from + by : (query.to.to ?? query.to.backTo ?? 0) - 40;
    return {
      ...instantAt(path, Number(attempt), tick, seqOf()),
      watches: query.watches.map((one) => value(`is ${one}`)),
    };
  };
  history.replaceState(null, '', `#session=ses-2&request=${request}`);
  app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
  await screen.findAllByTestId('timeline-row');
}

beforeEach(() => localStorage.clear());
afterEach(cleanup);

async function choose(path: string): Promise<HTMLElement> {
  const rows = await screen.findAllByTestId('timeline-row');
  await fireEvent.click(rows.find((row) => row.dataset.path?.endsWith(path)) as HTMLElement);
  return screen.getByTestId('inspector');
}

const tick = () => screen.getByTestId('statement').dataset.tick;
const untilTick = (wanted: number) => waitFor(() => expect(tick()).toBe(String(wanted)));
const row = (line: number) => document.querySelector(`[data-line="${line}"]`) as HTMLElement;
const press = (key: string, more: Partial<KeyboardEventInit> = {}) =>
  fireEvent.keyDown(document.body, { key, ...more });

test('a failed block opens at the throwing statement, with locals and line counts', async () => {
  await open();
  await choose(FAILED);
  await untilTick(TICKS);
  // The instant has not moved yet.
  expect(app.route.place.seq).toBeNull();
  expect(row(95).getAttribute('aria-current')).toBe('step');
  await waitFor(() => expect(row(95).querySelector('[data-hits]')?.textContent).toBe('12'));
  expect(row(97).querySelector('[data-hits]')?.textContent).toBe('1.2k');
  expect(row(96).querySelector('[data-hits]')?.textContent).toBe('');
  const locals = within(screen.getByTestId('locals'));
  expect(locals.getAllByTestId('local').map((one) => one.dataset.name)).toEqual(['sum', 'order']);
  // Values from a flow are shown as text, not as markup.
  expect(document.querySelector('[data-testid=locals] b')).toBeNull();
  await fireEvent.click(locals.getAllByTestId('local')[1] as HTMLElement);
  await locals.findByText(`inside order ${TICKS}`);
});

test('keys step, and the window follows', async () => {
  await open();
  await choose(FAILED);
  await untilTick(TICKS);
  // Outside of the source this key opens the context menu.
  await press('F10', { shiftKey: true });
  expect(asked.at(-1)?.to).toBe('stay');
  await fireEvent.keyDown(screen.getByTestId('source-lines'), { key: 'F10', shiftKey: true });
  await untilTick(TICKS - 1);
  expect(asked.at(-1)?.to).toBe('backOver');
  expect(app.route.place.seq).toBe(seqOf());
  // The source stays, though the block has not failed yet at this instant.
  expect(screen.getByTestId('block-tab-source').getAttribute('aria-selected')).toBe('true');
  await press('F10');
  await untilTick(TICKS);
  await press('F11', { shiftKey: true });
  await untilTick(TICKS - 1);
  expect(asked.at(-1)?.to).toBe('back');
  await fireEvent.click(screen.getByTestId('step-out'));
  expect(asked.at(-1)?.to).toBe('out');
  // Without a source on screen the keys do nothing.
  await fireEvent.click(screen.getByTestId('block-tab-output'));
  await waitFor(() => expect(app.window.source).toBeNull());
  const before = asked.length;
  await press('F10');
  expect(asked.length).toBe(before);
});

test('a helper in another file is shown with its own text', async () => {
  await open();
  await choose(FAILED);
  await untilTick(TICKS);
  app.window.source?.step({ to: 44 });
  await untilTick(4);
  await waitFor(() => expect(screen.getByTestId('source-file').textContent).toBe(HELPER));
  expect(row(4).getAttribute('aria-current')).toBe('step');
  // A stack frame shows the caller without moving the instant.
  await fireEvent.click(screen.getByTestId('stack-frame'));
  await waitFor(() => expect(screen.getByTestId('source-file').textContent).toContain(FILE));
  expect(tick()).toBe('4');
});

test('a successful block begins with a step, and can run to a line', async () => {
  await open('req-2');
  const inspector = await choose('root/step:report');
  await fireEvent.click(await within(inspector).findByTestId('block-tab-source'));
  await waitFor(() => expect(app.window.source).not.toBeNull());
  expect(asked).toEqual([]);
  await press('F11');
  await untilTick(TICKS);
  await waitFor(() => expect(row(95)).not.toBeNull());
  await fireEvent.click(row(92).querySelector('[data-margin]') as HTMLElement, { ctrlKey: true });
  await untilTick(52);
  await fireEvent.click(row(91).querySelector('[data-margin]') as HTMLElement, { ctrlKey: true, shiftKey: true });
  await untilTick(51);
  expect(asked.slice(-2).map(({ to }) => to)).toEqual([{ to: 92 }, { backTo: 91 }]);
});

test('prints expressions at a line, and a click on a hit moves the window', async () => {
  await open();
  await choose(FAILED);
  await untilTick(TICKS);
  const { block } = app.detail.answer ?? {};
  const hit = (at: number) => ({
    requestId: 'req-3',
    path: block?.path ?? '',
    attempt: 0,
    tick: at,
    seq: seqOf(),
    at: 0,
    line: 95,
    column: 3,
    values: [value(`hit ${at}`), { error: { name: 'TypeError', message: 'no' } }],
  });
  const queries: unknown[] = [];
  let answer: Pick<Printed, 'hits' | 'total' | 'note' | 'notAsked'> = {
    notAsked: [],
    hits: [hit(20), hit(30)],
    total: 2,
  };
  host.printAt = async (query) => (queries.push(query), { truncated: false, ran: 1, ...answer });
  const grid = screen.getByTestId('source-lines');
  grid.focus();
  await fireEvent.keyDown(grid, { key: 'ArrowUp' });
  await fireEvent.keyDown(grid, { key: 'ArrowDown' });
  await fireEvent.keyDown(grid, { key: 'Enter' });
  const input = (await screen.findByTestId('print-input')) as HTMLInputElement;
  await waitFor(() => expect(document.activeElement).toBe(input));
  await fireEvent.input(input, { target: { value: 'sum, f(a, b)' } });
  await fireEvent.keyDown(input, { key: 'Enter' });
  const hits = await screen.findAllByTestId('print-hit');
  expect(queries).toEqual([{ file: FILE, line: 95, expressions: ['sum', 'f(a, b)'], request: 'req-3' }]);
  expect(hits.map((one) => one.textContent)).toEqual([
    expect.stringContaining('hit 20'),
    expect.stringContaining('hit 30'),
  ]);
  await fireEvent.click(within(hits[1] as HTMLElement).getAllByRole('button')[0] as HTMLElement);
  await untilTick(30);
  expect(app.route.place.seq).toBe(seqOf());
  // For the whole flow: the reason for a skipped request, and a note if there is no hit.
  answer = { hits: [], total: 0, note: 'never reached', notAsked: [{ requestId: 'req-9', why: 'its code is gone' }] };
  await fireEvent.click(within(screen.getByTestId('print')).getByRole('radio', { name: 'Whole flow' }));
  await waitFor(() => expect(screen.getByTestId('print-note').textContent).toBe('never reached'));
  expect(screen.getByTestId('print-not-asked').textContent).toContain('its code is gone');
  expect(queries.at(-1)).toMatchObject({ flow: 'research' });
  host.printAt = async () => Promise.reject({ kind: 'invalid', message: 'does not parse (column 7)' });
  await fireEvent.keyDown(input, { key: 'Enter' });
  await waitFor(() => expect(screen.getByTestId('print-fault').textContent).toContain('column 7'));
  expect(input.getAttribute('aria-invalid')).toBe('true');
  await fireEvent.keyDown(input, { key: 'Escape' });
  expect(screen.queryByTestId('print')).toBeNull();
  expect(document.activeElement).toBe(grid);
});

test('watch expressions are added, kept for other blocks, and removed', async () => {
  await open();
  await choose(FAILED);
  await untilTick(TICKS);
  await fireEvent.click(screen.getByTestId('watch-add'));
  const input = await screen.findByTestId('watch-input');
  await fireEvent.input(input, { target: { value: 'order.kind' } });
  await fireEvent.keyDown(input, { key: 'Enter' });
  await waitFor(() => expect(screen.getByTestId('watch-expression').textContent).toContain('is order.kind'));
  await choose('root/tap:begin');
  await choose(FAILED);
  await waitFor(() => expect(screen.getByTestId('watch-expression').textContent).toContain('is order.kind'));
  await fireEvent.click(screen.getByRole('button', { name: 'Stop watching order.kind' }));
  await waitFor(() => expect(screen.queryByTestId('watch-expression')).toBeNull());
});

test('a block without statements says so, and offers a handler inside it', async () => {
  await open();
  host.stepInside = async () => Promise.reject({ kind: 'notFound', message: 'block root ran no statement' });
  host.coverage = async () => Promise.reject({ kind: 'internal', message: 'a thread ended' });
  const inspector = await choose('root');
  await fireEvent.click(await within(inspector).findByTestId('block-tab-source'));
  const note = await screen.findByTestId('step-fault');
  expect(note.textContent).toContain('ran no statement');
  expect(note.className).not.toContain('text-bad');
  expect((await screen.findByTestId('coverage-fault')).textContent).toContain('a thread ended');
});

test('counts that a limit cut short say so', async () => {
  await open();
  host.coverage = async () => [{ file: FILE, lines: [{ line: 95, hits: 12 }], endedByLimit: true }];
  await choose(FAILED);
  expect((await screen.findByTestId('coverage-cut')).textContent).toContain('not complete');
  expect(row(95).querySelector('[data-hits]')?.textContent).toBe('12');
});

test('ignores an answer for a block that is no longer shown', async () => {
  await open();
  let answer: (found: Instant) => void = () => {};
  const inspector = await choose(FAILED);
  await untilTick(TICKS);
  const { path, attempt } = app.detail.answer?.block ?? { path: '', attempt: 0 };
  host.stepInside = () => new Promise((resolve) => (answer = resolve));
  await press('F10');
  await choose('root/tap:begin');
  await waitFor(() => expect(within(inspector).queryByTestId('block-source')).toBeNull());
  const { seq } = app.route.place;
  answer(instantAt(path, attempt, 3, 2));
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(app.route.place.seq).toBe(seq);
});
