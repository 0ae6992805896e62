// What a person typed for an experiment, as what it is asked with; what is wrong is said at its field. Pure.
import type { ModelsBy, PromptField, Score, TryQuery } from '../../host/host';
import { budgetOf, countOf, type BudgetDraft } from '../../model/budget';

export type ScoreKind = 'expression' | 'block' | 'command' | 'schema' | 'model';
/** All kinds at once, so that nothing typed is lost when another kind is looked at. */
export type ScoreDraft = {
  kind: ScoreKind;
  expression: string;
  /** `flow.action` */
  block: string;
  command: string;
  schema: string;
  model: string;
  prompt: string;
};
export type PromptDraft = { field: PromptField; name: string; text: string };
/** Values are JSON, with commas or new lines between them. */
export type ValuesDraft = { name: string; values: string };

export type Draft = {
  /** One a line. */
  models: string;
  prompts: PromptDraft[];
  parameters: ValuesDraft[];
  set: ValuesDraft[];
  outputs: string;
  /** Revisions, one a line. */
  code: string;
  samples: string;
  score: ScoreDraft;
  budget: BudgetDraft;
  modelsBy: Extract<ModelsBy, string>;
};

/** What is wrong, by field: `models`, `prompt 0`, `set 1 name`, … */
export type Wrong = Record<string, string>;

export const newScore = (): ScoreDraft => ({
  kind: 'expression',
  expression: '',
  block: '',
  command: '',
  schema: '',
  model: '',
  prompt: '',
});

export const newDraft = (): Draft => ({
  models: '',
  prompts: [],
  parameters: [],
  set: [],
  outputs: '',
  code: '',
  samples: '3',
  score: newScore(),
  budget: { amount: '', unit: 'calls' },
  modelsBy: 'asRecorded',
});

/** The same limit as the engine has. */
const MAX_SAMPLES = 10_000;

export const lines = (text: string): string[] => [
  ...new Set(
    text
      .split('\n')
      .map((line) => line.trim())
      .filter(Boolean),
  ),
];

/** JSON values with commas or new lines between them; throws a text that says what is wrong. */
export function valuesOf(text: string): unknown[] {
  if (!text.trim()) return [];
  try {
    return JSON.parse(`[${text}]`) as unknown[];
  } catch {
    // They may stand one a line instead.
  }
  return text
    .split('\n')
    .filter((line) => line.trim())
    .map((line) => {
      try {
        return JSON.parse(line) as unknown;
      } catch {
        throw new Error(`${shortened(line)} is not JSON. A text needs quotation marks.`);
      }
    });
}

const shortened = (text: string) => (text.trim().length > 40 ? `${text.trim().slice(0, 40)}…` : text.trim());

export function samplesOf(text: string, wrong: Wrong): number {
  const count = countOf(text);
  if (count === null || count > MAX_SAMPLES) wrong.samples = 'Type a whole number from 1 to 10,000.';
  return count ?? 1;
}

export function scoreOf(draft: ScoreDraft, wrong: Wrong): Score | null {
  const [expression, command] = [draft.expression.trim(), draft.command.trim()];
  switch (draft.kind) {
    case 'expression':
      return expression ? { expression } : null;
    case 'command':
      if (!command) wrong.score = 'Type a command.';
      return { command };
    case 'block': {
      const dot = draft.block.lastIndexOf('.');
      if (dot < 1) wrong.score = 'Choose an action.';
      return { block: { flow: draft.block.slice(0, dot), action: draft.block.slice(dot + 1) } };
    }
    case 'schema': {
      let schema: unknown = null;
      try {
        schema = JSON.parse(draft.schema);
      } catch (thrown) {
        wrong.score = `This is not JSON: ${thrown instanceof Error ? thrown.message : 'it cannot be read'}.`;
      }
      return { schema: { name: 'schema', schema } };
    }
    case 'model':
      if (!draft.model.trim()) wrong.score = 'Type the name of a model.';
      if (!draft.prompt.trim()) wrong['score prompt'] = 'Type what the model is asked.';
      return { model: { model: draft.model.trim(), prompt: { name: 'prompt', text: draft.prompt } } };
  }
}

/** The question that a draft asks, and what is wrong with it. `recorded` is the prompt that was sent. */
export function queryOf(draft: Draft, target: { request: string; at: string }, recorded: string | null) {
  const wrong: Wrong = {};
  const axis = (kind: 'set' | 'parameter', what: string) => (one: ValuesDraft, n: number, all: ValuesDraft[]) => {
    const name = one.name.trim();
    if (!name) wrong[`${kind} ${n} name`] = `Type the ${what}.`;
    else if (all.findIndex((other) => other.name.trim() === name) < n)
      wrong[`${kind} ${n} name`] = `${name} is there twice. Write all its values in one field.`;
    let values: unknown[] = [];
    try {
      values = valuesOf(one.values);
      if (values.length === 0) wrong[`${kind} ${n}`] = 'Type at least one value.';
    } catch (thrown) {
      wrong[`${kind} ${n}`] = thrown instanceof Error ? thrown.message : String(thrown);
    }
    return { name, values };
  };
  const prompts = draft.prompts.map(({ field, name, text }, n, all) => {
    const title = name.trim();
    if (!title) wrong[`prompt ${n} name`] = 'Type a name for this prompt.';
    else if (all.findIndex((other) => other.field === field && other.name.trim() === title) < n)
      wrong[`prompt ${n} name`] = 'Another prompt has this name.';
    if (!text.trim()) wrong[`prompt ${n}`] = 'Type the prompt.';
    else if (field === 'prompt' && text === recorded) wrong[`prompt ${n}`] = 'This is the recorded prompt: change it.';
    return { field, name: title, text };
  });
  let outputs: unknown[] = [];
  try {
    outputs = valuesOf(draft.outputs);
  } catch (thrown) {
    wrong.outputs = thrown instanceof Error ? thrown.message : String(thrown);
  }
  const models = lines(draft.models);
  const code = lines(draft.code);
  const parameters = draft.parameters.map(axis('parameter', 'name of a parameter'));
  if (outputs.length > 0 && (models.length > 0 || prompts.length > 0 || parameters.length > 0))
    wrong.outputs ??= 'With a given output the block does not run, so no model, prompt or parameter can be tried.';
  const query: TryQuery = {
    ...target,
    models,
    prompts,
    parameters,
    set: draft.set.map(axis('set', 'path of a value in state')).map(({ name, values }) => ({ place: name, values })),
    outputs,
    code,
    samples: samplesOf(draft.samples, wrong),
    score: scoreOf(draft.score, wrong),
    budget: budgetOf(draft.budget, wrong),
    modelsBy: draft.modelsBy,
    jobs: null,
  };
  return { query, wrong };
}
