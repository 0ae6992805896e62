// Runs of the recorded host: its requests in any order, the few terms of a filter that the screens try, and tags.
import type { Fault, RunRow, RunsQuery, RunsSummary, SessionRow, TagEdits, Tags } from './host';
import type { RunsHost } from './runs';
import type { Recording } from './recording';

type Note = { tags: string[]; note: string | null; title: string | null };
const NOTHING: Note = { tags: [], note: null, title: null };

const VALUES: Record<string, (run: RunRow) => string | number> = {
  started: (run) => run.startedAt,
  duration: (run) => run.durationMs ?? 0,
  tokens: (run) => run.tokens,
  cost: (run) => run.costUsd ?? 0,
  status: (run) => run.status,
  flow: (run) => `${run.flow}.${run.action}`,
  title: (run) => (run.title ?? run.words ?? '').toLowerCase(),
  user: (run) => run.userId,
  session: (run) => run.sessionId,
  tags: (run) => run.tags[0] ?? '',
  from: (run) => run.forkedFrom?.requestId ?? run.retryOf ?? '',
};

const shown = (run: RunRow) =>
  [run.id, run.title, run.words, run.note, run.userId, `${run.flow}.${run.action}`, ...run.tags].join('\n');

/** Whether one term fits; `null` where this host does not know it. */
function fits(run: RunRow, term: string): boolean | null {
  const [, name, value = ''] = /^(\w+):(.*)$/.exec(term) ?? [];
  if (!name) return shown(run).toLowerCase().includes(term.replaceAll('"', '').toLowerCase());
  if (name === 'status') return run.status === value;
  if (name === 'flow') return run.flow === value;
  if (name === 'user') return run.userId === value;
  if (name === 'tag') return run.tags.includes(value);
  if (name === 'since') return run.startedAt >= Date.parse(`${value}T00:00`);
  if (name === 'until') return run.startedAt < Date.parse(`${value}T00:00`);
  return null;
}

const two = (n: number) => String(n).padStart(2, '0');
const dayOf = (at: number) => {
  const date = new Date(at);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
};

export class FakeRuns implements RunsHost {
  readonly #notes = new Map<string, Note>();

  constructor(
    readonly recordings: () => Iterable<Recording>,
    readonly changed: () => void,
  ) {}

  #all(filter: string): RunRow[] {
    const terms = filter.match(/(?:[^\s"]|"[^"]*"?)+/g) ?? [];
    const runs = [...this.recordings()].map(({ row, words }): RunRow => {
      const { tags, note, title } = this.#notes.get(row.id) ?? NOTHING;
      const { promptTokens = 0, completionTokens = 0, cost = null } = row.totals ?? {};
      return { ...row, words, tags, note, title, tokens: promptTokens + completionTokens, costUsd: cost };
    });
    return runs.filter((run) =>
      terms.every((term) => {
        const isNegated = term.startsWith('-');
        const found = fits(run, isNegated ? term.slice(1) : term);
        if (found === null) {
          const message = `invalid filter at column ${filter.indexOf(term) + 1}: "${term}" is not a field`;
          throw { kind: 'invalid', message, details: [] } satisfies Fault;
        }
        return found !== isNegated;
      }),
    );
  }

  async runs({ filter = '', sort = 'started', descending = false, limit, offset }: RunsQuery) {
    const value = VALUES[sort] ?? ((run: RunRow) => run.startedAt);
    const [less, more] = descending ? [1, -1] : [-1, 1];
    const sorted = this.#all(filter).sort((a, b) => (value(a) < value(b) ? less : value(a) > value(b) ? more : 0));
    return sorted.slice(offset, offset + limit);
  }
  async runIds(query: RunsQuery) {
    return (await this.runs(query)).map((run) => run.id);
  }
  async countRuns(filter: string) {
    return this.#all(filter).length;
  }
  /** No recorded request is a sample. */
  async samplesLeftOut() {
    return 0;
  }
  async runsSummary(filter: string): Promise<RunsSummary> {
    const runs = this.#all(filter).sort((a, b) => a.startedAt - b.startedAt);
    const sum = (runs: RunRow[]) => ({
      runs: runs.length,
      failed: runs.filter((run) => run.status === 'failed').length,
      tokens: runs.reduce((sum, run) => sum + run.tokens, 0),
    });
    const days = [...new Set(runs.map((run) => dayOf(run.startedAt)))];
    const ofDay = (day: string) => ({ day, ...sum(runs.filter((run) => dayOf(run.startedAt) === day)) });
    return { ...sum(runs), samples: 0, days: days.map(ofDay) };
  }
  /** What blocks did is only known of each run. */
  async blockSums() {
    return { runs: 0, isCut: false, blocks: [] };
  }
  async tagCounts() {
    const all = [...this.#notes.values()].flatMap((note) => note.tags);
    return [...new Set(all)].map((tag) => ({ tag, requests: all.filter((one) => one === tag).length }));
  }
  async tags(requestId: string): Promise<Tags> {
    return { requestId, ...(this.#notes.get(requestId) ?? NOTHING) };
  }
  async tagRuns(requests: string[], { add = [], remove = [], note, title }: TagEdits) {
    const wrong = add.find((tag) => tag.length > 64);
    if (wrong) throw { kind: 'invalid', message: 'a tag has at most 64 characters', details: [] } satisfies Fault;
    for (const id of requests) {
      const before = this.#notes.get(id) ?? NOTHING;
      const tags = [...new Set([...before.tags, ...add])].filter((tag) => !remove.includes(tag)).sort();
      this.#notes.set(id, {
        tags,
        note: (note ?? before.note) || null,
        title: (title ?? before.title) || null,
      });
    }
    this.changed();
    return requests.length;
  }
  async sessionsOf(requests: string[]): Promise<SessionRow[]> {
    const all = this.#all('');
    const ids = new Set(all.filter((run) => requests.includes(run.id)).map((run) => run.sessionId));
    return [...ids].map((id) => {
      const mine = all.filter((run) => run.sessionId === id);
      const newest = mine[mine.length - 1] as RunRow;
      const { flow, userId, status: lastStatus, startedAt: createdAt } = newest;
      return { id, flow, userId, requests: mine.length, items: 0, lastStatus, createdAt, updatedAt: createdAt };
    });
  }
}
