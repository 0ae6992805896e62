// `ctx.suspend(options)`: waits for somebody outside. The call comes back only in a run that has the answer.

import { FlowError, SuspensionRejectedError, SuspensionTimeoutError } from '../base/errors';
import { askJson, native, wire } from '../base/host';
import { describe } from '../base/json-schema';
import { isSchema, parse, type AnySchema } from '../base/schema';
import { toJson } from '../base/values';

/** What `ctx.suspend` gives when the question was skipped. */
export const SUSPENSION_SKIPPED: unique symbol = Symbol.for('flowglass.suspension.skipped') as never;

interface Resolved {
  id: string;
  resolution: 'approved' | 'rejected' | 'submitted' | 'skipped' | 'expired';
  data?: unknown;
  by?: string;
}

const ACTIONS = ['approve', 'reject', 'submit', 'skip'];

export async function suspend(token: number, given: unknown): Promise<unknown> {
  const options = checked(given);
  warnOfOthers(token, given as object);
  const schema = options.resumeSchema;
  const asked = { ...options, resumeSchema: isSchema(schema) ? shown(schema) : schema };
  const json = toJson(asked, 'ctx.suspend') as string;
  const answer = JSON.parse(await askJson(token, 'suspend', json)) as Resolved;
  switch (answer.resolution) {
    case 'rejected':
      throw new SuspensionRejectedError(answer.id, answer.by, answer.data);
    case 'expired':
      throw new SuspensionTimeoutError(answer.id);
    case 'skipped':
      return SUSPENSION_SKIPPED;
    default:
      return isSchema(schema) ? fitted(schema, answer) : answer.data;
  }
}

/** The schema as it is shown. Where the author's takes nothing at all, so does an answer without data. */
function shown(schema: AnySchema): unknown {
  const described = describe(schema) as Record<string, unknown>;
  if ('default' in described || !parse(schema, undefined).ok) return described;
  return { anyOf: [described, { type: 'null' }] };
}

/**
 * The data as the schema of today makes it; without any, nothing or null, as the schema takes it. Data that it refuses
 * is no answer: the question stays.
 */
function fitted(schema: AnySchema, answer: Resolved): unknown {
  const { data } = answer;
  const parsed = parse(schema, data);
  if (parsed.ok) return parsed.data;
  if (data === undefined || data === null) {
    const other = parse(schema, data === null ? undefined : null);
    if (other.ok) return other.data;
  }
  const first = parsed.issues?.[0];
  const at = first?.path ? ` at "${first.path}"` : '';
  throw new FlowError(
    `the answer to suspension ${answer.id} does not fit its schema${at}: ${first?.message ?? 'invalid'}`,
    {
      code: 'resume_data',
      details: { suspensionId: answer.id, issues: parsed.issues },
    },
  );
}

const KNOWN = ['reason', 'message', 'data', 'resumeSchema', 'timeoutMs', 'render', 'allow'];

/** Tells of options that change nothing, in the log of the block that asks. */
function warnOfOthers(token: number, options: object): void {
  for (const key of Object.keys(options).filter((key) => !KNOWN.includes(key))) {
    const why =
      key === 'suspensionId'
        ? 'a suspension gets its id from its request, its block and its number'
        : `the options are ${KNOWN.join(', ')}`;
    native.sync('log', token, wire(['warn', `ctx.suspend: "${key}" changes nothing: ${why}`]));
  }
}

function checked(given: unknown): Record<string, unknown> {
  const wrong = (what: string) => new TypeError(`ctx.suspend: ${what}`);
  if (typeof given !== 'object' || given === null) throw wrong('needs { reason: string, … }');
  const { reason, message, data, resumeSchema, timeoutMs, render, allow } = given as Record<string, unknown>;
  if (typeof reason !== 'string' || reason === '')
    throw wrong('reason must be a non-empty text, like "human_approval"');
  if (message !== undefined && typeof message !== 'string') throw wrong('message must be a text');
  if (timeoutMs !== undefined && !(typeof timeoutMs === 'number' && timeoutMs >= 0 && Number.isFinite(timeoutMs))) {
    throw wrong('timeoutMs must be a number of milliseconds, 0 or more');
  }
  if (resumeSchema !== undefined && (typeof resumeSchema !== 'object' || resumeSchema === null)) {
    throw wrong('resumeSchema must be a zod schema or a JSON Schema');
  }
  if (allow !== undefined && !(Array.isArray(allow) && allow.every((action) => ACTIONS.includes(action as string)))) {
    throw wrong(`allow must be a list of ${ACTIONS.join(', ')}`);
  }
  const ms = timeoutMs === undefined ? undefined : Math.round(timeoutMs as number);
  return { reason, message, data, resumeSchema, timeoutMs: ms, render, allow };
}
