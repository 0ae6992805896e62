// Texts that flows and people wrote, on every page: characters that make a text read as another one are shown as escapes.
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test } from 'vitest';
import App from './App.svelte';
import { inOrder } from './base/json';
import { FakeHost } from './host/fake';
import type { SuspensionRow, VerifiedRun } from './host/host';
import { runs } from './host/recorded';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';

/** Reverses what follows, isolates it, ends a text in C, is half a letter, and hides a letter. */
const MARKS = '\u202e\u2066\u0000\ud800\u{e0041}';
const ESCAPED = inOrder(MARKS);
const HOSTILE = `pay${MARKS}gro.live`;
const recorded = { ...runs };
let app: AppModel;

/** The recorded requests with the marks in an input, a key of the state, an error, an item and an output. */
function spoil() {
  const marks = JSON.stringify(MARKS).slice(1, -1);
  for (const name of ['chat', 'research', 'failed'] as const)
    runs[name] = recorded[name]
      .replaceAll('"topic"', `"topic${marks}"`)
      .replaceAll('wild bees', `wild${marks} bees`)
      .replaceAll('expected boolean', `expected${marks} boolean`)
      .replaceAll('Three questions', `Three${marks} questions`)
      .replaceAll('"Habitat"', `"Habitat${marks}"`)
      .replaceAll('every sentence', `every${marks} sentence`);
}

async function hostileHost(): Promise<FakeHost> {
  const host = new FakeHost(0, 0);
  for (const id of ['req-1', 'req-2', 'req-3'])
    await host.tagRuns([id], {
      add: [HOSTILE],
      remove: [],
      title: `title ${HOSTILE}`,
      note: `note ${HOSTILE}`,
    } as never);
  for (const id of ['ses-1', 'ses-2']) await host.tagSession(id, { add: [HOSTILE], title: HOSTILE } as never);
  const waiting = {
    id: 's1',
    requestId: 'req-1',
    sessionId: 'ses-1',
    path: 'root/step:pay',
    seq: 9,
    reason: 'approval',
    message: HOSTILE,
    data: { toolCalls: [{ toolName: 'pay', args: { [HOSTILE]: HOSTILE } }] },
    allow: ['approve', 'reject'],
    status: 'pending',
    createdAt: Date.now(),
  } as unknown as SuspensionRow;
  host.suspensions = async () => [waiting];
  const verdict = { requestId: 'req-2', flow: 'research', action: 'research', verdict: 'differs', path: 'root' };
  const results = [
    {
      ...verdict,
      field: 'output',
      place: HOSTILE,
      seq: 7,
      recorded: { [HOSTILE]: HOSTILE },
      found: HOSTILE,
      why: HOSTILE,
    },
  ] as unknown as VerifiedRun[];
  const none = { same: 0, differs: 0, asksNew: 0, unaffected: 0, doesNotLoad: 0, notComparable: 0, groups: [] };
  host.verify = async () => ({ ...none, results, notRun: 0 }) as never;
  return host;
}

async function open(hash: string, host?: FakeHost) {
  history.replaceState(null, '', `#${hash}`);
  app = new AppModel(host ?? (await hostileHost()), new Router(window));
  render(App, { props: { app } });
}

const isRaw = (text: string) => inOrder(text) !== text;

/** Texts on the page that hold a raw mark, each with where it is. */
function raw(): string[] {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found: string[] = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const parent = node.parentElement as HTMLElement;
    if (parent.tagName === 'TEXTAREA' || !isRaw(node.textContent ?? '')) continue;
    const near = parent.closest('[data-testid]')?.getAttribute('data-testid') ?? '';
    found.push(
      `${near} <${parent.tagName.toLowerCase()} class="${parent.className}">: ${inOrder(node.textContent ?? '')}`,
    );
  }
  return found;
}

beforeEach(() => {
  localStorage.clear();
  spoil();
});
afterEach(() => {
  cleanup();
  Object.assign(runs, recorded);
});

const BLOCK = encodeURIComponent('req-3:root/forEach:section[1]/step:check:0');

test.each([
  ['home', '', 'last-run'],
  ['runs', 'runs=', 'run-row'],
  ['waiting', 'waiting=', 'waiting'],
  ['timeline', 'session=ses-2&request=req-3', 'request-title'],
  ['failed block', `session=ses-2&request=req-3&block=${BLOCK}`, 'request-error'],
  ['conversation tab', 'session=ses-2&request=req-2&tab=items', 'item'],
  ['state', 'session=ses-2&request=req-2&tab=state', 'state-page'],
  ['events', 'session=ses-2&request=req-3&tab=events', 'event-row'],
  ['journal', 'session=ses-2&request=req-3&tab=journal', 'request-title'],
  ['checkpoints', 'session=ses-2&request=req-3&tab=checkpoints', 'request-title'],
  ['session', 'session=ses-2&conversation=', 'turn'],
  ['compare', 'compare=req-2&with=req-3', 'compare-row'],
  ['verify', 'verify=', 'verify-group'],
])('on the page %s no text reads as another one', async (_, hash, there) => {
  await open(hash);
  await screen.findAllByTestId(there);
  await waitFor(() => expect(document.body.textContent).toContain(ESCAPED));
  expect(raw()).toEqual([]);
});

test.each(['input', 'output', 'changes', 'items', 'model', 'log'])('in the tab %s of a block neither', async (tab) => {
  await open(`session=ses-2&request=req-2&block=${encodeURIComponent('req-2:root/step:outline:0')}`);
  await fireEvent.click(await screen.findByTestId(`block-tab-${tab}`));
  await waitFor(() => expect(screen.getByTestId(`block-tab-${tab}`).getAttribute('aria-selected')).toBe('true'));
  expect(raw()).toEqual([]);
});

test.each(['flame', 'tag', 'fork', 'history', 'diff', 'export', 'keep', 'delete', 'retry'] as const)(
  'in the sheet %s neither',
  async (sheet) => {
    await open('session=ses-2&request=req-3');
    await screen.findByTestId('request-title');
    app.window.sheet = sheet;
    await screen.findByRole('dialog');
    expect(raw()).toEqual([]);
  },
);

test('an error of the host neither', async () => {
  const host = await hostileHost();
  host.runs = () => Promise.reject({ kind: 'storage', message: HOSTILE });
  await open('runs=', host);
  await waitFor(() => expect(document.body.textContent).toContain(ESCAPED));
  app.faults.add({ kind: 'internal', message: HOSTILE });
  await screen.findByTestId('fault');
  expect(raw()).toEqual([]);
});
