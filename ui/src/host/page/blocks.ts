// What a page says of each block, in chunks. `runner/src/workspace/moving/page/blocks.rs` writes it; what follows from the
// block's row is not in it.
import type { BlockDetail, BlockRow, ErrorInfo, Item } from '../bindings';
import type { Chunks } from './chunks';
import type { PageRows } from './rows';
import type { Values } from './values';

/** Which scope a block wrote to, between which events that came into force, and the last write. */
export type Written = [track: number, from: number, to: number, last: number];
/** What is not there is nothing. Items are places in the list of all, or whole. */
export type BlockDocument = Partial<Omit<BlockDetail, 'block' | 'changes' | 'items'>> & {
  error?: ErrorInfo;
  items?: (number | Item)[];
  writes?: Written[];
};

export class Blocks {
  constructor(
    readonly chunks: Chunks,
    readonly values: Values,
    readonly size: number,
    readonly total: number,
  ) {}

  async read(block: number): Promise<BlockDocument | null> {
    const chunk = await this.chunks.load<unknown[]>(`blocks-${Math.floor(block / this.size)}`);
    return this.values.read(chunk[block % this.size] ?? null);
  }

  /** All of them as they are stored, with references. */
  async *written(): AsyncGenerator<[number, BlockDocument]> {
    for (let first = 0; first < this.total; first += this.size) {
      const chunk = await this.chunks.load<(BlockDocument | null)[]>(`blocks-${first / this.size}`);
      for (const [n, document] of chunk.entries()) if (document) yield [first + n, document];
    }
  }
}

/** The row of a block as its details have it. */
export function blockRow(rows: PageRows, row: number, error: ErrorInfo | undefined): BlockRow {
  const parent = rows.around(row);
  const { path, instanceId, name, kind, attempt, status, startedAt, durationMs, cutMs, gaps, ...rest } = rows.row(
    row,
    null,
  );
  // The row has its whole length, for its place in time.
  const idle = (gaps ?? []).reduce((sum, gap) => sum + gap.to - gap.from, 0);
  return {
    path: path ?? '',
    instanceId: instanceId ?? '',
    ...(parent >= 0 && { parent: rows.instance(parent) }),
    name: name ?? '',
    kind: kind ?? 'handler',
    attempt: attempt ?? 0,
    status: status ?? 'running',
    startedAt,
    ...(durationMs != null && { durationMs: Math.max(0, durationMs - idle) }),
    ...(cutMs != null && { cutMs: Math.max(0, cutMs - idle) }),
    ...(gaps && { gaps }),
    memoized: rest.memoized,
    seqStart: rest.seqStart,
    ...(rest.seqEnd != null && { seqEnd: rest.seqEnd }),
    changes: rest.changes,
    items: rest.items,
    ...(error && { error }),
  };
}
