// Which flows count on an organisation that nobody named (SEMANTICS §1.1): what their definitions say of it.
//
// Older flows say `project` and ask whether there is one; newer ones say `org` and know that there always is.

import type { Block, Config } from '../define/blocks';
import type { Declared } from '../define/resources';

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

/** Whether a flow declares something of an `org`, and nothing of a `project`; nothing where it declares neither. */
export function declaresOrg(
  definition: Config,
  resources: readonly Declared[],
  blocks: readonly Block[],
): boolean | undefined {
  const declared = [...resources, ...blocks.flatMap(({ ownResources }) => ownResources)];
  const says = ({ flow, block, scope }: Spelling) =>
    flow.some((key) => definition[key] !== undefined) ||
    blocks.some(({ config }) => block.some((key) => config[key] !== undefined)) ||
    declared.some(
      ({ definition: { config } }) => config.scope === scope || (scope === 'org' && config.stampOrgId === true),
    );
  if (says(PROJECT)) return false;
  return says(ORG) || undefined;
}
