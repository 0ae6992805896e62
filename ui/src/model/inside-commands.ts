// The commands of the debugger inside a block. They act while the Source tab is shown, which does what they ask.
import type { Move } from '../host/host';
import { command, isOpen, type Command } from './command';
import type { AppModel } from './app.svelte';

const hasSource = (app: AppModel): boolean => app.window.source !== null;

const step = (to: Extract<Move, string>, title: string, icon: string, ...keys: string[]) =>
  command(`inside.${to}`, 'Step', title, icon, keys, (app) => app.window.source?.step(to), {
    when: hasSource,
    verb: 'step',
  });

const run = (id: string, title: string, icon: string, key: string, isBack: boolean) =>
  command(`inside.${id}`, 'Step', title, icon, [key], (app) => app.window.source?.runToLine(isBack), {
    when: hasSource,
    verb: 'step',
  });

/** The second keys are those of browsers: GTK gives F10 to the menu. */
export const INSIDE: readonly Command[] = [
  step('over', 'Step over', 'stepover', 'F10', "Ctrl+'"),
  step('into', 'Step into', 'stepinto', 'F11', 'Ctrl+;'),
  step('out', 'Step out', 'stepout', 'Ctrl+F11'),
  step('backOver', 'Step back over', 'backover', 'Shift+F10'),
  step('back', 'Step back into', 'backinto', 'Shift+F11'),
  step('backOut', 'Step back out', 'backout', 'Ctrl+Shift+F11'),
  run('to', 'Run to the line', 'last', 'Ctrl+F10', false),
  run('backTo', 'Run back to the line', 'first', 'Ctrl+Shift+F10', true),
  command('inside.print', 'Step', 'Print an expression at the line', 'plus', [], (app) => app.window.source?.print(), {
    when: hasSource,
    verb: 'print',
  }),
  command(
    'inside.source',
    'Step',
    'Show the source of the block',
    'handler',
    [],
    (app) => (app.window.inspectorTab = 'source'),
    { when: (app) => isOpen(app) && app.selected !== null, verb: 'coverage' },
  ),
  command(
    'inside.enlarge',
    'View',
    'Enlarge or shrink the source',
    'enlarge',
    [],
    (app) => (app.window.isSourceLarge = !app.window.isSourceLarge),
    { when: hasSource },
  ),
];
