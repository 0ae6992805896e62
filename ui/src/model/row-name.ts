// How a row of the timeline or of a comparison is called: by its block, without how the block was called. The whole
// path is its tooltip.
import type { ViewRow } from '../host/host';

/** What a name is made of: the place below the block around it, and the block's own name. */
export type Named = Pick<ViewRow, 'label'> & Partial<Pick<ViewRow, 'name' | 'group'>>;

/** What tells blocks of one name apart: `~2` of the second one, `[2]` of the third turn, `[0.1]` of a model's call. */
const INDEX = /~(\d+)(?=\[|$)|\[([\d.]+)\]/g;
/** A pass of a loopBack: a segment before the one of its block. */
const PASS = /^loop(?:~\d+)?\[(\d+)\]$/;
const PARALLEL = /^parallel(?:~(\d+))?$/;
const TURN = /^turn\[\d+\]:/;
const ENCODED = /%(?:25|2F|3A|5B|5D|7E)/g;

/** The last segment of a row's place, with what is before it: passes of loopBacks, and `parallel` of its branches. */
function partsOf({ label }: Named) {
  const parts = label.replace(/^parallel: /, '').split('/');
  const segment = parts.pop() ?? '';
  const passes = parts.flatMap((part) => PASS.exec(part)?.[1] ?? []);
  const parallel = PARALLEL.exec(parts.at(-1) ?? '');
  return { segment, passes, parallel };
}

/** `plan` of `step:plan`, `web` of `parallel/web`; the block's own name if its place has none. */
export function nameOf(row: Named): string {
  const { segment, parallel } = partsOf(row);
  const plain = segment.replace(INDEX, '');
  const called = plain.slice(plain.indexOf(':') + 1);
  // A turn of a conversation has the letter of its side, and its agent a name.
  if (TURN.test(segment) && row.name) return row.name;
  // A branch of `parallel` is named by its key alone.
  const name = parallel || plain.includes(':') ? called : (row.name ?? plain);
  return name.replace(ENCODED, decodeURIComponent) || segment;
}

/** `[1]` of the second pass or turn, `#2` of the second block of one name. A group of turns has none. */
export function turnOf(row: Named): string {
  if (row.group?.of === 'turns') return '';
  const { segment, passes, parallel } = partsOf(row);
  const own = [...segment.matchAll(INDEX)].map(([, same, index]) => (same ? `#${same}` : `[${index}]`));
  const before = [...passes.map((pass) => `[${pass}]`), ...(parallel?.[1] ? [`#${parallel[1]}`] : [])];
  return [...before, ...own].join('');
}

/** The end of a path that names its block: with the passes and the `parallel` before it, which are no blocks. */
export function labelOf(path: string): string {
  const parts = path.split('/');
  let from = parts.length - 1;
  while (from > 0 && (PASS.test(parts[from - 1] ?? '') || PARALLEL.test(parts[from - 1] ?? ''))) from--;
  return parts.slice(from).join('/');
}
