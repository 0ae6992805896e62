import { expect, test } from 'vitest';
import type { Item } from '../host/host';
import { lineOf, restOf, seenBy, speaker, textOf } from './item';

const item = (more: Record<string, unknown>): Item => ({
  id: 'i',
  type: 'message',
  status: 'completed',
  requestId: 'r',
  itemIndex: 0,
  ts: 0,
  seq: 1,
  provenance: { blockName: 'b', path: 'root', blockInstanceId: 'r:root:1', attempt: 0, phase: 'main' },
  visibility: { client: true, history: true },
  ...more,
});

test('a message says its text parts', () => {
  const message = item({
    role: 'user',
    content: [
      { type: 'output_text', text: 'one' },
      { type: 'output_text', text: 'two' },
    ],
  });
  expect(speaker(message)).toBe('user');
  expect(textOf(message)).toBe('one\ntwo');
  expect(restOf(message)).toBeNull();
});

test('a tool is named by its call and keeps its payload', () => {
  const tool = item({ type: 'block_tool_output', toolCall: { name: 'cite', arguments: '{}' }, output: { a: 1 } });
  expect(speaker(tool)).toBe('cite');
  expect(textOf(tool)).toBeNull();
  expect(restOf(tool)).toHaveProperty('output');
});

test('calls, writes and outputs are a line each', () => {
  const call = (more: Record<string, unknown>) =>
    lineOf(item({ type: 'block_tool_output', toolCall: { name: 'find', arguments: '{"order":"17"}' }, ...more }));
  expect(call({ output: 'a lamp' })).toBe('find({order: "17"}) → a lamp');
  expect(call({ error: { message: 'no such order' } })).toBe('find({order: "17"}) → ✗ no such order');
  expect(call({ toolCall: { name: 'find', arguments: 'not JSON' } })).toBe('find(not JSON) → …');
  const write = { type: 'state_change', scope: 'session', operation: 'increment', delta: { turns: 1 } };
  expect(lineOf(item(write))).toBe('session increment {turns: 1}');
  expect(lineOf(item({ ...write, value: { turns: 3 } }))).toBe('session.turns: 2 → 3');
  const patch = { ...write, operation: 'patch', value: { notes: { 'to do': 'rest' }, tags: ['a'] } };
  expect(lineOf(item(patch))).toBe('session.notes["to do"] → rest; session.tags → ["a"]');
  expect(lineOf(item({ ...write, path: 'a.b', delta: 'x'.repeat(200) }))).toHaveLength(143);
  expect(lineOf(item({ type: 'block_output', output: [1] }))).toBe('→ [1]');
  expect(lineOf(item({ content: 'text' }))).toBeNull();
});

test('hostile content stays text', () => {
  expect(textOf(item({ content: '<img src=x onerror=alert(1)>' }))).toBe('<img src=x onerror=alert(1)>');
  expect(textOf(item({ content: [null, 5, { text: 7 }] }))).toBeNull();
});

test('visibility is said in words', () => {
  expect(seenBy(item({}))).toBe('Seen by client and history');
  expect(seenBy(item({ visibility: { client: false, history: false } }))).toBe('Trace: seen only here');
});
