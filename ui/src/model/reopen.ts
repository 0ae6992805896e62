// Opens the window where it was: the folder that was open last, and in each folder the place that was looked at.
import { recall, recent, remember } from '../base/remember';
import type { Host } from '../host/host';
import { formatRoute, parseRoute, type Route } from '../place';
import type { AppModel } from './app.svelte';

const keyOf = (dataFile: string) => `place.${dataFile}`;

/** A slider changes the place many times a second. */
const KEPT_AFTER_MS = 500;
let later: ReturnType<typeof setTimeout> | undefined;

/** Keeps the place of the open folder for the next start; and that of this window, if it is one of several. */
export function rememberPlace({ host, route, workspace }: AppModel): void {
  const folder = workspace.info.answer;
  const address = formatRoute(route.current);
  if (folder) remember(keyOf(folder.dataFile), address);
  if (host.isCopy) return;
  clearTimeout(later);
  // A window that cannot be kept opens at its folder.
  later = setTimeout(() => void host.keepWindow(address).catch(() => {}), KEPT_AFTER_MS);
}

/** Goes to the place that was looked at last, unless the window was opened at one, or a person went on meanwhile. */
export async function reopen(app: AppModel): Promise<void> {
  const { host, route } = app;
  // A window that stays at its place is kept as well.
  rememberPlace(app);
  if (route.current.at !== 'home') return;
  const open = await host.workspace().catch(() => undefined);
  const [last] = recent('folder');
  // A folder that is gone is no reason to say anything: home lists the recent ones.
  if (open === null && last) await app.openWorkspace(last).catch(() => {});
  const folder = open ?? (await host.workspace().catch(() => null));
  const text = folder && recall<unknown>(keyOf(folder.dataFile), '');
  if (typeof text !== 'string' || !text) return;
  const was = parseRoute(text);
  if ((await isThere(host, was)) && route.current.at === 'home' && route.next === null) route.to(was, 'replace');
}

/** Whether all that a place shows is still there: what was deleted meanwhile cannot be gone back to. */
async function isThere(host: Host, was: Route): Promise<boolean> {
  const asked: Promise<unknown>[] = [];
  if (was.at === 'request') asked.push(host.related(was.request));
  else if (was.at === 'compare')
    asked.push(...[was.left, was.right].flatMap((one) => (one === null ? [] : [host.related(one)])));
  else if (was.at === 'session' || was.at === 'conversation')
    asked.push(host.requests({ session: was.session, limit: 1, offset: 0 }));
  else if (was.at === 'experiments' && was.experiment !== null) asked.push(host.experiment(was.experiment));
  return Promise.all(asked).then(
    () => true,
    () => false,
  );
}
