import { expect, test } from 'vitest';
import type { WhyEdge, WhySpot, WhyView } from '../../host/host';
import { isWhole, moreWords, originName, partsOf, segmentsOf } from './prompt-origins';

const spot = (more: Partial<WhySpot>): WhySpot => ({ where: 'input', requestId: 'r', seq: 3, ...more });
const edge = (depth: number, at: Partial<WhySpot>, of: Partial<WhySpot> | null): WhyEdge => ({
  kind: of ? 'copied' : 'computed',
  depth,
  in: spot(at),
  proven: false,
  ...(of && { of: spot(of) }),
});
const view = (edges: WhyEdge[]): WhyView => ({
  requestId: 'r',
  at: 'root/step:investigator#0',
  seq: 9,
  asked: { in: 'prompt' },
  answer: '',
  edges,
  truncated: false,
});
const OWN = 'root/step:investigator';
const prompt = (from?: number, to?: number) => ({ where: 'prompt' as const, path: OWN, from, to });
const input = { where: 'input' as const, path: OWN, pointer: '/angle' };
const angle = { where: 'output' as const, path: 'root/loop[1]/step:next-angle', pointer: '/angle', seq: 7 };

test('a part is called after the block that made it, not after the one that was given it', () => {
  const text = 'Angle: évidence for pale roofs';
  // Bytes are counted, and é has two of them.
  const parts = partsOf(
    view([edge(0, prompt(7, 31), input), edge(1, input, angle), edge(0, prompt(0, 7), null)]),
    text,
    OWN,
  );
  expect(parts.map(({ name, spot, from, to }) => [name, spot.seq, text.slice(from, to)])).toEqual([
    ['step:next-angle → output.angle', 7, 'évidence for pale roofs'],
  ]);
  expect(isWhole(parts, text)).toBe(false);
  expect(segmentsOf(text, parts).map((one) => [one.text, one.part?.name ?? null])).toEqual([
    ['Angle: ', null],
    ['évidence for pale roofs', 'step:next-angle → output.angle'],
  ]);
  // Of a text that was cut only what is left of a part is marked.
  expect(segmentsOf(text.slice(0, 10), parts).map((one) => one.text)).toEqual(['Angle: ', 'évi']);
});

test('the name of a tool that a model called is no origin of the same name in its prompt', () => {
  const text = '- search-library: Finds articles';
  const called = { where: 'model_answer' as const, path: OWN, pointer: '/toolCalls/0/name' };
  const edges = [edge(0, prompt(2, 16), called)];
  expect(partsOf(view(edges), text, OWN)).toEqual([]);
  const said = { where: 'model_answer' as const, path: OWN, pointer: '/text' };
  expect(partsOf(view([edge(0, prompt(2, 16), said)]), text, OWN)).toHaveLength(1);
});

test('where a value has several causes, the value itself is named', () => {
  const other = { where: 'output' as const, path: 'root/step:b', pointer: '' };
  const edges = [edge(0, prompt(), input), edge(1, input, angle), edge(1, input, other)];
  const parts = partsOf(view(edges), 'a and b', OWN);
  expect(parts.map((part) => part.name)).toEqual(['step:investigator → input.angle']);
  expect(isWhole(parts, 'a and b')).toBe(true);
});

test.each([
  [{ where: 'state', scope: 'session', pointer: '/topics/0' }, 'session.topics[0]'],
  [{ where: 'request_input', pointer: '/question' }, 'request → input.question'],
  [{ where: 'item', seq: 12 }, 'item #12'],
  [{ where: 'model_answer', path: 'root/step:plan', requestId: 'r0' }, 'step:plan → answer (earlier request)'],
  [{ where: 'output', path: 'root/step:list', pointer: '/0' }, 'step:list → output[0]'],
] as [Partial<WhySpot>, string][])('a place has a short name: %o', (one, name) => {
  expect(originName(spot(one), 'r')).toBe(name);
});

test('origins that are not named are counted, and said to be incomplete if none is', () => {
  expect([moreWords(0, false), moreWords(3, false), moreWords(5, true)]).toEqual(['', '', 'and 2 more']);
  expect([moreWords(2, true), moreWords(0, true)]).toEqual(['and more', 'Origins incomplete']);
});
