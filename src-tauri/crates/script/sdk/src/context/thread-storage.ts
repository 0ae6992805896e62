// `flow.storage`: values by key, kept with the thread. They are part of the session's state, under `storage`.
//
// Must not: keep anything itself. Each operation is a state operation of the block that runs.

import { describeValue } from '../base/arguments';
import { toJson } from '../base/values';
import { warnOfLoss } from './json-loss';
import { StateHandle } from './state';

type Json = Record<string, unknown>;

/** Which keys a list has, as a Durable Object's storage understands it. */
interface ListOptions {
  prefix?: string;
  start?: string;
  startAfter?: string;
  end?: string;
  reverse?: boolean;
  limit?: number;
}

interface Private {
  token: number;
  handle: StateHandle;
  read: () => Json;
}

const privates = new WeakMap<ThreadStorage, Private>();
const of = (storage: ThreadStorage) => privates.get(storage) as Private;

function needKey(key: unknown, method: string): string {
  if (typeof key === 'string' && key !== '') return key;
  throw new TypeError(`flow.storage.${method}: a key is a text, not ${describeValue(key)}`);
}

/** What the body of a transaction gets. */
type InTransaction = ThreadStorage & { rollback(): void };

/** Gives every key the value it had. */
async function restore(storage: ThreadStorage, before: Json): Promise<void> {
  const now = of(storage).read();
  for (const key of Object.keys(now)) if (!(key in before)) await storage.delete(key);
  for (const [key, value] of Object.entries(before)) {
    if (JSON.stringify(now[key]) !== JSON.stringify(value)) await storage.put(key, value);
  }
}

export class ThreadStorage {
  constructor(token: number, read: () => Json) {
    privates.set(this, { token, handle: new StateHandle(token, 'session', 'flow.storage'), read });
  }

  /** A value, or a map of several. */
  async get(key: unknown): Promise<unknown> {
    const all = of(this).read();
    if (!Array.isArray(key)) return all[needKey(key, 'get')];
    const found = new Map<string, unknown>();
    for (const one of key) if (needKey(one, 'get') in all) found.set(one as string, all[one as string]);
    return found;
  }

  /** A value by its key, or several as an object. */
  async put(key: unknown, value?: unknown): Promise<void> {
    if (typeof key === 'object' && key !== null) {
      for (const [name, one] of Object.entries(key)) await this.put(name, one);
      return;
    }
    const name = needKey(key, 'put');
    if (value === undefined) throw new TypeError(`flow.storage.put("${name}"): undefined cannot be stored; use delete`);
    // Refused with the call and the key that the author wrote, before anything is said of its form.
    toJson(value, `flow.storage.put("${name}")`);
    warnOfLoss(of(this).token, `flow.storage.${name}`, value);
    await of(this).handle.setStateRecord('storage', name, value);
  }

  /** Whether there was one; of several, how many. */
  async delete(key: unknown): Promise<boolean | number> {
    if (Array.isArray(key)) {
      let count = 0;
      for (const one of key) if (await this.delete(one)) count++;
      return count;
    }
    const name = needKey(key, 'delete');
    if (!(name in of(this).read())) return false;
    await of(this).handle.deleteStateRecord('storage', name);
    return true;
  }

  async deleteAll(): Promise<void> {
    for (const key of Object.keys(of(this).read())) await of(this).handle.deleteStateRecord('storage', key);
  }

  /** The values in the order of their keys. */
  async list(options: ListOptions = {}): Promise<Map<string, unknown>> {
    const { prefix = '', start, startAfter, end, reverse = false, limit } = options;
    const all = of(this).read();
    const within = (key: string) =>
      key.startsWith(prefix) &&
      (start === undefined || key >= start) &&
      (startAfter === undefined || key > startAfter) &&
      (end === undefined || key < end);
    const keys = Object.keys(all).filter(within).sort();
    if (reverse) keys.reverse();
    return new Map(keys.slice(0, limit).map((key) => [key, all[key]]));
  }

  /** All of what is done in it, or nothing where it throws or calls `rollback`. */
  async transaction<T>(body: (storage: InTransaction) => Promise<T>): Promise<T> {
    const before = of(this).read();
    let isKept = true;
    const rollback = (): void => {
      isKept = false;
    };
    const inside = Object.assign(Object.create(ThreadStorage.prototype) as ThreadStorage, { rollback });
    privates.set(inside, of(this));
    try {
      return await body(inside);
    } catch (error) {
      rollback();
      throw error;
    } finally {
      if (!isKept) await restore(this, before);
    }
  }

  /** Every write is part of the block that runs; there is nothing to wait for. */
  async sync(): Promise<void> {}

  toJSON(): Json {
    return of(this).read();
  }
}

/** What a Durable Object's storage has beside it, and a thread here has not. */
for (const name of [
  'sql',
  'kv',
  'transactionSync',
  'getAlarm',
  'setAlarm',
  'deleteAlarm',
  'getCurrentBookmark',
  'getBookmarkForTime',
  'onNextSessionRestoreBookmark',
]) {
  Object.defineProperty(ThreadStorage.prototype, name, {
    get(): never {
      throw new Error(
        `flow.storage.${name} is not available here: a thread keeps values by key (get, put, delete, list)`,
      );
    },
  });
}
