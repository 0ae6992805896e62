// The tabs of the inspector, each with how much there is behind it.
import type { BlockRow } from '../../host/host';

export type InspectorTab = 'input' | 'output' | 'changes' | 'items' | 'model' | 'attributes' | 'log' | 'source';
export type TabEntry = { id: InspectorTab; label: string; count?: number | null };

export const INSPECTOR_TABS: readonly InspectorTab[] = [
  'input',
  'output',
  'changes',
  'items',
  'model',
  'attributes',
  'log',
  'source',
];

export type Counted = { changes: number; items: number; logs: number; calls: number; attributes: number | null };

/**
 * "Model" is a tab only of blocks that ask models, and "Attributes" only of spans. The other tabs are there for every
 * block, so that their places do not change.
 */
export function tabsOf(block: BlockRow, counted: Counted, hasSource = true): TabEntry[] {
  const some = (count: number) => (count > 0 ? count : null);
  const tabs: TabEntry[] = [
    { id: 'input', label: 'Input' },
    { id: 'output', label: 'Output' },
    { id: 'changes', label: 'Changes', count: some(counted.changes) },
    { id: 'items', label: 'Items', count: some(counted.items) },
  ];
  if (block.kind === 'generator' || counted.calls > 0)
    tabs.push({ id: 'model', label: 'Model', count: counted.calls > 1 ? counted.calls : null });
  if (counted.attributes !== null)
    tabs.push({ id: 'attributes', label: 'Attributes', count: some(counted.attributes) });
  tabs.push({ id: 'log', label: 'Log', count: some(counted.logs) });
  return hasSource ? [...tabs, { id: 'source', label: 'Source' }] : tabs;
}

/** What a person looks for in a block: why it failed, what its model did, or what it made of its input. */
export type Concern = 'failure' | 'model' | 'values';

/** A failure that names no line of a file, such as that of a model, is no reason to look at the source. */
export function concernOf(block: Pick<BlockRow, 'kind' | 'error'>, calls: number): Concern {
  if (block.error?.file) return 'failure';
  return block.kind === 'generator' && calls > 0 ? 'model' : 'values';
}

const FITTING: Record<Concern, InspectorTab> = { failure: 'source', model: 'model', values: 'output' };

/** What a person chose, where this block has it; else the tab that fits. */
export function openTab(chosen: InspectorTab | undefined, tabs: readonly TabEntry[], concern: Concern): InspectorTab {
  const has = (id: InspectorTab) => tabs.some((tab) => tab.id === id);
  if (chosen && has(chosen)) return chosen;
  return has(FITTING[concern]) ? FITTING[concern] : 'output';
}
