// Replaces the command line's flags in error messages of experiments and exports by the names of a sheet's fields. Pure.
import { thrownWords } from './faults.svelte';

const FIELDS: Record<string, string> = {
  at: 'block',
  model: 'models',
  prompt: 'prompts',
  parameter: 'parameters',
  set: 'values in state',
  output: 'output',
  code: 'code',
  samples: 'samples',
  score: 'score',
  'score-schema': 'JSON Schema',
  'score-model': 'model that scores',
  budget: 'budget',
  fails: 'outcome',
  force: '“Overwrite”',
};

export function fieldWords(message: string): string {
  const named = message.replace(/(?<![\w-])--([a-z]+(?:-[a-z]+)*)/g, (flag, name: string) => FIELDS[name] ?? flag);
  return named.charAt(0).toUpperCase() + named.slice(1);
}

/** The words of a thrown error, with field names instead of flags. */
export function sheetWords(thrown: unknown) {
  const words = thrownWords(thrown);
  return { ...words, message: fieldWords(words.message) };
}
