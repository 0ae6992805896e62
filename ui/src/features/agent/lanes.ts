// The messages of a conversation by the side that said them, and a turn's end in words.
import type { TurnRow } from '../../host/host';

export type LaneMessage = { id: string; side: 'a' | 'b' | 'none'; label: string; text: string };

type Row = { id?: unknown; role?: unknown; content?: unknown; name?: unknown; status?: unknown; tool_calls?: unknown };

/** Stored roles encode the author: an assistant is side a, a user is side b; tools answer whoever called them. */
export function lanesOf(history: unknown): LaneMessage[] {
  const rows = Array.isArray(history) ? (history as Row[]) : [];
  let caller: LaneMessage['side'] = 'a';
  return rows.map((row, at) => {
    const role = String(row.role ?? '');
    if (row.tool_calls) caller = role === 'user' ? 'b' : 'a';
    const side = role === 'assistant' ? 'a' : role === 'user' ? 'b' : role === 'tool' ? caller : 'none';
    const state = row.status === 'completed' || row.status === undefined ? '' : String(row.status);
    const what = role === 'tool' ? `tool ${String(row.name ?? '')}` : role === 'system' ? 'system' : '';
    return { id: String(row.id ?? at), side, label: [what, state].filter(Boolean).join(', '), text: textOf(row) };
  });
}

function textOf(row: Row): string {
  if (typeof row.content === 'string' && row.content !== '') return row.content;
  return row.tool_calls ? 'calls tools' : '';
}

export function speaker(sides: readonly (string | null)[], at: number): string {
  return sides[at] ?? 'a person';
}

/** Who stopped with a turn and why, or who speaks next. */
export function verdict(turn: TurnRow): string {
  if (turn.stoppedBy) return `stopped by ${turn.stoppedBy}: ${turn.stopReason ?? 'no reason'}`;
  if (turn.next) return `next: side ${turn.next}`;
  return turn.status;
}
