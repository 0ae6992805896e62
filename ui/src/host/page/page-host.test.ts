// A page answers as the engine does: both answers are of the same runs (`tests/it/recorded.rs` writes them), and are
// compared for every row, item and state at every instant.
import { describe, expect, test } from 'vitest';
import type { Audience, Fault, ViewRow } from '../host';
import chat from '../recorded/chat.json?raw';
import chatPage from '../recorded/chat.page.txt?raw';
import failed from '../recorded/failed.json?raw';
import failedPage from '../recorded/failed.page.txt?raw';
import research from '../recorded/research.json?raw';
import researchPage from '../recorded/research.page.txt?raw';
import stress from '../recorded/stress.json?raw';
import stressPage from '../recorded/stress.page.txt?raw';
import type { Recorded } from '../recording';
import { Chunks } from './chunks';
import { pageHost, type Head } from './page-host';

const AUDIENCES: Audience[] = ['all', 'client', 'history', 'trace'];

async function opened(text: string, page: string) {
  const recorded = JSON.parse(text) as Recorded;
  const parts = new Map(
    [...page.matchAll(/id="flowglass-([^"]+)">([^<]*)</g)].map(([, name = '', data = '']) => [name, data]),
  );
  const chunks = new Chunks((name) => parts.get(name) ?? null);
  const host = await pageHost(chunks, await chunks.load<Head>('head'));
  return { recorded, answers: recorded.answers, host, id: recorded.head.request.id };
}

/** All rows, unfolded. */
async function rowsOf(host: Awaited<ReturnType<typeof opened>>['host'], at: number | null) {
  return (await host.viewRows(1, { offset: 0, limit: 100_000, at })).page;
}

/** As JSON has it: what is not there is left out. */
const plain = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

describe.each([
  ['chat', chat, chatPage],
  ['research', research, researchPage],
  ['failed', failed, failedPage],
  ['stress', stress, stressPage],
])('%s', (_, text, page) => {
  test('the head, and the rows of every instant', async () => {
    const { recorded, answers, host } = await opened(text, page);
    const { view: _, page: __, rows: ___, ...known } = recorded.head;
    expect(await host.openView('')).toMatchObject(known);
    await host.viewFold(1, { node: null, folded: false });
    const numbered = (rows: readonly number[]) => rows.map((row) => recorded.rows[row] as ViewRow);
    // What is critical is known in a page from the start; the engine finds it when the overview is first drawn.
    const plainRows = (rows: ViewRow[]) => plain(rows.map((row) => ({ ...row, isCritical: undefined })));
    expect(plainRows(await rowsOf(host, null))).toEqual(plainRows(numbered(answers.newest)));
    for (const [seq, rows] of answers.rowsAt ?? []) {
      if (seq >= recorded.head.seq) continue;
      expect([seq, plainRows(await rowsOf(host, seq))]).toEqual([seq, plainRows(numbered(rows))]);
    }
  });

  test('what begins folded, and what a filter leaves', async () => {
    const { recorded, answers, host } = await opened(text, page);
    const numbered = (rows: readonly number[]) => rows.map((row) => recorded.rows[row] as ViewRow);
    const { page: first, rows } = await host.viewRows(1, { offset: 0, limit: 100_000 });
    expect(rows).toBe(recorded.head.rows);
    const folded = recorded.folded.map((place) => numbered(answers.newest)[place]?.node);
    const isWrong = (row: ViewRow) => row.isFolded && !folded.includes(row.node);
    expect(first.filter(isWrong)).toEqual([]);
    for (const [filter, { filtered, rows, fault }] of Object.entries(answers.filters)) {
      const found = await host.viewFilter(1, filter).catch((thrown: Fault) => thrown);
      expect([filter, found]).toEqual([filter, filtered ?? fault]);
      const nodes = (all: ViewRow[]) => all.map(({ node, matches }) => [node, matches]);
      const left = rows ? numbered(rows) : await rowsOf(host, null);
      expect(nodes(await rowsOf(host, null))).toEqual(nodes(left));
    }
  });

  test('the items of every instant, for every audience', async () => {
    const { recorded, answers, host } = await opened(text, page);
    for (const [seq, seen] of answers.itemsAt ?? []) {
      for (const audience of AUDIENCES) {
        const found = await host.viewItems(1, { audience, offset: 0, limit: 200, at: seq });
        const known = (seen[audience] ?? []).map((item) => recorded.items[item]);
        expect([seq, audience, plain(found.page)]).toEqual([seq, audience, known]);
        expect(found.counts[audience]).toBe(known.length);
      }
    }
  });

  test('states, differences, writers, and what blocks did', async () => {
    const { recorded, answers, host, id } = await opened(text, page);
    for (const [from, known] of answers.states) {
      const seq = answers.rowsAt ? from : recorded.head.seq;
      const { seq: _, at: __, ...found } = await host.stateAt(id, seq);
      const { clientData: ___, ...state } = known;
      expect([seq, plain(found)]).toEqual([seq, state]);
    }
    for (const [span, known] of Object.entries(answers.diffs)) {
      const [from = 0, to = 0] = span.split(' ').map(Number);
      expect([span, plain(await host.diff(id, from, to))]).toEqual([span, known]);
    }
    for (const [place, known] of Object.entries(answers.history))
      expect(plain(await host.history(id, place))).toEqual(known);
    for (const [instance, known] of Object.entries(answers.blocks))
      expect(plain(await host.block(id, instance))).toEqual(known);
  });

  test('events, stops, the overview and checkpoints', async () => {
    const { recorded, answers, host, id } = await opened(text, page);
    expect(plain(await host.events(id, 1, recorded.head.seq))).toEqual(answers.events);
    expect(plain(await host.events(id, 7, 2))).toEqual(answers.events.slice(6, 8));
    expect(await host.checkpoints(id)).toEqual(answers.checkpoints);
    for (const to of ['End', 'Failure', 'Boundary'] as const) {
      const seqs: number[] = [];
      for (let seq: number | null = 0; (seq = await host.viewStep(1, { seq, to: `next${to}` })) !== null;)
        seqs.push(seq);
      expect([to, seqs]).toEqual([to, answers.steps[to]]);
    }
    const { critical, ...known } = answers.overview;
    const found = await host.viewOverview(1, { width: known.cells.length });
    expect(found).toMatchObject(known);
    const nodes = new Set(found.critical.map(({ node }) => node));
    expect(critical.filter(({ node }) => !nodes.has(node))).toEqual([]);
    expect(await host.viewSeqAt(1, recorded.head.to)).toBe(recorded.head.seq);
  });
});

test('what cannot be done in a page is refused', async () => {
  const { host, id } = await opened(chat, chatPage);
  await expect(host.resume(id, {})).rejects.toMatchObject({ kind: 'refused' });
  await expect(host.openInEditor('a.ts', 1, null)).rejects.toMatchObject({ kind: 'refused' });
});
