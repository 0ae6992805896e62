// The locals of two executions of a block, in the whole window over the recorded host.
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/svelte';
import { afterEach, beforeEach, expect, test } from 'vitest';
import App from './App.svelte';
import { FakeHost } from './host/fake';
import { lists } from './host/recorded';
import type { ComparedStatement, LocalsCompared, LocalsQuery } from './host/host';
import { AppModel } from './model/app.svelte';
import { Router } from './model/route.svelte';
import { wantedStatement } from './model/wanted-statement.svelte';

let app: AppModel;

/** The window over two requests; their locals are these. */
async function open(hash: string, compared: LocalsCompared) {
  const host = new FakeHost(0, 0);
  const queries: LocalsQuery[] = [];
  const compareLocals = async (query: LocalsQuery) => (queries.push(query), compared);
  Object.assign(host, { compareLocals });
  history.replaceState(null, '', `#${hash}`);
  app = new AppModel(host, new Router(window));
  render(App, { props: { app } });
  await screen.findByTestId('compare');
  await fireEvent.click(await screen.findByTestId('next-difference'));
  return queries;
}

/** The block that differs first, and an event by which it has begun. */
const right = lists.comparison.shown.find((row) => row.differs.length > 0)?.right;
const seq = right?.seqStart ?? 0;

const statement = (requestId: string, tick: number): ComparedStatement => ({
  requestId,
  instant: `root/step:report#0+${tick}`,
  seq,
  tick,
  file: 'flows/research.ts',
  line: 41,
  function: 'execute',
});

beforeEach(() => localStorage.clear());
afterEach(cleanup);

test('the first statement at which a local differs has both values, and leads into the source of a side', async () => {
  const queries = await open('compare=req-2&with=req-3', {
    equal: 3,
    left: statement('req-2', 4),
    right: statement('req-3', 4),
    locals: [{ name: 'limit', old: { kind: 'number', preview: '3' }, new: { kind: 'string', preview: '"3"' } }],
  });
  const local = await screen.findByTestId('differing-local');
  expect(local.textContent?.replace(/\s+/g, ' ').trim()).toBe('limit 3 → "3"');
  expect(queries).toHaveLength(1);
  const [query] = queries;
  expect(query).toMatchObject({ left: 'req-2', right: 'req-3' });
  expect(query?.leftAt).toMatch(/^root.*#\d+$/);
  const side = screen.getByTestId('locals-B');
  expect(side.textContent).toBe('flows/research.ts:41');
  await fireEvent.click(side);
  // What is wanted is there until the block shows it.
  expect(wantedStatement(app).now).toEqual({ instance: right?.instanceId, tick: 4 });
  await waitFor(() => expect(app.route.place).toMatchObject({ request: 'req-3', seq, block: right?.instanceId }));
  const tab = await screen.findByTestId('block-tab-source', {}, { timeout: 10_000 });
  await waitFor(() => expect(tab.getAttribute('aria-selected')).toBe('true'));
});

test('blocks that go another way, or that have the same locals, say so', async () => {
  await open('compare=req-2&with=req-3', { equal: 2, left: statement('req-2', 3), locals: [], note: 'a note' });
  const section = await screen.findByTestId('compare-locals');
  await waitFor(() => expect(section.textContent).toContain('After 2 equal statements they go another way'));
  expect(section.textContent).toContain('has ended');
  expect(section.textContent).toContain('a note');
  cleanup();
  await open('compare=req-2&with=req-3', { equal: 7, locals: [] });
  await screen.findByText('The same at 7 statements.');
});
