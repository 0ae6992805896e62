// The tabs of the inspector, each with how much there is behind it.
import type { BlockDetail, BlockRow } from '../../host/host';

export type InspectorTab = 'input' | 'output' | 'changes' | 'items' | 'model' | 'log' | 'source';
export type TabEntry = { id: InspectorTab; label: string; count?: number | null };

export const INSPECTOR_TABS: readonly InspectorTab[] = [
  'input',
  'output',
  'changes',
  'items',
  'model',
  'log',
  'source',
];

export type Counted = { changes: number; items: number; logs: number; calls: number };

/** Only what asks models has a tab for that; the others are there for every block, so that they stand still. */
export function tabsOf(block: BlockRow, counted: Counted): TabEntry[] {
  const some = (count: number) => (count > 0 ? count : null);
  const tabs: TabEntry[] = [
    { id: 'input', label: 'Input' },
    { id: 'output', label: 'Output' },
    { id: 'changes', label: 'Changes', count: some(counted.changes) },
    { id: 'items', label: 'Items', count: some(counted.items) },
  ];
  if (block.kind === 'generator' || counted.calls > 0)
    tabs.push({ id: 'model', label: 'Model', count: counted.calls > 1 ? counted.calls : null });
  return [...tabs, { id: 'log', label: 'Log', count: some(counted.logs) }, { id: 'source', label: 'Source' }];
}

/** What was chosen last, where this block has it; else what a person looks for in such a block. */
export function openTab(
  chosen: InspectorTab | null,
  tabs: readonly TabEntry[],
  detail: BlockDetail | null,
): InspectorTab {
  const has = (id: InspectorTab) => tabs.some((tab) => tab.id === id);
  if (chosen && has(chosen)) return chosen;
  if (has('model') && (detail?.modelCalls.length ?? 0) > 0) return 'model';
  return 'output';
}
