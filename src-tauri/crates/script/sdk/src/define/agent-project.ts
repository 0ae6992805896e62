// A project of agents in folders: each file has one definition, its default export (SEMANTICS §16.1).
//
// Must not: look at folders. The bundler finds the files, and imports each.

import { describeValue } from '../base/arguments';
import { isModel } from './agent-models';
import { isHook, Prompt, Tool } from './agents';
import { isFlow } from './flow';
import { warn } from './known-keys';

/** A file of a project: its folder, its name without the ending, its path, and what it exports. */
export type ProjectFile = [
  folder: string,
  name: string,
  path: string,
  exported: Record<string, unknown>,
  isRun: boolean,
];

/** What the files of each folder define, and whether a value is that. */
const FOLDERS: Record<string, [definer: string, isMade: (value: unknown) => boolean]> = {
  models: ['defineModel', isModel],
  tools: ['defineTool', (value) => value instanceof Tool],
  hooks: ['defineHook', isHook],
  prompts: ['definePrompt', (value) => value instanceof Prompt],
  agents: ['defineAgent', isFlow],
};

/** Checks what the files export. Returns the tools by the names of their files. */
export function toolsOfProject(files: readonly ProjectFile[]): Record<string, unknown> {
  const tools: Record<string, unknown> = {};
  for (const [folder, name, path, exported] of files) {
    const [definer, isMade] = FOLDERS[folder] as (typeof FOLDERS)[string];
    if (!('default' in exported)) {
      warn(`${path} has no default export, so it defines nothing; write: export default ${definer}(…)`);
      continue;
    }
    if (!isMade(exported.default)) {
      const other = Object.entries(FOLDERS).find(([, [, isOther]]) => isOther(exported.default));
      if (other !== undefined) {
        const [right, [maker]] = other;
        throw new TypeError(
          `${path}: the default export must be made by ${definer}, like every file in "${folder}"; it is made by ${maker}, so its file belongs in "${right}"`,
        );
      }
      warn(
        `${path}: the default export is not made by ${definer}, so it defines nothing; it is ${describeValue(exported.default)}`,
      );
      continue;
    }
    if (folder === 'tools') tools[name] = exported.default;
  }
  return tools;
}
