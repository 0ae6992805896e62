// Where a value comes from, in words: each edge as a line, and where a click on it goes.
import { below } from '../../base/large';
import { parsePath } from '../../base/path';
import type { WhyEdge, WhyPlace, WhySpot } from '../../host/host';

/** So many other origins of a value are named. */
const MAX_TIES = 2;

const PLACES: Record<WhyPlace, string> = {
  request_input: 'input of the request',
  input: 'input',
  output: 'output',
  error: 'error',
  prompt: 'prompt',
  asked: 'request of an effect',
  model_answer: 'answer of a model',
  reply: 'reply',
  person: 'answer of a person',
  state: 'state',
  item: 'item',
  returned: 'return value of a function',
  edit: 'edit of the fork',
  journal: 'journal entry',
};

/** A place in words: what has the value, and which part of it. */
export function spotWords(spot: WhySpot, own: string): string {
  const scope = spot.scope ? ` ${spot.scope}` : '';
  const pointer = spot.pointer ? ` ${spot.pointer}` : '';
  const of = spot.path ? ` of ${spot.path}` : '';
  const request = spot.requestId === own ? '' : ', earlier request';
  return `${PLACES[spot.where]}${scope}${pointer}${of}${request}`;
}

/** Where an edge leads: to the earlier value, or else to the place itself. */
export const targetOf = (edge: WhyEdge): WhySpot => edge.of ?? edge.in;

/** What is known of an edge besides its places. */
export function edgeWords(edge: WhyEdge): string {
  const by = edge.by ? `${edge.by.path}${edge.by.file ? ` (${edge.by.file}:${edge.by.line ?? '?'})` : ''}` : '';
  const ties = (edge.ties ?? []).slice(0, MAX_TIES).map((tie) => `or ${spotWords(tie, edge.in.requestId)}`);
  if (edge.kind === 'computed') {
    const made = edge.operation === 'text_of_code' ? `text of the code, ${by}` : by;
    const unknown = edge.proven || edge.operation ? '' : 'computed or copied: not known';
    return [made, unknown, ...ties].filter(Boolean).join(', ');
  }
  if (edge.kind === 'written') return [edge.operation, by && `by ${by}`].filter(Boolean).join(' ');
  if (edge.kind === 'recorded') {
    return edge.operation === 'or_default' ? 'from outside, or a default of the schema' : 'from outside';
  }
  const others = edge.others ? `${edge.others} more like it` : '';
  const code = by ? `or text of the code, ${by}` : '';
  return [edge.proven ? '' : 'same content', others, ...ties, code].filter(Boolean).join(', ');
}

/** What a person asks about: a place of a value, or a text that they selected. */
export type Asked = { value: string | null; text: string | null };

/** What an element shows: the row of a value, or a message, or all of a value. A selected text in it comes first. */
export function askedOf(element: Element | null, selection: Selection | null): Asked | null {
  const holder = element?.closest<HTMLElement>('[data-place]');
  if (!element || !holder) return null;
  const text = selection && !selection.isCollapsed && holder.contains(selection.anchorNode) ? selection.toString() : '';
  if (text.trim()) return { value: null, text };
  const place = holder.dataset.place ?? '';
  const row = element.closest<HTMLElement>('[data-path]');
  const steps = row && holder.contains(row) && row.dataset.path ? parsePath(row.dataset.path) : [];
  return { value: place + steps.map((step) => below('', step)).join(''), text: null };
}

/** What the key asks about in a panel: what is selected, the row that the keys are at, or the first value. */
export function askedIn(panel: Element | null): Asked | null {
  const selection = document.getSelection();
  const anchor = selection && !selection.isCollapsed ? selection.anchorNode : null;
  const selected = anchor instanceof Element ? anchor : (anchor?.parentElement ?? null);
  if (selected && panel?.contains(selected)) return askedOf(selected, selection);
  const focused = document.activeElement;
  const active = focused && panel?.contains(focused) ? focused.querySelector('[aria-selected="true"]') : null;
  return askedOf(active ?? panel?.querySelector('[data-place]') ?? null, null);
}
