// Which parts of a message come from where: what the answer of `why` says of a text, as spans with a name and a target.
import { formatPath, parsePath } from '../../base/path';
import type { WhyEdge, WhyPlace, WhySpot, WhyView } from '../../host/host';
import { spotWords } from './origin';

/** `from` and `to` are places in the text of the message. */
export type PartOrigin = { from: number; to: number; name: string; title: string; spot: WhySpot };
export type Segment = { text: string; part: PartOrigin | null };

/** In a longer request nothing is asked before a person does: its values are indexed for the first question. */
export const MOST_EVENTS = 10_000;
/** Enough for the parts of a message with the steps back to where each entered. */
export const EDGES = 60;

const TOOL_NAME = /\/toolCalls\/\d+\/(?:name|id)$/;

const FIELDS: Partial<Record<WhyPlace, string>> = {
  request_input: 'input',
  model_answer: 'answer',
  returned: 'result',
};

/** `step:next-angle → output.angle`, `session.topic`, `input.question` of the request. */
export function originName({ where, path, pointer, scope, requestId, seq }: WhySpot, own: string): string {
  const place = pointer ? formatPath(parsePath(pointer)) : '';
  const join = (name: string) => (place ? `${name}${place.startsWith('[') ? '' : '.'}${place}` : name);
  const suffix = requestId === own ? '' : ' (earlier request)';
  if (scope) return join(scope) + suffix;
  if (where === 'item') return `item #${seq}${suffix}`;
  const field = join(FIELDS[where] ?? where.replaceAll('_', ' '));
  const block = path ? (path.split('/').at(-1) ?? path) : 'request';
  return `${block} → ${field}${suffix}`;
}

/** The edges that lead on from one, as long as each has one cause. */
function chainOf(edges: readonly WhyEdge[], at: number): WhyEdge[] {
  const chain: WhyEdge[] = [];
  for (let n = at; n < edges.length; n++) {
    const [edge, next] = [edges[n] as WhyEdge, edges[n + 1]];
    chain.push(edge);
    if (!next || next.depth !== edge.depth + 1) break;
    const later = edges.slice(n + 2);
    const end = later.findIndex((one) => one.depth <= edge.depth);
    if ((end < 0 ? later : later.slice(0, end)).some((one) => one.depth === next.depth)) break;
  }
  return chain;
}

/** Where the parts of a text come from. A value that the block itself was given is followed to who made it. */
export function partsOf(view: WhyView, text: string, own: string | null): PartOrigin[] {
  const bytes = new TextEncoder().encode(text);
  const decoder = new TextDecoder();
  const place = (byte: number) => decoder.decode(bytes.subarray(0, byte)).length;
  const found = view.edges.flatMap((edge, n): PartOrigin[] => {
    if (edge.depth !== 0 || !edge.of || edge.in.where !== 'prompt') return [];
    // A model names the tools that its prompt listed: the same name in its answer is no origin.
    if (!edge.proven && edge.of.where === 'model_answer' && TOOL_NAME.test(edge.of.pointer ?? '')) return [];
    const spots = chainOf(view.edges, n).flatMap(({ of }) => of ?? []);
    const spot = spots.find((one) => one.requestId !== view.requestId || one.path !== own) ?? edge.of;
    const [from, to] = [edge.in.from, edge.in.to].map((byte) => (byte == null ? null : place(byte)));
    const steps = spots.map((one) => spotWords(one, view.requestId)).join('\n');
    const title = `${edge.proven ? '' : 'Same content as: '}${steps}\nClick to go there`;
    return [{ from: from ?? 0, to: to ?? text.length, name: originName(spot, view.requestId), title, spot }];
  });
  return found.sort((one, other) => one.from - other.from);
}

/** Whether one part is nearly all of a text. */
export const isWhole = (parts: readonly PartOrigin[], text: string): boolean =>
  parts.length === 1 && (parts[0]?.to ?? 0) - (parts[0]?.from ?? 0) >= text.trim().length * 0.9;

/** A text cut where its parts begin and end. */
export function segmentsOf(text: string, parts: readonly PartOrigin[]): Segment[] {
  const segments: Segment[] = [];
  let at = 0;
  for (const part of parts) {
    const [from, to] = [Math.max(at, part.from), Math.min(text.length, part.to)];
    if (from >= to) continue;
    if (from > at) segments.push({ text: text.slice(at, from), part: null });
    segments.push({ text: text.slice(from, to), part });
    at = to;
  }
  if (at < text.length) segments.push({ text: text.slice(at), part: null });
  return segments;
}

/** How many origins a message names. */
export const MAX_NAMED = 3;

/** What is not named of the origins of a message; `isCut` says whether there are more than were read. */
export function moreWords(named: number, isCut: boolean): string {
  if (named > MAX_NAMED) return `and ${named - MAX_NAMED} more`;
  if (!isCut) return '';
  return named > 0 ? 'and more' : 'Origins incomplete';
}
