// When recorded runs are verified: for the page, and after a save for the badges, never both at once.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { FakeHost } from '../host/fake';
import type { Verdict, Verified, VerifiedRun, VerifyQuery } from '../host/host';
import { Verification } from './verification.svelte';

const run = (requestId: string, verdict: Verdict, flow = 'cart'): VerifiedRun => ({ requestId, flow, verdict });
const NONE = { same: 0, differs: 0, asksNew: 0, unaffected: 0, doesNotLoad: 0, notComparable: 0, groups: [] };
const answer = (results: VerifiedRun[], notRun = 0): Verified => ({ ...NONE, results, notRun });

/** A host that answers when it is told to. */
class SlowHost extends FakeHost {
  readonly asked: VerifyQuery[] = [];
  readonly answers: ((answer: Verified | Error) => void)[] = [];
  cancelled = 0;

  override verify(query: VerifyQuery): Promise<Verified> {
    this.asked.push(query);
    return new Promise((resolve, reject) =>
      this.answers.push((given) => (given instanceof Error ? reject(given) : resolve(given))),
    );
  }
  override async cancelVerify() {
    this.cancelled++;
  }
}

let host: SlowHost;
let folder: { isTrusted: boolean; loaded: () => void };
let verification: Verification;
const settle = () => vi.advanceTimersByTimeAsync(0);
const pause = () => vi.advanceTimersByTimeAsync(1000);

async function give(given: Verified | Error) {
  host.answers.shift()?.(given);
  await settle();
}

beforeEach(() => {
  vi.useFakeTimers();
  host = new SlowHost(0, 0);
  folder = { isTrusted: true, loaded: vi.fn() };
  verification = new Verification(host, folder);
});
afterEach(() => vi.useRealTimers());

test('several saves are one verification, and its verdicts are badges and what the page shows', async () => {
  for (let n = 0; n < 5; n++) verification.changed();
  await pause();
  expect(host.asked).toHaveLength(1);
  expect(host.asked[0]).not.toHaveProperty('since');
  await give(answer([run('a', 'differs'), run('b', 'same', 'chat')]));
  expect([...verification.badges.keys()]).toEqual(['cart']);
  expect(folder.loaded).toHaveBeenCalledTimes(1);
  // The page has nothing to find out.
  verification.open();
  await settle();
  expect(host.asked).toHaveLength(1);
  expect(verification.shown?.runs).toHaveLength(2);
});

test('a save while the background verifies ends that, and what was cancelled is no badge', async () => {
  verification.changed();
  await pause();
  verification.changed();
  expect(host.cancelled).toBe(1);
  await give(answer([run('a', 'differs')], 3));
  expect(verification.badges.size).toBe(0);
  await pause();
  expect(host.asked).toHaveLength(2);
  await give(answer([run('a', 'same')]));
  expect([verification.badges.size, verification.shown?.runs.length]).toEqual([0, 1]);
});

test('while the page verifies, the background waits for its end', async () => {
  verification.open();
  await settle();
  expect([host.asked.length, verification.busy]).toEqual([1, true]);
  verification.changed();
  await pause();
  expect(host.asked).toHaveLength(1);
  await give(answer([run('a', 'differs')]));
  expect([verification.busy, verification.badges.get('cart')?.differs]).toEqual([false, 1]);
  await pause();
  // The page is open, so it does it itself.
  expect([host.asked.length, verification.busy]).toEqual([2, true]);
});

test('the page takes over from the background', async () => {
  verification.changed();
  await pause();
  verification.open();
  await settle();
  expect([host.asked.length, verification.busy]).toEqual([2, true]);
  // The host ended the first one.
  await give(answer([run('a', 'differs')], 1));
  expect(verification.shown).toBeNull();
  await give(answer([run('a', 'same')]));
  expect(verification.shown?.runs).toEqual([run('a', 'same')]);
});

test('nothing is verified in a folder that is not trusted', async () => {
  folder.isTrusted = false;
  verification.open();
  verification.changed();
  await pause();
  expect(host.asked).toEqual([]);
});

test('of very many requests the background verifies the newest days, and the page does not take that for all', async () => {
  vi.spyOn(host, 'requests').mockResolvedValue([{} as never]);
  verification.changed();
  await pause();
  expect(host.asked[0]?.since).toBeCloseTo(Date.now() - 7 * 86_400_000, -4);
  await give(answer([run('a', 'differs')]));
  expect([verification.badges.size, verification.isRecent, verification.shown]).toEqual([1, true, null]);
});

test('what is cancelled keeps its verdicts, and makes no badge smaller', async () => {
  verification.open();
  await settle();
  await give(answer([run('a', 'differs'), run('b', 'differs')]));
  const again = verification.verify();
  await verification.cancel();
  await give(answer([run('a', 'differs')], 1));
  await again;
  expect([verification.shown?.notRun, verification.badges.get('cart')?.differs]).toEqual([1, 2]);
});

test('accepted runs are verified again, and only they', async () => {
  verification.open();
  await settle();
  await give(answer([run('a', 'differs'), run('b', 'differs')]));
  const accepted = verification.accept([run('a', 'differs')]);
  await settle();
  await give(answer([{ ...run('a', 'differs'), accepted: true }]));
  await give(answer([run('a', 'same')]));
  expect(await accepted).toBe(1);
  expect(host.asked.slice(1)).toEqual([{ requests: ['a'], accept: true }, { requests: ['a'] }]);
  expect(verification.shown?.runs.map((one) => one.verdict)).toEqual(['same', 'differs']);
  expect(verification.badges.get('cart')?.differs).toBe(1);
});

test('where accepting is refused half-way, the reason is thrown and what was accepted shows', async () => {
  verification.open();
  await settle();
  await give(answer([run('a', 'differs')]));
  const thrown = verification.accept([run('a', 'differs')]).catch((error: Error) => error.message);
  await settle();
  await give(new Error('read-only'));
  await give(answer([run('a', 'same')]));
  expect(await thrown).toBe('read-only');
  expect([verification.busy, verification.shown?.runs[0]?.verdict]).toEqual([false, 'same']);
});

test('a folder without .run files asks nothing, which would mean the database', async () => {
  verification.open();
  await settle();
  await give(answer([]));
  verification.choose('files');
  await settle();
  expect(host.asked).toHaveLength(1);
  expect(verification.shown).toEqual({ runs: [], notRun: 0 });
});

test('another source that is chosen while one is verified is verified at once', async () => {
  vi.spyOn(host, 'runFiles').mockResolvedValue([{ file: 'tests/a.run' }]);
  verification.open();
  await settle();
  verification.choose('files');
  await settle();
  expect(host.asked).toEqual([{}, { files: ['tests/a.run'] }]);
  await give(answer([run('a', 'differs')], 1));
  await give(answer([{ ...run('a', 'same'), file: 'tests/a.run' }]));
  expect([verification.busy, verification.shown?.runs.length]).toEqual([false, 1]);
  // What was ended by it is no answer for the other one.
  verification.choose('requests');
  await settle();
  expect(host.asked).toHaveLength(3);
});

test('all runs of one flow are run again, beside the verdicts on the others', async () => {
  verification.open();
  await settle();
  await give(answer([run('a', 'unaffected'), run('b', 'unaffected', 'chat')]));
  void verification.verifyAll('cart');
  await settle();
  expect(host.asked[1]).toEqual({ all: true, flow: 'cart' });
  await give(answer([run('a', 'same')]));
  expect(verification.shown?.runs.map((one) => one.verdict)).toEqual(['same', 'unaffected']);
});

test('a fault is kept for the page, and answers of another folder come to nothing', async () => {
  verification.open();
  await settle();
  await give(new Error('the disk is full'));
  expect([verification.fault?.message, verification.busy]).toEqual(['the disk is full', false]);
  void verification.verify();
  await settle();
  verification.clear();
  expect(host.cancelled).toBe(1);
  await give(answer([run('a', 'differs')]));
  expect([verification.shown, verification.badges.size, verification.busy]).toEqual([null, 0, false]);
});
