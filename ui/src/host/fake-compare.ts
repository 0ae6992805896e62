// Two recordings side by side, as far as a screen needs it to be tried: blocks of the same path, in the order of the left
// one. What they got and made is not looked at; how they stand is.
import type { BlockRow, ComparedBlock, ComparedRow, ComparedSide, ComparisonHead } from './bindings';
import type { Recording } from './recording';

export type FakeComparison = { head: ComparisonHead; all: ComparedRow[]; shown: ComparedRow[] };

export function fakeComparison(comparison: number, left: Recording, right: Recording): FakeComparison {
  const [ours, theirs] = [newest(left.blocks()), newest(right.blocks())];
  const paths = [...new Set([...ours.keys(), ...theirs.keys()])];
  const all = paths.map((path, row): ComparedRow => {
    const [one, other] = [ours.get(path), theirs.get(path)];
    const differs = !other ? 'only_left' : !one ? 'only_right' : one.status === other.status ? null : 'status';
    const known = one ?? other;
    return {
      row,
      equal: 0,
      depth: path.split('/').length - 1,
      path,
      name: known?.name ?? path,
      ...(known && { kind: known.kind }),
      differs: differs ? [differs] : [],
      inside: false,
      ...(one && { left: blockOf(one, left) }),
      ...(other && { right: blockOf(other, right) }),
    };
  });
  const shown = all.filter((row) => row.differs.length > 0).map((row, at) => ({ ...row, row: at }));
  const head: ComparisonHead = {
    comparison,
    left: sideOf(left),
    right: sideOf(right),
    pairs: all.length,
    differing: shown.length,
    rows: shown.length,
    ...(shown[0] && { first: shown[0] }),
  };
  return { head, all, shown };
}

function newest(blocks: readonly BlockRow[]): Map<string, BlockRow> {
  return new Map([...blocks].sort((a, b) => a.attempt - b.attempt).map((block) => [block.path, block]));
}

const blockOf = (block: BlockRow, recording: Recording): ComparedBlock => ({
  instanceId: block.instanceId,
  status: block.status,
  startedMs: block.startedAt - recording.row.startedAt,
  ...(block.durationMs != null && { durationMs: block.durationMs }),
  attempts: block.attempt + 1,
  memoized: block.memoized ?? false,
  items: 0,
  changes: 0,
  modelCalls: 0,
  tokens: 0,
  seqStart: block.seqStart,
  ...(block.seqEnd != null && { seqEnd: block.seqEnd }),
});

function sideOf(recording: Recording): ComparedSide {
  const blocks = recording.blocks();
  return {
    request: { ...recording.row },
    blocks: blocks.length,
    failed: blocks.filter((block) => block.status === 'failed').length,
    items: 0,
    modelCalls: 0,
    promptTokens: 0,
    completionTokens: 0,
    lengthMs: recording.row.durationMs ?? 0,
  };
}
