// `ctx.suspend(options)`: waits for somebody outside. The call comes back only in a run that has the answer.

import { FlowError, SuspensionRejectedError, SuspensionTimeoutError } from '../base/errors';
import { askJson, native, wire } from '../base/host';
import { describeAnswer } from '../base/json-schema';
import { inspect } from '../base/inspect';
import { isSchema, parse, parseAsync, type AnySchema, type Answer } from '../base/schema';
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
  const isJsonSchema = schema !== undefined && !isSchema(schema);
  let resumeSchema = schema;
  if (isSchema(schema)) {
    const takesNothing = accepted(schema, undefined);
    resumeSchema = shown(schema, typeof takesNothing === 'boolean' ? takesNothing : await takesNothing);
  }
  const wrongPattern = isJsonSchema ? wrongPatternIn(schema, '') : undefined;
  const asked = { ...options, resumeSchema, isJsonSchema, wrongPattern };
  const json = toJson(asked, 'ctx.suspend') as string;
  const place = new Error();
  let answer: Resolved;
  try {
    answer = JSON.parse(await askJson(token, 'suspend', json)) as Resolved;
  } catch (error) {
    if (error instanceof Error) error.stack ||= place.stack ?? '';
    throw error;
  }
  switch (answer.resolution) {
    case 'rejected':
      throw new SuspensionRejectedError(answer.id, answer.by, answer.data);
    case 'expired':
      throw new SuspensionTimeoutError(answer.id);
    case 'skipped':
      return SUSPENSION_SKIPPED;
  }
  if (!isSchema(schema)) return answer.data;
  const made = fitted(schema, answer);
  return made instanceof Promise ? ((await made) as Fitted).data : made.data;
}

/** The schema as it is shown. Where the author's takes nothing at all, so does an answer without data. */
function shown(schema: AnySchema, takesNothing: boolean): unknown {
  const described = describeAnswer(schema);
  if ('default' in described || !takesNothing) return described;
  return { anyOf: [described, { type: 'null' }] };
}

/** Whether a schema accepts a value: later, if the schema has to wait. */
function accepted(schema: AnySchema, value: unknown): boolean | Promise<boolean> {
  const answer = tried(schema, value);
  return answer instanceof Promise ? answer.then(({ ok }) => ok) : answer.ok;
}

/** What a schema makes of a value: later, if the schema has to wait. What it throws refuses the value. */
function tried(schema: AnySchema, value: unknown): Answer | Promise<Answer> {
  try {
    return parse(schema, value);
  } catch {
    // Both generations of zod throw where a refinement or a transform waits.
    return parseAsync(schema, value).catch((error: unknown) => {
      const what = error instanceof Error ? `${error.name}: ${error.message}` : inspect(error);
      return { ok: false, issues: [{ path: '', message: `the schema threw ${what}` }] };
    });
  }
}

interface Fitted {
  data: unknown;
}

/**
 * The data as the schema of today makes it; without any, nothing or null, as the schema takes it. Data that it refuses
 * is no answer: the question stays.
 */
function fitted(schema: AnySchema, answer: Resolved): Fitted | Promise<Fitted> {
  const { data } = answer;
  const first = tried(schema, data);
  const isNothing = data === undefined || data === null;
  const second = (parsed: Answer): Fitted | Promise<Fitted> => {
    if (parsed.ok) return { data: parsed.data };
    if (!isNothing) return refuse(answer, parsed);
    const other = tried(schema, data === null ? undefined : null);
    const decide = (other: Answer) => (other.ok ? { data: other.data } : refuse(answer, parsed));
    return other instanceof Promise ? other.then(decide) : decide(other);
  };
  return first instanceof Promise ? first.then(second) : second(first);
}

function refuse(answer: Resolved, parsed: Answer): never {
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

/** What holds values, not schemas. */
const OF_VALUES = ['const', 'enum', 'default', 'examples', 'example'];

/** What is wrong with the first pattern of a JSON Schema that is no regular expression. */
function wrongPatternIn(schema: unknown, place: string, depth = 0): string | undefined {
  if (typeof schema !== 'object' || schema === null || depth > 100) return undefined;
  for (const [name, inner] of Object.entries(schema as Record<string, unknown>)) {
    const at = place === '' ? name : `${place}.${name}`;
    let patterns: string[] = [];
    if (name === 'pattern' && typeof inner === 'string') patterns = [inner];
    if (name === 'patternProperties' && typeof inner === 'object' && inner !== null) patterns = Object.keys(inner);
    const wrong = patterns.find((pattern) => !isPattern(pattern));
    if (wrong !== undefined) return `${at}: "${wrong}" is not a regular expression`;
    const deeper = OF_VALUES.includes(name) ? undefined : wrongPatternIn(inner, at, depth + 1);
    if (deeper !== undefined) return deeper;
  }
  return undefined;
}

function isPattern(pattern: string): boolean {
  return ['u', ''].some((flags) => {
    try {
      return new RegExp(pattern, flags) instanceof RegExp;
    } catch {
      return false;
    }
  });
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
