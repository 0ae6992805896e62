// The tabs of the inspector, each with the number of its entries.
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
 * Only blocks with model calls have "Model", and only spans have "Attributes". Every block has the other tabs, so that
 * their places do not change.
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

/** The main interest in a block: its failure, its model calls, or its values. */
export type Concern = 'failure' | 'model' | 'values';

/** A failure without a line of a file, such as that of a model, does not open the source. */
export function concernOf(block: Pick<BlockRow, 'kind' | 'error'>, calls: number): Concern {
  if (block.error?.file) return 'failure';
  return block.kind === 'generator' && calls > 0 ? 'model' : 'values';
}

const FITTING: Record<Concern, InspectorTab> = { failure: 'source', model: 'model', values: 'output' };

/** The tab that the person chose, if this block has it, or else the tab for the concern. */
export function openTab(chosen: InspectorTab | undefined, tabs: readonly TabEntry[], concern: Concern): InspectorTab {
  const has = (id: InspectorTab) => tabs.some((tab) => tab.id === id);
  if (chosen && has(chosen)) return chosen;
  return has(FITTING[concern]) ? FITTING[concern] : 'output';
}
