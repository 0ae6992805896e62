// Which flows count on an organisation that nobody named (SEMANTICS §1.1).
//
// Older flows say `project` and ask whether there is one; newer ones say `org` and know that there always is.

import type { Block, Config } from '../define/blocks';
import type { Declared } from '../define/resources';
import { sourceOf } from '../base/sources';

const MEMBERS =
  'identity|state|resources|patchState|setState|incState|pushState|setStateRecord|deleteStateRecord|atomicState|' +
  'getOrPatchState';
/** A function looks into `ctx.org` without asking first whether it is there: then `org?.` has become a comparison. */
const COUNTS_ON_ORG = new RegExp(`\\.org\\.(?:${MEMBERS})\\b`);
const SAYS_PROJECT = new RegExp(`\\bctx\\.project\\b|\\.project\\.(?:${MEMBERS})\\b`);

interface Spelling {
  /** Of a flow or an action of it. */
  flow: string[];
  block: string[];
  scope: string;
}

const ORG: Spelling = { flow: ['org', 'isolateOrgState'], block: ['orgStateSchema', 'orgResources'], scope: 'org' };
const PROJECT: Spelling = {
  flow: ['project', 'isolateProjectState'],
  block: ['projectStateSchema', 'projectResources', 'requireProject'],
  scope: 'project',
};

/** Whether a flow says `org`, and nowhere `project`. */
export function countsOnOrg(
  definition: Config,
  resources: readonly Declared[],
  blocks: readonly Block[],
  functions: readonly unknown[],
): boolean {
  const declared = [...resources, ...blocks.flatMap(({ ownResources }) => ownResources)];
  const says = ({ flow, block, scope }: Spelling) =>
    flow.some((key) => definition[key] !== undefined) ||
    blocks.some(({ config }) => block.some((key) => config[key] !== undefined)) ||
    declared.some(({ definition: { config } }) => config.scope === scope);
  const sources = functions.map(sourceOf);
  if (says(PROJECT) || sources.some((text) => SAYS_PROJECT.test(text))) return false;
  return says(ORG) || sources.some((text) => COUNTS_ON_ORG.test(text));
}
