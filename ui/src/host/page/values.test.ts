// Values and columns are read as the runner writes them.
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { Chunks } from './chunks';
import { Table } from './columns';
import { Values } from './values';

const packed = (chunks: Record<string, unknown>) =>
  new Chunks((name) => (chunks[name] === undefined ? null : gzipSync(JSON.stringify(chunks[name])).toString('base64')));

test('references are followed across chunks, and what is shared is one value', async () => {
  const chunks = packed({ 'values-0': ['long', { of: { $: 0 } }], 'values-1': [[null, [1, { $: 1 }]]] });
  const values = new Values(chunks, [0, 2]);
  const read = await values.read<{ one: unknown; list: unknown[]; own: unknown }>({
    one: { $: 1 },
    list: { $l: [2, [3]] },
    own: { $o: { $: 5 } },
  });
  expect(read).toEqual({ one: { of: 'long' }, list: [1, { of: 'long' }, 3], own: { $: 5 } });
  expect(read.list[1]).toBe(read.one);
});

test('a key that JavaScript knows is a key of the value and nothing else', async () => {
  const read = await new Values(packed({}), []).read<object>(JSON.parse('{"__proto__":{"polluted":true}}'));
  expect(Object.keys(read)).toEqual(['__proto__']);
  expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
});

test('columns of differences and of different values', () => {
  const table = new Table({ rows: 3, columns: { at: { d: [10, 5, -1] }, kind: { v: ['a', 'b'], i: [1, -1, 0] } } });
  expect([0, 1, 2].map((row) => [table.get('at', row), table.get('kind', row)])).toEqual([
    [10, 'b'],
    [15, undefined],
    [14, 'a'],
  ]);
});

test('a part that is missing or damaged is named', async () => {
  await expect(packed({}).load('head')).rejects.toMatchObject({ kind: 'storage', message: /“head”.*missing/ as never });
  const damaged = new Chunks(() => 'not base64');
  await expect(damaged.load('rows-0')).rejects.toMatchObject({ kind: 'storage' });
});
