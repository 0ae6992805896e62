import { expect, test } from 'vitest';
import type { ViewRow } from '../../host/host';
import { boxesOf, flameOf } from './flame';

type Row = { depth: number; name: string | null; ms?: number; tokens?: number; status?: string; memoized?: boolean };
const rows = (list: Row[]) =>
  list.map(
    ({ depth, name, ms = 0, tokens = 0, status = 'completed', memoized = false }, n) =>
      ({
        depth,
        name,
        kind: 'handler',
        startedAt: 0,
        durationMs: ms,
        status,
        memoized,
        instanceId: `r:${n}`,
        group: name === null ? {} : null,
        sums: { promptTokens: tokens, completionTokens: 0, cost: null },
      }) as unknown as ViewRow,
  );

const round = (part: number) => Math.round(part * 1000) / 1000;

test('blocks of one name inside of one block are one, also from a group of turns', () => {
  const tree = flameOf(
    rows([
      { depth: 0, name: 'main', ms: 100 },
      { depth: 1, name: null },
      { depth: 2, name: 'ask', ms: 20 },
      { depth: 2, name: 'ask', ms: 50, status: 'failed' },
      { depth: 1, name: 'say', ms: 5 },
    ]),
    'time',
  );
  const [main] = tree.inside;
  expect(
    main?.inside.map(({ name, count, failed, value, instanceId }) => [name, count, failed, value, instanceId]),
  ).toEqual([
    ['ask', 2, 1, 70, 'r:3'],
    ['say', 1, 0, 5, 'r:4'],
  ]);
  expect(boxesOf(tree).map(({ flame, depth, from, to }) => [flame.name, depth, round(from), round(to)])).toEqual([
    ['request', 0, 0, 1],
    ['main', 1, 0, 1],
    ['ask', 2, 0, 0.7],
    ['say', 2, 0.7, 0.75],
  ]);
});

test('what runs beside each other makes what is around it wider, and what was reused took no time', () => {
  const tree = flameOf(
    rows([
      { depth: 0, name: 'main', ms: 10 },
      { depth: 1, name: 'a', ms: 10 },
      { depth: 1, name: 'b', ms: 10 },
      { depth: 1, name: 'c', ms: 10, memoized: true },
    ]),
    'time',
  );
  expect(tree.value).toBe(20);
});

test('a pause inside of a block is no work', () => {
  const [row] = rows([{ depth: 0, name: 'main', ms: 60_000 }]);
  const resumed = { ...row, startedAt: 1_000, gaps: [{ from: 1_010, to: 60_990 }] } as ViewRow;
  expect(flameOf([resumed], 'time').value).toBe(20);
});

test('a request without tokens, or without rows, is one empty box; a deep one is no recursion', () => {
  expect(boxesOf(flameOf(rows([{ depth: 0, name: 'main', ms: 3 }]), 'tokens')).length).toBe(1);
  expect(boxesOf(flameOf([], 'time')).length).toBe(1);
  const deep = rows(Array.from({ length: 20_000 }, (_, depth) => ({ depth, name: `b${depth}`, ms: 1 })));
  expect(boxesOf(flameOf(deep, 'time')).length).toBe(3_000);
});

/** The same numbers in every run: a linear congruential generator. */
function numbers(seed: number) {
  let state = seed;
  return (below: number) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

test('no box leaves the box it is in, and none lies over another', () => {
  for (let seed = 1; seed <= 200; seed++) {
    const pick = numbers(seed);
    let depth = 0;
    const list = Array.from({ length: 1 + pick(150) }, (_, n) => {
      depth = n === 0 ? 0 : pick(depth + 2);
      const isGroup = pick(10) === 0;
      return { depth, name: isGroup ? null : `b${pick(12)}`, ms: pick(2) * pick(10_000) + pick(3) / 7 };
    });
    const boxes = boxesOf(flameOf(rows(list), 'time'));
    const placed = new Map(boxes.map((box) => [box.flame, box]));
    for (const box of boxes) {
      expect(box.from, `seed ${seed}`).toBeGreaterThanOrEqual(0);
      let from = box.from;
      for (const inner of box.flame.inside.map((flame) => placed.get(flame))) {
        if (!inner) continue;
        expect(inner.depth).toBe(box.depth + 1);
        expect(inner.from, `seed ${seed}`).toBeGreaterThanOrEqual(from);
        expect(inner.to, `seed ${seed}`).toBeGreaterThan(inner.from);
        expect(inner.to, `seed ${seed}`).toBeLessThanOrEqual(box.to);
        from = inner.to;
      }
    }
  }
});
