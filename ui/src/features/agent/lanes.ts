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
  const said = typeof row.content === 'string' ? row.content : '';
  const calls = callsOf(row.tool_calls);
  return [said, calls.length > 0 ? `calls ${calls.join(', ')}` : ''].filter(Boolean).join('\n');
}

/** The names in a message's calls, which are JSON text; hooks may have put anything there. */
function callsOf(text: unknown): string[] {
  if (typeof text !== 'string') return [];
  try {
    const calls = JSON.parse(text) as unknown;
    if (!Array.isArray(calls)) return [];
    return calls.map((call: { function?: { name?: unknown } } | null) => String(call?.function?.name ?? '?'));
  } catch {
    return ['what is no JSON'];
  }
}

type SideConfig = { label?: unknown; prompt?: unknown };
type Shown = { agentConfig?: { sideA?: SideConfig; sideB?: SideConfig }; isChildPrompt?: unknown };

/** Who speaks for a side, in the words of the agent's author where there are any. */
export function speaker(flow: Shown, side: 'a' | 'b'): string {
  const config = side === 'a' ? flow.agentConfig?.sideA : flow.agentConfig?.sideB;
  if (config?.label) return String(config.label);
  if (config?.prompt) return String(config.prompt);
  return flow.isChildPrompt ? 'the prompt that called it' : 'a person';
}

/** Where an agent is, in one line. */
export function summary(
  flow: Shown & Record<string, unknown>,
  agent: { stopReason?: string | null; awaitingHuman: boolean },
) {
  const side = flow.currentSide === 'b' ? 'b' : 'a';
  const where = flow.isChildPrompt ? 'In a sub-prompt: ' : '';
  const turns = `${where}${String(flow.turnCount)} ${flow.turnCount === 1 ? 'turn' : 'turns'}`;
  if (!flow.stopped) return `${turns} so far; side ${side} has the turn: ${speaker(flow, side)}`;
  const by = flow.stoppedBy ? ` by side ${String(flow.stoppedBy)}` : '';
  const reason = agent.stopReason && !flow.isChildPrompt ? `: ${agent.stopReason}` : '';
  return `${turns}; stopped${by}${reason}${agent.awaitingHuman && !flow.isChildPrompt ? '; a person speaks next' : ''}`;
}

/** Who stopped with a turn and why, or who speaks next. */
export function verdict(turn: TurnRow): string {
  if (turn.stoppedBy) return `stopped by ${turn.stoppedBy}: ${turn.stopReason ?? 'no reason'}`;
  if (turn.next) return `next: side ${turn.next}`;
  return turn.status;
}
