// `process`, as a flow has it: its environment is what flowglass.json names under "env", and the rest is the same on
// every machine, so that a log replays everywhere.
//
// Must not: end, signal or start anything.

import { preciseNow, surroundings } from './host';

const { env, cwd: folder } = surroundings();
const start = preciseNow();

/** Nothing happens to a flow's process that it could hear of. */
const silent = (): object => all;

function refused(what: string): () => never {
  return () => {
    throw new Error(`process.${what} is not there in a flow: throw an error to end a block`);
  };
}

function hrtime(before?: [number, number]): [number, number] {
  const passed = (preciseNow() - start) * 1e6 - (before ? before[0] * 1e9 + before[1] : 0);
  return [Math.floor(passed / 1e9), Math.floor(passed % 1e9)];
}
hrtime.bigint = (): bigint => BigInt(Math.floor((preciseNow() - start) * 1e6));

/** What is written becomes log lines of the block. */
const output = (level: 'log' | 'error'): object => ({
  isTTY: false,
  columns: 80,
  write(text: unknown): boolean {
    console[level](String(text).replace(/\n$/, ''));
    return true;
  },
});

const all = {
  env,
  cwd: (): string => folder,
  platform: 'linux',
  arch: 'x64',
  argv: ['flowglass'],
  argv0: 'flowglass',
  execArgv: [] as string[],
  execPath: '',
  exitCode: undefined as number | undefined,
  pid: 1,
  ppid: 0,
  title: 'flowglass',
  /** No version of Node: what asks for one may use all that Node has. */
  version: '',
  versions: {} as Record<string, string>,
  release: { name: 'flowglass' },
  browser: false,
  stdout: output('log'),
  stderr: output('error'),
  hrtime,
  uptime: (): number => (preciseNow() - start) / 1000,
  memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
  nextTick(callback: (...args: unknown[]) => void, ...args: unknown[]): void {
    void Promise.resolve().then(() => callback(...args));
  },
  emitWarning: (warning: unknown): void => console.warn(String(warning)),
  on: silent,
  once: silent,
  off: silent,
  addListener: silent,
  removeListener: silent,
  removeAllListeners: silent,
  emit: () => false,
  listenerCount: () => 0,
  exit: refused('exit'),
  abort: refused('abort'),
  kill: refused('kill'),
  chdir: refused('chdir'),
};

export const { cwd, nextTick, platform, arch, argv, version, versions, uptime, emitWarning, stdout, stderr } = all;
export { env, hrtime };
export default all;

declare const console: Record<'log' | 'error' | 'warn', (text: string) => void>;

(globalThis as { process?: unknown }).process ??= all;
