// What works here and newer versions of the framework refuse: told once, where the flow is defined.
//
// Must not: refuse anything, or change what it does.

import type { Config } from './blocks';
import { isEntries } from './entries';
import { warn } from './known-keys';
import { definition, isSchema, typeOf, type AnySchema } from '../base/schema';

const SCOPES = ['session', 'user', 'project', 'org'];

export function warnOfOlderWords(flowDefinition: Config): void {
  const { kind, middleware, configSchema: schema } = flowDefinition;
  const flow = `Flow "${kind as string}"`;
  const refused = (what: string, instead: string) =>
    warn(`${flow}: ${what}, which newer versions of the framework refuse; ${instead}`);
  for (const scope of SCOPES) {
    if ((flowDefinition[scope] as Config | undefined)?.clientData !== undefined) {
      refused(`"${scope}.clientData" is an older word`, `write ${scope}.client: { derived: { … } }`);
    }
  }
  if (middleware !== undefined) {
    refused('"middleware" runs around every block', 'they want such checks in the blocks themselves');
  }
  for (const type of ['internal', 'task']) {
    if (isEntries(flowDefinition[type])) {
      refused(`"${type}" holds its entries themselves`, `write ${type}: { actions: { … } }`);
    }
  }
  if (isSchema(schema) && typeOf(schema) !== 'object') {
    refused('"configSchema" is no plain z.object', 'check what spans two settings in the block that reads them');
  } else if (isSchema(schema) && hasCatchall(schema)) {
    refused('"configSchema" has a catchall', 'declare each setting, or one that holds a record');
  }
}

/** Of zod 4, `z.looseObject` has one, too; what lets everything through is closed here all the same. */
function hasCatchall(schema: AnySchema): boolean {
  const { catchall } = definition(schema) as { catchall?: AnySchema };
  return catchall !== undefined && !['never', ...(schema._zod ? ['unknown'] : [])].includes(typeOf(catchall));
}
