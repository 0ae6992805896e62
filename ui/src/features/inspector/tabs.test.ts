import { expect, test } from 'vitest';
import type { BlockDetail, BlockRow } from '../../host/host';
import { openTab, tabsOf } from './tabs';

const block = (kind: BlockRow['kind']) => ({ kind }) as BlockRow;
const none = { changes: 0, items: 0, logs: 0, calls: 0 };

test('only what asks models has a tab for that', () => {
  expect(tabsOf(block('handler'), none).map((tab) => tab.id)).not.toContain('model');
  expect(tabsOf(block('handler'), { ...none, calls: 1 }).map((tab) => tab.id)).toContain('model');
  expect(tabsOf(block('generator'), none).map((tab) => tab.id)).toContain('model');
  expect(tabsOf(block('handler'), { ...none, changes: 3 }).find((tab) => tab.id === 'changes')?.count).toBe(3);
});

test('a chosen tab stays chosen where a block has it', () => {
  const [plain, asks] = [tabsOf(block('handler'), none), tabsOf(block('generator'), { ...none, calls: 1 })];
  const detail = { modelCalls: [{}] } as BlockDetail;
  expect(openTab('source', plain, null)).toBe('source');
  expect(openTab('model', plain, null)).toBe('output');
  expect(openTab(null, asks, detail)).toBe('model');
  expect(openTab('input', asks, detail)).toBe('input');
});
