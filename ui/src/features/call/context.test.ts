import { expect, test } from 'vitest';
import { bodyOf, compare, kindOfMessage, rowsOf } from './context';

const whole = [
  { type: 'system', message: 'be kind' },
  { type: 'state', a: 1 },
  { type: 'state', _instance: '1', b: 2, _call: 'x' },
  { type: 'state', _instance: '2', b: 3 },
  { type: 'data', kind: 'notes', data: { c: 4 } },
];
const plan = {
  instance: '1',
  scopes: { mode: 'static', kinds: ['state'] },
  messages: [
    { type: 'state', a: 1 },
    { type: 'state', b: 2 },
  ],
  leftOut: [
    { kind: 'system', because: 'not in scope' },
    { kind: 'state', instance: '2', because: 'another instance' },
    { kind: 'notes', because: 'not in scope' },
  ],
};

test('each message stands beside what was handed over of it, or beside why it was not', () => {
  const found = compare(plan, { context: whole });
  expect(found.rows.map((row) => row.because ?? row.seen)).toEqual([
    'not in scope',
    { type: 'state', a: 1 },
    { type: 'state', b: 2 },
    'another instance',
    'not in scope',
  ]);
  expect(found).toMatchObject({ seen: 2, leftOut: 3, isWhole: true });
  expect(rowsOf(found, 'seen').map((row) => row.at)).toEqual([1, 2]);
  expect(rowsOf(found, 'left').map((row) => row.at)).toEqual([0, 3, 4]);
});

test('results of the same tick follow, and a plan with its own context is not given them twice', () => {
  const earlier = [{ type: 'state', d: 5, _call: 'add' }];
  const more = { ...plan, earlier, messages: [...plan.messages, { type: 'state', d: 5 }] };
  for (const one of [more, { ...more, context: [...whole, ...earlier] }]) {
    const found = compare(one, { context: whole });
    expect(found.rows).toHaveLength(6);
    expect(found.rows.filter((row) => row.isEarlier).map((row) => [row.at, row.seen])).toEqual([
      [5, { type: 'state', d: 5 }],
    ]);
  }
});

test('of too many results of the same tick the newest stand beside what was handed over of them', () => {
  const result = (n: number) => ({ type: 'data', kind: 'list', data: { n } });
  const many = {
    scopes: { mode: 'static', kinds: ['state', 'list'] },
    earlier: [result(3), result(4)],
    moreEarlier: 2,
    messages: [{ type: 'state', a: 1 }, result(1), result(2), result(3), result(4)],
    leftOut: [],
  };
  const found = compare(many, { context: [{ type: 'state', a: 1 }] });
  expect(found.rows.map((row) => row.seen)).toEqual([{ type: 'state', a: 1 }, result(3), result(4)]);
  expect(found).toMatchObject({ seen: 3, missing: 2, isWhole: false });
  // One that needs a person has all of them in its own context.
  const own = compare({ ...many, context: many.messages }, { context: [] });
  expect(own.rows.map((row) => row.isEarlier)).toEqual([false, true, true, true, true]);
  expect(own).toMatchObject({ seen: 5, missing: 0, isWhole: true });
});

test('many instances that were only counted are left out, and its own is not', () => {
  const parts = Array.from({ length: 30 }, (_, n) => ({ type: 'data', kind: 'part', data: n, _instance: String(n) }));
  const counted = (kinds: string[], because: string, messages: unknown[]) =>
    compare(
      { instance: '7', scopes: { kinds }, messages, leftOut: [{ kind: 'part', instances: 29, because }] },
      { context: parts },
    );
  expect(counted(['part'], 'another instance', [{ type: 'data', kind: 'part', data: 7 }])).toMatchObject({
    seen: 1,
    leftOut: 29,
    isWhole: true,
  });
  expect(counted([], 'not in scope', [])).toMatchObject({ seen: 0, leftOut: 30, isWhole: true });
});

test('nothing left out, everything left out, and a record with a gap are told apart', () => {
  const messages = [{ type: 'state', a: 1 }];
  expect(compare({ messages, leftOut: [] }, { context: messages })).toMatchObject({ leftOut: 0, isWhole: true });
  const none = compare({ messages: [], leftOut: [{ kind: 'state', because: 'not in scope' }] }, { context: messages });
  expect(none).toMatchObject({ seen: 0, leftOut: 1, isWhole: true });
  expect(compare({ messages, leftOut: [] }, { context: [] }).isWhole).toBe(false);
  expect(compare({ messages: [], leftOut: [] }, { context: messages }).isWhole).toBe(false);
  expect(compare({}, undefined).rows).toEqual([]);
});

test('a message is read by its kind', () => {
  expect(whole.map(kindOfMessage)).toEqual(['system', 'state', 'state', 'state', 'notes']);
  expect([kindOfMessage({ type: 'data', data: 1 }), kindOfMessage(null)]).toEqual(['data', '']);
  expect(whole.map(bodyOf)).toEqual(['be kind', { a: 1 }, { b: 2 }, { b: 3 }, { c: 4 }]);
  expect(bodyOf('text')).toBe('text');
});
