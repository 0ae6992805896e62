import { expect, test } from 'vitest';
import type { InsideQuery, Instant } from '../../../host/host';
import { isBackwards, Stepping } from './stepping.svelte';

const TICKS = 9;

/** An execution of nine statements, each on the line of its number; answers come when they are released. */
function block(watches: readonly string[] = []) {
  const asked: InsideQuery[] = [];
  const moved: number[] = [];
  const held: (() => void)[] = [];
  let isHeld = false;
  const at = (tick: number) =>
    ({ instant: `root#0+${tick}`, tick, ticks: TICKS, line: tick, watches: [] }) as unknown as Instant;
  const stepping = new Stepping(
    async (query) => {
      asked.push(query);
      if (isHeld) await new Promise<void>((resolve) => held.push(resolve));
      if (query.watches.includes('wrong')) throw { kind: 'invalid', message: 'the expression `wrong` does not parse' };
      const from = Number(query.at.split('+')[1] ?? 1);
      if (from > TICKS + 1) throw { kind: 'notFound', message: `there is no +${from}` };
      if (query.to === 'stay') return at(from);
      if (typeof query.to !== 'string') return at(query.to.to ?? query.to.backTo ?? 0);
      return at(isBackwards(query.to) ? from - 1 : from + 1);
    },
    'root#0',
    () => watches,
    ({ tick }) => moved.push(tick),
  );
  const hold = (value: boolean) => (isHeld = value);
  const release = () => held.splice(0).forEach((resolve) => resolve());
  return { stepping, asked, moved, hold, release };
}

async function idle(stepping: Stepping) {
  await expect.poll(() => stepping.busy).toBe(false);
}

test('opening shows an instant and moves nothing; a step moves', async () => {
  const { stepping, moved } = block();
  stepping.open();
  await idle(stepping);
  expect(stepping.instant?.tick).toBe(1);
  expect(moved).toEqual([]);
  stepping.step('over');
  await idle(stepping);
  expect([stepping.instant?.tick, stepping.before?.tick, moved]).toEqual([2, 1, [2]]);
});

test('steps that are made quickly follow each other', async () => {
  const { stepping, moved } = block();
  for (let n = 0; n < 4; n++) stepping.step('into');
  stepping.step('back');
  await idle(stepping);
  expect(moved).toEqual([1, 2, 3, 4, 3]);
});

test('the first move begins at the first statement, or backwards at the last', async () => {
  const forwards = block();
  forwards.stepping.step('into');
  await idle(forwards.stepping);
  expect(forwards.stepping.instant?.tick).toBe(1);
  const backwards = block();
  backwards.stepping.step('backOver');
  await idle(backwards.stepping);
  expect(backwards.stepping.instant?.tick).toBe(TICKS);
  const toLine = block();
  toLine.stepping.step({ to: 4 });
  await idle(toLine.stepping);
  expect(toLine.asked).toEqual([{ at: 'root#0+0', to: { to: 4 }, watches: [] }]);
  const backToLine = block();
  backToLine.stepping.step({ backTo: 4 });
  await idle(backToLine.stepping);
  expect(backToLine.asked.at(-1)).toEqual({ at: 'root#0+10', to: { backTo: 4 }, watches: [] });
});

test('a slow answer never replaces what was asked for later', async () => {
  const { stepping, moved, hold, release } = block();
  stepping.open();
  await idle(stepping);
  hold(true);
  stepping.step('over');
  stepping.goTo(7);
  hold(false);
  release();
  await idle(stepping);
  expect([stepping.instant?.tick, moved]).toEqual([7, [7]]);
  hold(true);
  stepping.step('over');
  stepping.stop();
  release();
  await new Promise((resolve) => setTimeout(resolve));
  expect([stepping.instant?.tick, moved]).toEqual([7, [7]]);
});

test('a step that fails keeps the statement, and drops the steps after it', async () => {
  const { stepping, moved } = block();
  stepping.goTo(99);
  stepping.step('over');
  await idle(stepping);
  expect(stepping.fault?.message).toBe('there is no +99');
  expect([stepping.instant, moved]).toEqual([null, []]);
  stepping.step('into');
  await idle(stepping);
  expect([stepping.fault, stepping.instant?.tick]).toEqual([null, 1]);
});

test('a watch expression that cannot be read does not end the stepping', async () => {
  const { stepping, asked } = block(['sum', 'wrong']);
  stepping.step('into');
  await idle(stepping);
  expect(stepping.instant?.tick).toBe(1);
  expect(stepping.watchFault?.message).toContain('does not parse');
  expect(asked.map(({ watches }) => watches)).toEqual([['sum', 'wrong'], []]);
});
