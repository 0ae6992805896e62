// A place as the command line that opens a window there: what "Copy a link" copies. Pure.
import { commandLine } from '../base/shell';
import type { BlockRow, Workspace } from '../host/host';
import { NOWHERE, type Place } from '../place';

type Named = Pick<BlockRow, 'path' | 'attempt' | 'instanceId'>;

/**
 * `blocks` are those that are known of the open request: a block is named by its path, and by its attempt where a newer
 * one exists, or where it is not among them and so may have one.
 */
export function linkOf(place: Place, folder: Workspace, blocks: readonly Named[]): string {
  const words = ['flowglass', 'open', folder.dir];
  if (folder.dataFile !== `${folder.dir}/.flowglass/flowglass.db`) words.push(`--data=${folder.dataFile}`);
  const add = (name: string, value: string | number | null | undefined) => {
    // A value that begins with a dash would be read as another flag.
    if (value != null) words.push(`--${name}=${value}`);
  };
  if (place.request) {
    add('request', place.request);
    add('at', place.seq);
    const known = blocks.find((one) => one.instanceId === place.block);
    const block = known ?? namedBy(place.request, place.block);
    add('block', block?.path);
    const isOld = blocks.some((one) => one.path === block?.path && one.attempt > block.attempt);
    if (block && (isOld || !known)) add('attempt', block.attempt);
    if (place.tab !== NOWHERE.tab) add('tab', place.tab);
    if (place.audience !== NOWHERE.audience) add('view', place.audience);
  } else if (place.session) add('session', place.session);
  else if (place.flow) {
    add('flow', place.flow);
    add('action', place.action);
  }
  return commandLine(words);
}

/** An instance is named `request:path:attempt`. */
function namedBy(request: string, instanceId: string | null): Named | undefined {
  if (!instanceId?.startsWith(`${request}:`)) return undefined;
  const found = /^(.+):(\d+)$/s.exec(instanceId.slice(request.length + 1));
  return found ? { path: found[1] ?? '', attempt: Number(found[2]), instanceId } : undefined;
}
