import { expect, test } from 'vitest';
import type { BlockRow } from '../../host/host';
import { concernOf, openTab, tabsOf } from './tabs';

const block = (kind: BlockRow['kind']) => ({ kind }) as BlockRow;
const none = { changes: 0, items: 0, logs: 0, calls: 0, attributes: null };

test('only what asks models has a tab for that', () => {
  expect(tabsOf(block('handler'), none).map((tab) => tab.id)).not.toContain('model');
  expect(tabsOf(block('handler'), { ...none, calls: 1 }).map((tab) => tab.id)).toContain('model');
  expect(tabsOf(block('generator'), none).map((tab) => tab.id)).toContain('model');
  expect(tabsOf(block('handler'), { ...none, changes: 3 }).find((tab) => tab.id === 'changes')?.count).toBe(3);
});

test('only a span has a tab for its attributes', () => {
  expect(tabsOf(block('handler'), none).map((tab) => tab.id)).not.toContain('attributes');
  expect(tabsOf(block('handler'), { ...none, attributes: 0 }).map((tab) => tab.id)).toContain('attributes');
});

const [plain, asks] = [tabsOf(block('handler'), none), tabsOf(block('generator'), { ...none, calls: 1 })];

test('a chosen tab stays chosen where a block has it', () => {
  expect(openTab('source', plain, 'values')).toBe('source');
  expect(openTab('model', plain, 'values')).toBe('output');
  expect(openTab('input', asks, 'model')).toBe('input');
});

test('the tab fits the block: why it failed, what its model did, or what it made of its input', () => {
  const error = { name: 'Error', message: 'no' };
  const thrown = { ...block('handler'), error: { ...error, file: 'flows/a.ts', line: 3 } };
  expect(openTab(undefined, plain, concernOf(thrown, 0))).toBe('source');
  expect(openTab(undefined, asks, concernOf({ ...block('generator'), error }, 1))).toBe('model');
  expect(openTab(undefined, asks, concernOf(block('generator'), 0))).toBe('output');
  expect(openTab(undefined, plain, concernOf(block('handler'), 0))).toBe('output');
});
