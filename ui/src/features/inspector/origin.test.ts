import { expect, test } from 'vitest';
import type { WhyEdge, WhySpot } from '../../host/host';
import { askedOf, edgeWords, spotWords, targetOf } from './origin';

const spot = (more: Partial<WhySpot>): WhySpot => ({ where: 'input', requestId: 'r', seq: 3, ...more });
const edge = (more: Partial<WhyEdge>): WhyEdge => ({
  kind: 'copied',
  depth: 0,
  in: spot({}),
  proven: false,
  ...more,
});

function shown(html: string): HTMLElement {
  const root = document.createElement('div');
  root.innerHTML = html;
  document.body.replaceChildren(root);
  return root;
}

test('a row of a value is asked about by its JSON pointer', () => {
  const root = shown('<div data-place="input:"><p data-path="a[0]"><b>x</b></p><p data-path="c/d"><i>y</i></p></div>');
  expect(askedOf(root.querySelector('b'), null)).toEqual({ value: 'input:/a/0', text: null });
  expect(askedOf(root.querySelector('i'), null)?.value).toBe('input:/c~1d');
  expect(askedOf(root.querySelector('div'), null)).toEqual({ value: 'input:', text: null });
  expect(askedOf(root, null)).toBeNull();
});

test('a selected text comes before the value that it is in', () => {
  const root = shown('<div data-place="prompt#1:/messages/0/content"><p>Write about squid.</p></div>');
  const text = root.querySelector('p')?.firstChild as Text;
  const selection = document.getSelection() as Selection;
  selection.setBaseAndExtent(text, 12, text, 17);
  expect(askedOf(root.querySelector('p'), selection)).toEqual({ value: null, text: 'squid' });
  selection.removeAllRanges();
  expect(askedOf(root.querySelector('p'), selection)?.value).toBe('prompt#1:/messages/0/content');
});

test('an edge says what is known, and that equal content proves nothing', () => {
  const of = spot({ where: 'output', path: 'root/step:a', pointer: '/x', requestId: 'other' });
  expect(spotWords(of, 'r')).toBe('output /x of root/step:a, earlier request');
  expect(targetOf(edge({ of }))).toBe(of);
  expect(edgeWords(edge({ of, others: 2 }))).toBe('same content, 2 more like it');
  expect(edgeWords(edge({ of, proven: true }))).toBe('');
  const by = { path: 'root/step:a', file: 'flows/main.ts', line: 4 };
  expect(edgeWords(edge({ kind: 'computed', by, operation: 'text_of_code' }))).toBe(
    'text of the code, root/step:a (flows/main.ts:4)',
  );
  expect(edgeWords(edge({ kind: 'computed', by, operation: 'text_of_code', ties: [of] }))).toBe(
    'text of the code, root/step:a (flows/main.ts:4), or output /x of root/step:a, earlier request',
  );
  expect(edgeWords(edge({ kind: 'computed', by, proven: true }))).toBe('root/step:a (flows/main.ts:4)');
  expect(edgeWords(edge({ kind: 'computed', by }))).toBe(
    'root/step:a (flows/main.ts:4), computed or copied: not known',
  );
  expect(edgeWords(edge({ of, by }))).toBe('same content, or text of the code, root/step:a (flows/main.ts:4)');
  expect(edgeWords(edge({ kind: 'recorded', operation: 'or_default' }))).toBe(
    'from outside, or a default of the schema',
  );
  expect(edgeWords(edge({ kind: 'written', by, operation: 'patch' }))).toBe('patch by root/step:a (flows/main.ts:4)');
});
