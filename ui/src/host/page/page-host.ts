// The host of a page: one recorded request, answered from the data in the file. Nothing can be run or changed, and there
// is nothing beside the request; what is asked of the rest is refused.
import type { BlockDetail, CheckpointRow, EventParts, EventRow, Fault, RequestRow } from '../host';
import type { Host, Json, StateView, ViewCalls, ViewHead } from '../host';
import { blockRow, Blocks } from './blocks';
import type { Chunks } from './chunks';
import { Table, type WrittenTable } from './columns';
import { fitsOf, type Sources } from './fits';
import { PageItems, type WrittenItem } from './items';
import { openQuestions } from './questions';
import { PageRows, type WrittenRows } from './rows';
import { States } from './states';
import type { WrittenTrack } from './track';
import { Values } from './values';
import { PageView, type Stops } from './view';

/** The form of the data that this page reads. */
export const FORMAT = 1;
/** What a page reads first. */
export type Head = {
  format: number;
  audience: 'all';
  flowglass: string;
  madeAt: number;
  view: ViewHead;
  isLeftOut: boolean;
  chunks: { blocks: number; events: number; items: number; states: number; values: number[] };
};
type Lists = { calls: ViewCalls | null; checkpoints: CheckpointRow[]; journal: Json[] };
type Answers = Partial<Host>;

const NOT_HERE: Fault = {
  kind: 'refused',
  message: 'This is a read-only copy of one run: it has no engine and no other runs.',
};

/** A whole list that is in chunks of so many. */
async function whole<T>(chunks: Chunks, name: string, count: number): Promise<T[]> {
  const read = Array.from({ length: count }, (_, at) => chunks.load<T[]>(`${name}-${at}`));
  return (await Promise.all(read)).flat();
}

export async function pageHost(chunks: Chunks, head: Head): Promise<Host> {
  const { view: newest, chunks: sizes } = head;
  const { request } = newest;
  const [written, stops, overview, time] = await Promise.all([
    chunks.load<WrittenRows>('rows'),
    chunks.load<Record<keyof Stops, WrittenTable>>('stops'),
    chunks.load<Pick<PageView['overviewOfAll'], 'gaps' | 'critical'>>('overview'),
    chunks.load<WrittenTable>('times'),
  ]);
  const rows = PageRows.of(request.id, written);
  const values = new Values(chunks, sizes.values, {
    path: (row) => rows.paths[row] ?? '',
    instance: (row) => rows.instance(row),
  });
  const times = new Table(time).numbers('n', 0);
  const timeOf = (seq: number) => times[seq - 1] ?? null;
  const blocks = new Blocks(
    chunks,
    values,
    sizes.blocks,
    rows.block.reduce((most, one) => Math.max(most, one + 1), 0),
  );

  let states: Promise<States> | null = null;
  const allStates = () =>
    (states ??= whole<unknown>(chunks, 'states', sizes.states)
      .then((tracks) => values.read<WrittenTrack[]>(tracks))
      .then((tracks) => new States(tracks, timeOf)));
  const stateAt = async (seq: number): Promise<StateView> => (await allStates()).at(seq);

  const about = { rows, blocks, last: newest.seq, isLeftOut: head.isLeftOut, stateAt };
  let items: Promise<PageItems> | null = null;
  const allItems = () =>
    (items ??= whole<WrittenItem>(chunks, 'items', sizes.items).then((all) => PageItems.read(all, values, about)));

  let lists: Promise<Lists> | null = null;
  const allLists = () => (lists ??= chunks.load<unknown>('lists').then((read) => values.read<Lists>(read)));

  const sources: Sources = { rows, blocks, values, states: allStates, found: new Map() };
  const seqs = (name: keyof Stops) => new Table(stops[name]).numbers('n', 0);
  const view = new PageView(
    rows,
    newest.seq,
    { End: seqs('End'), Failure: seqs('Failure'), Boundary: seqs('Boundary') },
    { ...overview, from: newest.from, to: newest.to },
    (text) => fitsOf(text, sources),
  );

  async function events(_: string, from: number, limit: number): Promise<EventRow[]> {
    const last = Math.min(times.length, from - 1 + limit);
    const found: EventRow[] = [];
    for (let at = Math.max(0, from - 1); at < last;) {
      const chunk = await chunks.load<unknown[]>(`events-${Math.floor(at / sizes.events)}`);
      const first = at % sizes.events;
      const read = await values.read<[string, string | null, Json][]>(chunk.slice(first, first + last - at));
      for (const [n, [kind, instanceId, payload]] of read.entries()) {
        const path = instanceId?.slice(request.id.length + 1).replace(/:\d+$/, '');
        const seq = at + n + 1;
        found.push({ seq, at: timeOf(seq) ?? 0, kind, ...(instanceId !== null && { path, instanceId }), payload });
      }
      at += sizes.events - first;
    }
    return found;
  }

  const answers: Answers = {
    isCopy: true,
    events,
    async eventParts(id, from, limit) {
      const all = await events(id, from, limit);
      return all.map(({ payload, ...event }): EventParts => ({ ...event, payload: { inline: payload } }));
    },
    async openView() {
      const { page } = view.page({ offset: 0, limit: 64 });
      return { ...newest, rows: view.total, page };
    },
    viewRows: async (_, query) => view.page(query),
    viewFold: async (_, query) => view.fold(query),
    viewFilter: async (_, text) => view.filter(text),
    viewFind: async (_, query) => view.find(query),
    viewRowOf: async (_, query) => view.rowOf(query),
    viewStep: async (_, query) => view.step(query),
    viewBlocks: async (_, instances) => view.blocks(instances),
    viewOverview: async (_, query) => view.overview(query),
    viewTimeOf: async (_, seq) => timeOf(seq),
    async viewSeqAt(_, at) {
      const found = times.findLastIndex((one, n) => one <= at && n + 1 > newest.start);
      return found < 0 ? newest.start : found + 1;
    },
    viewItems: async (_, query) => (await allItems()).page(query),
    async viewCalls(_, after) {
      const { calls } = await allLists();
      const changed = (calls?.blocks ?? []).filter((one) => one.seqStart > after || (one.seqEnd ?? Infinity) > after);
      return { seq: newest.seq, blocks: changed };
    },
    async block(id, instance): Promise<BlockDetail> {
      const row = rows.ofInstance(instance) ?? -1;
      const found = row < 0 ? null : await blocks.read(rows.block[row] ?? -1);
      if (!found) throw { kind: 'notFound', message: `There is no block ${instance} in ${id}.` } satisfies Fault;
      const { writes, error, items = [], logs = [], asked = [], effects = [], modelCalls = [], ...more } = found;
      const block = blockRow(rows, row, error);
      const changes = writes ? (await allStates()).ofBlock(writes, block.path) : [];
      const own = items.map(async (one) => (typeof one === 'number' ? (await allItems()).newest(one) : one));
      return { block, ...more, items: await Promise.all(own), changes, logs, asked, effects, modelCalls };
    },
    stateAt: async (_, seq) => stateAt(seq),
    diff: async (_, from, to) => (await allStates()).diff(from, to),
    flowStateDiff: async () => [],
    compare: async ({ from, to }) => (await allStates()).diff(from ?? newest.start, to ?? newest.seq),
    history: async (_, place) => (await allStates()).history(place),
    writtenBefore: async () => null,
    journal: async () => (await allLists()).journal,
    checkpoints: async () => (await allLists()).checkpoints,
    requests: async () => [] as never,
    sessions: async () => [],
    suspensions: async () => openQuestions(request, newest.seq, events),
    waitingRequests: async (): Promise<RequestRow[]> => [],
    flows: async () => [],
    related: async () => [],
    workspace: async () => null,
    runFiles: async () => [],
    closeView: async () => {},
    viewWatchItems: async () => {},
    viewUpdates: async () => () => {},
    viewAck: async () => {},
    watch: async () => () => {},
    desktopEvents: async () => () => {},
    showMenu: async () => {},
    enableInMenu: async () => {},
    setZoom: async () => {},
    setTheme: async () => {},
  };
  return new Proxy(answers as Host, {
    get: (target, name) => Reflect.get(target, name) ?? (name === 'then' ? undefined : () => Promise.reject(NOT_HERE)),
  });
}
