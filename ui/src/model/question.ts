// What a question to a person says, in words: the call that waits, or what the flow's author wrote. Pure.
import { isRecord, preview } from '../base/json';
import type { Reply, SuspensionRow } from '../host/host';

export type Call = { name: string; args: unknown };
type Asked = Pick<SuspensionRow, 'reason' | 'message' | 'data' | 'path'>;

const MOST_OF_ARGS = 120;

/** The calls of tools that wait for approval; none where a question is about something else. */
export function callsOf({ data }: Pick<SuspensionRow, 'data'>): Call[] {
  if (!isRecord(data)) return [];
  const { toolCalls, call } = data;
  if (Array.isArray(toolCalls)) {
    return toolCalls.filter(isRecord).map((one) => ({ name: String(one.toolName ?? 'tool'), args: one.args }));
  }
  if (!isRecord(call) || typeof call._tool !== 'string') return [];
  // Fields that begin with `_` say how the call is made, not what it is given.
  const args = Object.fromEntries(Object.entries(call).filter(([key]) => !key.startsWith('_')));
  return [{ name: call._tool, args }];
}

/** What an answer with data begins with: the arguments of the call that waits, a whole Call with its tool and how it is
 * made, or what the question is about. */
export function proposedData(asked: Pick<SuspensionRow, 'data'>): unknown {
  if (isRecord(asked.data) && isRecord(asked.data.call) && typeof asked.data.call._tool === 'string')
    return asked.data.call;
  const calls = callsOf(asked);
  if (calls.length === 1) return calls[0]?.args;
  return calls.length === 0 ? asked.data : undefined;
}

/** `pay({ amount: 45 })`. */
export function callWords({ name, args }: Call, most = MOST_OF_ARGS): string {
  if (args === undefined || args === null) return `${name}()`;
  if (isRecord(args) && Object.keys(args).length === 0) return `${name}({})`;
  const text = preview(args, most);
  return `${name}(${isRecord(args) ? text.replace(/^\{/, '{ ').replace(/\}$/, ' }') : text})`;
}

/** What a person is asked: `Approve pay({ amount: 45 })?`, or the words of the flow's author. */
export function questionWords(asked: Asked): string {
  const { message, reason } = asked;
  const calls = callsOf(asked);
  const names = calls.map((call) => call.name);
  // The engine's own message names the tool alone.
  const isOwn =
    !message || names.some((name) => message.includes(`"${name}" waits`) || message.startsWith(`Approve ${name}(`));
  if (calls.length > 0 && isOwn) return `Approve ${calls.map((call) => callWords(call)).join(', ')}?`;
  if (message) return message;
  return reason === 'approval' ? 'Approve this step?' : reason;
}

const ANSWERED: Record<Reply, string> = {
  approve: 'Approved',
  reject: 'Rejected',
  submit: 'Answered',
  skip: 'Skipped',
};

/** What somebody answered: `Approved: pay({ amount: 45 })`. */
export function answeredWords(asked: Asked, reply: Reply | null | undefined): string {
  const what = questionWords(asked).replace(/^Approve (.*)\?$/s, '$1');
  return `${ANSWERED[reply ?? 'submit']}: ${what}`;
}

/** The call below a message that the author wrote, which may not name its arguments. */
export function detailWords(asked: Asked): string {
  const title = questionWords(asked);
  const calls = callsOf(asked).map((call) => callWords(call));
  return calls.every((call) => title.includes(call)) ? '' : calls.join(', ');
}
