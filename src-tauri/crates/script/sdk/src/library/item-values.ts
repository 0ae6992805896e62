// Values of blocks as items hold them: in place, by the item that has them, or as a list or object of such values.

interface Inline {
  kind: 'inline';
  value: unknown;
}
interface Ref {
  kind: 'ref';
  sourceItemId: string;
}
interface Structure {
  kind: 'structure';
  shape: { container: 'array'; entries: BlockValue[] } | { container: 'object'; entries: Record<string, BlockValue> };
}
export type BlockValue = Inline | Ref | Structure;

interface Item {
  id: string;
  type: string;
  output?: unknown;
  content?: { type: string; text?: string }[];
}

export type ItemLookup = (id: string) => Item | undefined;

export const inlineBlockValue = (value: unknown): Inline => ({ kind: 'inline', value });
export const refBlockValue = (sourceItemId: string): Ref => ({ kind: 'ref', sourceItemId });
export const structureBlockValue = (shape: Structure['shape']): Structure => ({ kind: 'structure', shape });

export function isBlockValue(value: unknown): value is BlockValue {
  return (
    typeof value === 'object' &&
    value !== null &&
    ['inline', 'ref', 'structure'].includes((value as { kind?: unknown }).kind as string)
  );
}

export function buildItemLookup(items: readonly { id: string; type: string }[]): ItemLookup {
  const byId = new Map(items.map((item) => [item.id, item as Item]));
  return (id) => byId.get(id);
}

/** What a value stands for. A value that is none of these stands for itself: items of this engine hold outputs so. */
export function resolveBlockValue(value: unknown, lookup: ItemLookup): unknown {
  return resolved(value, lookup, new Set());
}

function resolved(value: unknown, lookup: ItemLookup, seen: Set<string>): unknown {
  if (!isBlockValue(value)) return value;
  if (value.kind === 'inline') return value.value;
  if (value.kind === 'structure') {
    const { shape } = value;
    if (shape.container === 'array') return shape.entries.map((entry) => resolved(entry, lookup, seen));
    return Object.fromEntries(
      Object.entries(shape.entries).map(([key, entry]) => [key, resolved(entry, lookup, seen)]),
    );
  }
  const item = seen.has(value.sourceItemId) ? undefined : lookup(value.sourceItemId);
  if (!item) return undefined;
  if (item.type === 'message') {
    const texts = (item.content ?? []).filter((part) => part.type === 'output_text');
    return texts.map((part) => part.text ?? '').join('');
  }
  return resolved(item.output, lookup, new Set([...seen, value.sourceItemId]));
}
