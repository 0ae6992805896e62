// Looking for a text in what blocks got, made and failed with. Every stored value is looked through once for a text.
import type { BlockDocument, Blocks } from './blocks';
import { visit, type Values } from './values';

/** The blocks whose input, output or error contains a text in lower case, by their numbers. */
export async function blocksWith(text: string, blocks: Blocks, values: Values): Promise<Set<number>> {
  // As it stands in JSON.
  const wanted = JSON.stringify(text).slice(1, -1);
  const has = (written: unknown) =>
    JSON.stringify(written ?? null)
      .toLowerCase()
      .includes(wanted);
  const fitting = new Set<number>();
  // A value refers only to values before it.
  for await (const { number, text: written, refers } of values.texts())
    if (refers.some((one) => fitting.has(one)) || written.toLowerCase().includes(wanted)) fitting.add(number);
  const found = new Set<number>();
  for await (const [block, document] of blocks.written()) {
    const parts = partsOf(document);
    let fits = parts.some(has);
    for (const part of parts) visit(part, (number) => void (fits ||= fitting.has(number)));
    if (fits) found.add(block);
  }
  return found;
}

/** As they are stored. */
function partsOf({ input, output, error }: BlockDocument): unknown[] {
  return [input, output, error];
}
