// What a Call's input says of it, in words: its roles, its scopes, its references, and where its result goes.
// Pure; an input of a shape that is not known reads as one that says nothing.
import { isRecord } from '../../base/json';
import { listOf } from './context';

export type Fact = { name: string; text: string; testid: string };
export type Reference = { at: string; reference: string; value: unknown };

const SCOPES: Record<string, string> = {
  static: 'static: its tool fixes them',
  dynamic: 'dynamic: the model chose them',
  none: 'none: it sees nothing',
};

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const names = (value: unknown): string => listOf(value).map(String).join(', ');

export const planOf = (input: unknown): Record<string, unknown> => (isRecord(input) ? input : {});
export const callOf = (plan: Record<string, unknown>): Record<string, unknown> =>
  isRecord(plan.call) ? plan.call : {};

/** `explicit`, `instanced`, …: a Call can have several roles at once. */
export function rolesOf(plan: Record<string, unknown>): string[] {
  const roles = text(plan.role).split(' ').filter(Boolean);
  return typeof plan.instance === 'string' ? [...roles, 'instanced'] : roles;
}

/** Who makes the result. */
export function makerOf(plan: Record<string, unknown>): string {
  const [activity, delegate] = [text(plan.activity), text(plan.delegate)];
  if (activity && delegate)
    return `the Activity “${activity}”, from what is scoped alone, in place of the delegate “${delegate}”`;
  if (activity) return `the Activity “${activity}”, from what is scoped alone`;
  if (delegate) return `the delegate “${delegate}”, from its own context and what is scoped`;
  return plan.role === 'latent' ? 'the model, in the same solution' : '';
}

export function factsOf(plan: Record<string, unknown>): Fact[] {
  const scopes = isRecord(plan.scopes) ? plan.scopes : null;
  const mode = text(scopes?.mode);
  const kinds = names(scopes?.kinds);
  const call = callOf(plan);
  const places = listOf(plan.outputPath).map(String);
  const written = text(call._outputPath);
  const method = text(plan.outputMethod) || text(call._outputMethod) || 'set';
  const all: [string, string, string][] = [
    ['Made by', makerOf(plan), 'call-maker'],
    ['Instance', text(plan.instance), 'call-instance'],
    ['Scopes', scopes ? [kinds, SCOPES[mode] ?? mode].filter(Boolean).join(' — ') : '', 'call-scopes'],
    ['It could ask for', scopes?.allowed ? names(scopes.allowed) || 'nothing' : '', 'call-allowed'],
    [
      'Result goes to',
      places.length > 0 ? `${places.length > 1 && written ? written : places.join(', ')} (${method})` : '',
      'call-output-path',
    ],
    ['Result goes to', scopes && places.length === 0 ? 'nowhere: it has no _outputPath' : '', 'call-output-path'],
    ['Why the model chose it', text(call._reasoningForCall), 'call-reasoning'],
  ];
  return all.flatMap(([name, said, testid]) => (said ? { name, text: said, testid } : []));
}

export function referencesOf(plan: Record<string, unknown>): Reference[] {
  return listOf(plan.references).flatMap((one) =>
    isRecord(one) ? { at: text(one.at), reference: text(one.reference), value: one.value } : [],
  );
}

/** The parameters, without the properties that the engine reads. */
export function parametersOf(plan: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(callOf(plan)).filter(([key]) => !key.startsWith('_')));
}
