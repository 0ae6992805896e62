// A route as the command line that shows it: what "Copy a link" copies. Pure.
import { commandLine } from '../base/shell';
import type { BlockRow, Workspace } from '../host/host';
import { VIEW, type Route } from '../place';

/** Orders of the command line; the window has more. */
const ORDERS: readonly string[] = ['duration', 'tokens', 'cost'];

type Request = Extract<Route, { at: 'request' }>;

type Named = Pick<BlockRow, 'path' | 'attempt' | 'instanceId'>;

/**
 * `blocks` are those that are known of the open request: a block is named by its path, and by its attempt where a newer
 * one exists, or where it is not among them and so may have one.
 */
export function linkOf(route: Route, folder: Workspace, blocks: readonly Named[]): string {
  const isUsual = folder.dataFile === `${folder.dir}/.flowglass/flowglass.db`;
  const data = isUsual ? [] : [`--data=${folder.dataFile}`];
  if (route.at === 'compare' && route.right === null)
    return commandLine(['flowglass', 'replay', route.left, `--dir=${folder.dir}`, ...data]);
  if (route.at === 'compare')
    return commandLine(['flowglass', 'diff', route.left, `--with=${route.right}`, `--dir=${folder.dir}`, ...data]);
  if (route.at === 'verify')
    return commandLine(
      ['flowglass', 'verify', `--dir=${folder.dir}`, ...data].concat(route.only === null ? [] : `--flow=${route.only}`),
    );
  if (route.at === 'experiments')
    return commandLine(
      ['flowglass', 'experiments', ...(route.experiment === null ? [] : [route.experiment])].concat(
        `--dir=${folder.dir}`,
        data,
      ),
    );
  if (route.at === 'conversation') {
    const view = ['messages', 'all'].includes(route.audience) ? [] : [`--view=${route.audience}`];
    return commandLine(['flowglass', 'session', route.session, ...view, `--dir=${folder.dir}`, ...data]);
  }
  if (route.at === 'runs') {
    const order = ORDERS.includes(route.sort) ? [`--order=${route.sort}`] : [];
    const filter = route.runs ? [`--filter=${route.runs}`] : [];
    return commandLine(['flowglass', 'requests', ...filter, ...order, `--dir=${folder.dir}`, ...data]);
  }
  return commandLine(['flowglass', 'open', folder.dir, ...data, ...flagsOf(route, blocks)]);
}

/** With `=`, because a value that begins with a dash would be read as another flag. */
export function flagsOf(
  route: Exclude<Route, { at: 'compare' | 'verify' | 'experiments' | 'runs' | 'conversation' }>,
  blocks: readonly Named[],
): string[] {
  switch (route.at) {
    // The program has no flag for it; the left pane leads there.
    case 'home':
    case 'settings':
    case 'waiting':
      return [];
    case 'flow':
      return [`--flow=${route.flow}`];
    case 'run':
      return [`--flow=${route.flow}`, `--action=${route.action}`];
    case 'session':
      return [`--session=${route.session}`];
    case 'request':
      return requestFlags(route, blocks);
  }
}

function requestFlags({ request, seq, block: id, tab, audience, pane }: Request, blocks: readonly Named[]): string[] {
  const flags = [`--request=${request}`];
  if (seq !== null) flags.push(`--at=${seq}`);
  const known = blocks.find((one) => one.instanceId === id);
  const block = known ?? namedBy(request, id);
  if (block) flags.push(`--block=${block.path}`);
  const isOld = blocks.some((one) => one.path === block?.path && one.attempt > block.attempt);
  if (block && (isOld || !known)) flags.push(`--attempt=${block.attempt}`);
  if (tab !== VIEW.tab) flags.push(`--tab=${tab}`);
  if (audience !== VIEW.audience) flags.push(`--view=${audience}`);
  if (pane !== null) flags.push(`--pane=${pane}`);
  return flags;
}

/** An instance is named `request:path:attempt`. */
function namedBy(request: string, instanceId: string | null): Named | undefined {
  if (!instanceId?.startsWith(`${request}:`)) return undefined;
  const found = /^(.+):(\d+)$/s.exec(instanceId.slice(request.length + 1));
  return found ? { path: found[1] ?? '', attempt: Number(found[2]), instanceId } : undefined;
}
