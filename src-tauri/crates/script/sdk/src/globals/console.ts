// `console`: each call becomes a log line of the block that makes it.
//
// Groups, counters and timers are kept for each call of a block, so that blocks that run at the same time, and a block
// that is run again, do not see those of others. Must not: throw, because a log line must not fail a run.

import { atEnd, currentToken, native, wire } from '../base/host';
import { inspect } from '../base/inspect';

interface State {
  indent: string;
  counts: Map<string, number>;
  timers: Map<string, number>;
}

const states = new Map<number, State>();

/** The longest indent, so that a loop that only opens groups writes short lines. */
const LONGEST_INDENT = 40;
/** The most rows and columns of a table. */
const MOST_ROWS = 200;
const MOST_COLUMNS = 50;

function stateOf(token: number): State {
  let state = states.get(token);
  if (!state) {
    states.set(token, (state = { indent: '', counts: new Map(), timers: new Map() }));
    atEnd(token, () => states.delete(token));
  }
  return state;
}

function write(level: string, text: string): void {
  const token = currentToken();
  const indent = states.get(token)?.indent ?? '';
  const shown = indent === '' ? text : indent + text.replaceAll('\n', `\n${indent}`);
  native.sync('log', token, wire([level, shown]));
}

function print(level: string) {
  return (...parts: unknown[]): void => write(level, parts.map(inspect).join(' '));
}

const log = print('log');
const warn = print('warn');

/** A label as text; `default` without one. */
function labelOf(label: unknown): string {
  return label === undefined ? 'default' : inspect(label);
}

function group(...labels: unknown[]): void {
  if (labels.length > 0) log(...labels);
  const state = stateOf(currentToken());
  state.indent = `${state.indent}  `.slice(0, LONGEST_INDENT);
}

function groupEnd(): void {
  const state = stateOf(currentToken());
  state.indent = state.indent.slice(2);
}

function count(label?: unknown): void {
  const [name, { counts }] = [labelOf(label), stateOf(currentToken())];
  const times = (counts.get(name) ?? 0) + 1;
  counts.set(name, times);
  log(`${name}: ${times}`);
}

function countReset(label?: unknown): void {
  const [name, { counts }] = [labelOf(label), stateOf(currentToken())];
  if (!counts.delete(name)) warn(`Count for '${name}' does not exist`);
}

/** The precise clock, which is recorded as any reading of it. */
function now(): number {
  return Number(native.sync('clock', currentToken(), ''));
}

function time(label?: unknown): void {
  const [name, { timers }] = [labelOf(label), stateOf(currentToken())];
  if (timers.has(name)) return warn(`Label '${name}' already exists for console.time()`);
  timers.set(name, now());
}

function passed(method: string, label: unknown, parts: unknown[]): void {
  const [name, { timers }] = [labelOf(label), stateOf(currentToken())];
  const since = timers.get(name);
  if (since === undefined) return warn(`No such label '${name}' for console.${method}()`);
  log(`${name}: ${duration(Math.max(0, now() - since))}`, ...parts);
}

function timeEnd(label?: unknown): void {
  passed('timeEnd', label, []);
  stateOf(currentToken()).timers.delete(labelOf(label));
}

function duration(ms: number): string {
  if (ms < 1000) return `${Number(ms.toFixed(3))}ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(3)}s`;
  const minutes = Math.floor(ms / 60_000);
  const seconds = ((ms % 60_000) / 1000).toFixed(3).padStart(6, '0');
  return minutes < 60
    ? `${minutes}:${seconds} (m:ss.mmm)`
    : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}:${seconds.slice(0, 2)} (h:mm:ss)`;
}

/** A value in a cell. */
function cell(value: unknown): string {
  if (typeof value === 'string') return `'${value.replaceAll('\n', '\\n')}'`;
  return inspect(value).replaceAll('\n', ' ');
}

type Row = [index: string, values: Map<string, string>];

const VALUES = 'Values';

function table(data: unknown, columns?: unknown): void {
  if (typeof data !== 'object' || data === null) return log(data);
  let text: string;
  try {
    const { head, rows } = rowsOf(data);
    const shown = rows.slice(0, MOST_ROWS).map(([index, value]) => rowOf(index, value, head));
    text = drawn(head, shown, Array.isArray(columns) ? columns.map(String) : undefined);
    if (rows.length > MOST_ROWS) text += `\n… ${rows.length - MOST_ROWS} more rows`;
  } catch {
    // Getters and proxies may throw.
    return log(data);
  }
  write('log', text);
}

function rowsOf(data: object): { head: string; rows: [string, unknown][] } {
  const iterated = '(iteration index)';
  if (data instanceof Map) {
    const entries = [...(data as Map<unknown, unknown>)];
    return { head: iterated, rows: entries.map(([key, value], at) => [String(at), new Entry(key, value)]) };
  }
  if (data instanceof Set) return { head: iterated, rows: [...data].map((value, at) => [String(at), value]) };
  return { head: '(index)', rows: Object.entries(data) };
}

/** An entry of a map, which has two columns. */
class Entry {
  constructor(
    readonly key: unknown,
    readonly value: unknown,
  ) {}
}

function rowOf(index: string, value: unknown, head: string): Row {
  if (value instanceof Entry) {
    return [
      index,
      new Map([
        ['Key', cell(value.key)],
        [VALUES, cell(value.value)],
      ]),
    ];
  }
  const isObject = typeof value === 'object' && value !== null;
  if (!isObject || head !== '(index)') return [index, new Map([[VALUES, cell(value)]])];
  return [index, new Map(Object.entries(value).map(([name, one]) => [name, cell(one)]))];
}

function drawn(head: string, rows: Row[], chosen: string[] | undefined): string {
  const names = new Set(rows.flatMap(([, values]) => [...values.keys()]));
  // The column of plain values is the last one.
  const hasValues = names.delete(VALUES);
  const columns = [...(chosen ?? names), ...(hasValues ? [VALUES] : [])].slice(0, MOST_COLUMNS);
  const lines = [
    [head, ...columns],
    ...rows.map(([index, row]) => [index, ...columns.map((name) => row.get(name) ?? '')]),
  ];
  const widths = [head, ...columns].map((_, at) => Math.max(...lines.map((line) => widthOf(line[at] as string))) + 2);
  const rule = (from: string, between: string, to: string) =>
    from + widths.map((width) => '─'.repeat(width)).join(between) + to;
  const row = (line: string[]) =>
    `│${line.map((text, at) => ` ${text}${' '.repeat((widths[at] as number) - widthOf(text) - 1)}`).join('│')}│`;
  const [first, ...rest] = lines as [string[], ...string[][]];
  return [rule('┌', '┬', '┐'), row(first), rule('├', '┼', '┤'), ...rest.map(row), rule('└', '┴', '┘')].join('\n');
}

function widthOf(text: string): number {
  return [...text].length;
}

export const console = {
  log,
  info: print('info'),
  warn,
  error: print('error'),
  debug: print('debug'),
  trace: print('debug'),
  assert: (holds?: unknown, ...parts: unknown[]): void => {
    if (!holds) print('error')(parts.length > 0 ? 'Assertion failed:' : 'Assertion failed', ...parts);
  },
  dir: (value?: unknown): void => log(value),
  dirxml: log,
  table,
  group,
  groupCollapsed: group,
  groupEnd,
  count,
  countReset,
  time,
  timeLog: (label?: unknown, ...parts: unknown[]): void => passed('timeLog', label, parts),
  timeEnd,
  /** There is no screen to clear, and no profiler. */
  clear: (): void => undefined,
  profile: (): void => undefined,
  profileEnd: (): void => undefined,
  timeStamp: (): void => undefined,
};
