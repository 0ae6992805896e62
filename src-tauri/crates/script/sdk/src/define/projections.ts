// What clients may see of a scope or a resource: checked when a file loads, so that a name nobody
// has does not stay unnoticed.

import type { Config } from './blocks';
import { fieldsOf, isSchema } from '../base/schema';

function known(schema: unknown): string[] | undefined {
  return isSchema(schema) ? fieldsOf(schema)?.map((field) => field.name) : undefined;
}

/** Names of fields that the schema has, where it is known which it has. */
export function needFields(names: unknown, schema: unknown, where: string): string[] {
  if (names === undefined) return [];
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string')) {
    throw new Error(`${where} must be an array of field names`);
  }
  const fields = known(schema);
  const unknown = (names as string[]).find((name) => fields && !fields.includes(name));
  if (unknown !== undefined) {
    throw new Error(`${where} names "${unknown}", which the stateSchema does not have; it has: ${fields?.join(', ')}`);
  }
  return names as string[];
}

/** `client: { expose, derived }` of a scope, or its older form `clientData` (SEMANTICS §7.9). */
export function checkProjection(scope: Config | undefined, where: string): void {
  if (scope?.client !== undefined && scope.clientData !== undefined) {
    throw new Error(`${where}: client and clientData cannot both be given; client.derived is the newer place`);
  }
  const { expose, derived = {} } = (scope?.client ?? {}) as { expose?: unknown; derived?: Config };
  const exposed = needFields(expose, scope?.stateSchema, `${where}.client.expose`);
  const both = exposed.find((name) => name in derived);
  if (both !== undefined) throw new Error(`${where}.client: "${both}" is both in expose and in derived`);
  const computed: [string, Config][] = [
    ['client.derived', derived],
    ['clientData', (scope?.clientData ?? {}) as Config],
  ];
  for (const [place, functions] of computed) {
    const wrong = Object.keys(functions).find((name) => typeof functions[name] !== 'function');
    if (wrong !== undefined) throw new Error(`${where}.${place}: "${wrong}" must be a function`);
  }
}

/** `client` of a resource: at most one of three ways to choose what is seen. */
export function checkResourceProjection(config: Config, where: string): void {
  if (config.client === undefined) return;
  const client = config.client as Config;
  if (typeof client !== 'object' || client === null) throw new Error(`${where}: client must be an object`);
  const ways = ['expose', 'exclude', 'data'].filter((way) => client[way] !== undefined);
  if (ways.length > 1) throw new Error(`${where}: client takes one of ${ways.join(' and ')}, not both`);
  needFields(client.expose, config.stateSchema, `${where}: client.expose`);
  needFields(client.exclude, config.stateSchema, `${where}: client.exclude`);
  if (client.data !== undefined && typeof client.data !== 'function') {
    throw new Error(`${where}: client.data must be a function`);
  }
  const isSeen = 'pattern' in config && (client.state as Config | undefined)?.read === true;
  if (client.live === true && ways.length === 0 && !isSeen) {
    const wanted = 'pattern' in config ? 'client.state.read, or expose, exclude or data' : 'expose, exclude or data';
    throw new Error(`${where}: client.live requires ${wanted}: without it a client sees no state`);
  }
}
