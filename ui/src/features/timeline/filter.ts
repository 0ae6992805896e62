// Completion in the filter box. What a filter means and whether it is right is said by the view; this only offers words.

import { completionsIn, type Completion, type Completions } from '../../base/completion';

const TERMS: readonly Completion[] = [
  { text: 'kind:', hint: 'handler, sequencer, router, generator, hook' },
  { text: 'status:', hint: 'running, completed, failed, suspended, abandoned' },
  { text: 'name:', hint: 'in the name of the block' },
  { text: 'path:', hint: 'a path, * for anything' },
  { text: 'dur>', hint: 'running time above, such as 250ms, 1s, 2m' },
  { text: 'dur<', hint: 'running time below' },
  { text: 'attempt>0', hint: 'executed again' },
  { text: 'writes>0', hint: 'wrote state' },
  { text: 'writes:', hint: 'wrote a scope or path: session.plan' },
  { text: 'items>0', hint: 'emitted items' },
  { text: 'tokens>', hint: 'asked models for more than' },
];
const VALUES: Record<string, readonly string[]> = {
  'kind:': ['handler', 'sequencer', 'router', 'generator', 'hook'],
  'status:': ['failed', 'returned_error', 'timed_out', 'running', 'suspended', 'completed', 'abandoned'],
  'dur>': ['100ms', '1s', '10s', '1m'],
  'dur<': ['1ms', '20ms', '1s'],
  'tokens>': ['100', '1000', '10000'],
};

/** What may stand where the caret is. */
export const completionsAt = (text: string, caret: number): Completions =>
  completionsIn({ terms: TERMS, values: VALUES }, text, caret);
