// What a recorded host answers of its database and of going on with requests: as little as the screens need to be tried.
// It has no engine and no file, and says so where one would be needed.
import { FakeViews } from './fake-views';
import { fakeComparison, type FakeComparison } from './fake-compare';
import type {
  Change,
  ComparedQuery,
  ComparedRow,
  CompareQuery,
  DifferenceQuery,
  Fault,
  GoingOn,
  HitRow,
  Replay,
  SuspensionRow,
  WriteRow,
} from './host';

const NO_ENGINE: Fault = { kind: 'refused', message: 'This is a recording: nothing in it can go on.' };
const NO_FILE: Fault = { kind: 'refused', message: 'This is a recording: there is no file behind it.' };

export abstract class FakeFiles extends FakeViews {
  async resume(): Promise<GoingOn> {
    throw NO_ENGINE;
  }
  async retry(): Promise<GoingOn> {
    throw NO_ENGINE;
  }
  async fork(): Promise<GoingOn> {
    throw NO_ENGINE;
  }
  async replay(requestId: string): Promise<Replay> {
    return { identical: true, compared: this.find(requestId).blocks().length };
  }
  async suspensions(): Promise<SuspensionRow[]> {
    return [];
  }
  async openSource(): Promise<void> {
    throw NO_FILE;
  }
  async pickFolder(): Promise<string | null> {
    return null;
  }
  async writeFirstFlow(): Promise<string> {
    throw NO_FILE;
  }
  async search(): Promise<HitRow[]> {
    return [];
  }
  async history(requestId: string, place: string): Promise<WriteRow[]> {
    const [scope, ...path] = place.split('.');
    return this.find(requestId).events.flatMap((event) => {
      const { scope: where, path: what, value, old } = event.payload as Record<string, never>;
      if (event.kind !== 'state.changed' || where !== scope || what !== path.join('.')) return [];
      const by = event.path ?? null;
      return [{ seq: event.seq, by, operation: 'patch', old: old ?? null, new: value, at: event.at }];
    });
  }
  async journal(): Promise<unknown[]> {
    return [];
  }
  async checkpoints() {
    return [];
  }
  async compare({ left, from, to }: CompareQuery): Promise<Change[]> {
    const found = this.find(left);
    return found.diff(from ?? 0, to ?? found.events.length);
  }
  async related() {
    return [];
  }
  #comparison: FakeComparison | null = null;
  async openComparison(left: string, right: string) {
    this.#comparison = fakeComparison((this.#comparison?.head.comparison ?? 0) + 1, this.find(left), this.find(right));
    return this.#comparison.head;
  }
  async openReplay(requestId: string) {
    const head = await this.openComparison(requestId, requestId);
    return { ...head, replay: await this.replay(requestId) };
  }
  async comparisonRows(_: number, { offset, limit, all }: ComparedQuery) {
    const rows = (all ? this.#comparison?.all : this.#comparison?.shown) ?? [];
    return rows.slice(offset, offset + limit);
  }
  async nextDifference(_: number, { from, backwards, all }: DifferenceQuery) {
    const rows = (all ? this.#comparison?.all : this.#comparison?.shown) ?? [];
    const isNext = (row: ComparedRow) =>
      row.differs.length > 0 && (from == null || (backwards ? row.row < from : row.row > from));
    return (backwards ? rows.findLast(isNext) : rows.find(isNext))?.row ?? null;
  }
  async replayedBlock() {
    return {};
  }
  async closeComparison() {}
  async stats() {
    return { bytes: 0, events: 0, items: 0, sessions: 0, requests: 0, payloadBytes: 0, uniquePayloadBytes: 0 };
  }
  async checkData() {
    return { ok: true, requests: 0, events: 0, problems: [] };
  }
  async compact(): Promise<never> {
    throw NO_FILE;
  }
  async deleteSession(): Promise<never> {
    throw NO_FILE;
  }
  async exportSession(): Promise<never> {
    throw NO_FILE;
  }
  async importFile(): Promise<never> {
    throw NO_FILE;
  }
  async checkFile(): Promise<never> {
    throw NO_FILE;
  }
  /** A browser tab has no menu and nothing around it. */
  async desktopEvents() {
    return () => {};
  }
  async showMenu() {}
  async enableInMenu() {}
}
