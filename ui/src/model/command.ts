// What a command is. The table of all of them is `commands.ts`.
import type { verbs } from '../host/host';
import type { AppModel } from './app.svelte';

export type Verb = (typeof verbs)[number];
export type Group = 'Go' | 'View' | 'Instant' | 'Timeline' | 'Step' | 'Do' | 'Help';

export type Command = {
  id: string;
  title: string;
  group: Group;
  icon: string;
  /** As `chordOf` writes them. */
  keys: readonly string[];
  /** Where its keys act: in the whole window, or in the part that has the focus. */
  scope: 'window' | 'view';
  /** Whether there is anything to do it to. */
  when: (app: AppModel) => boolean;
  run: (app: AppModel) => void;
  verb?: Verb;
};

/** What a copy of one request in a file offers: nothing can be run there, and there is nothing beside it. */
const IN_COPIES =
  /^(palette$|pane\.right|theme\.|back$|forward$|zone\.|go\.(view|block|state)|view\.(?!agent$|calls$)|instant\.|timeline\.|history|diff|keys)/;

export const isOffered = (app: AppModel, id: string): boolean => !app.host.isCopy || IN_COPIES.test(id);

/** A copy has no other request. */
export const titleOf = (app: AppModel, { id, title }: Pick<Command, 'id' | 'title'>): string =>
  id === 'diff' && app.host.isCopy ? 'Compare two instants' : title;

const always = () => true;
export const isOpen = (app: AppModel) => app.request.row !== null;
export const hasTimeline = (app: AppModel) => app.window.timeline !== null;
export const hasFolder = (app: AppModel) => app.workspace.info.answer !== null;

export const command = (
  id: string,
  group: Group,
  title: string,
  icon: string,
  keys: readonly string[],
  run: Command['run'],
  more: Partial<Pick<Command, 'scope' | 'when' | 'verb'>> = {},
): Command => {
  const { when = always, ...rest } = more;
  return {
    id,
    group,
    title,
    icon,
    keys,
    run,
    scope: 'window',
    when: (app) => isOffered(app, id) && when(app),
    ...rest,
  };
};
