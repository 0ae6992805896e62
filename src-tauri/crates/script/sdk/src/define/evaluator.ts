// The evaluator: typed questions about one state, answered by one call of a model (SEMANTICS §2.11).
//
// It is a handler that asks a model, so that its call is recorded, resumed and mocked as any other. One call per run:
// nothing is mended, tried again or answered by another model.
//
// Must not: decide by an answer. That is for a router or a condition.

import { describeValue } from '../base/arguments';
import { isOpenAnswer, readAnswer, schemaOf, type Question, type Questions } from './evaluation';
import { built, type Block, type Config, type Fn } from './blocks';

type Ctx = { signal: unknown; resolveModel(id: string): { generate(options: Config): Promise<Config> } };
type Slot = (input: unknown, ctx: unknown) => unknown;

/** A model that answers questions itself, by its `doEvaluate`. */
interface EvaluationModel {
  modelId?: unknown;
  provider?: unknown;
  supportedQuestionTypes: unknown[];
  doEvaluate(options: Config): PromiseLike<Config>;
}

/** One of several options; the keys are what is answered. */
export function choice(instructions: unknown, options: Config): Question {
  return { type: 'choice', instructions, criteria: options };
}

/** A place on a scale of described levels, from 0. */
export function score(instructions: unknown, levels: readonly unknown[]): Question {
  return { type: 'score', instructions, criteria: levels as unknown[] };
}

/** Yes or no, answered as how likely a yes is. */
export function boolean(instructions: unknown, criteria?: Config): Question {
  return criteria === undefined ? { type: 'boolean', instructions } : { type: 'boolean', instructions, criteria };
}

export function evaluator(config: Config): Block {
  const { retry: _retry, ...given } = (config ?? {}) as Config;
  const name = String(given.name);
  checkModel(name, given.model);
  if (typeof given.questions !== 'function') checkQuestions(name, given.questions);
  if (given.state !== undefined && typeof given.state !== 'function') {
    refuse(name, `state must be a function of the input, got ${describeValue(given.state)}.`);
  }
  return built('evaluator', { ...given, execute: execute(name, given) as unknown as Fn });
}

function refuse(name: string, message: string): never {
  throw new Error(`Evaluator "${name}": ${message}`);
}

function isEvaluationModel(value: unknown): value is EvaluationModel {
  if (typeof value !== 'object' || value === null) return false;
  const model = value as Partial<EvaluationModel>;
  return typeof model.doEvaluate === 'function' && Array.isArray(model.supportedQuestionTypes);
}

function checkModel(name: string, model: unknown): void {
  if (Array.isArray(model) || typeof model === 'function') {
    refuse(name, 'an evaluator takes one model, not an intent, a fallback list or selectModel.');
  }
  if (typeof model === 'string' && model !== '') {
    if (model.startsWith('intent/')) {
      refuse(
        name,
        `"${model}" is an intent. An evaluator takes one model, not an intent, a fallback list or selectModel.`,
      );
    }
    return;
  }
  if (isEvaluationModel(model)) return;
  const can = (method: string) => typeof (model as Config | null | undefined)?.[method] === 'function';
  if (['doGenerate', 'doStream', 'generate'].some(can)) {
    refuse(name, 'the model can generate but not evaluate. Give an evaluation model, or the name of a model.');
  }
  refuse(name, `model must be the name of a model or an evaluation model, got ${describeValue(model)}.`);
}

function checkQuestions(name: string, questions: unknown): asserts questions is Questions {
  if (typeof questions !== 'object' || questions === null || Object.keys(questions).length === 0) {
    refuse(name, 'questions must contain at least one question.');
  }
  for (const [id, question] of Object.entries(questions as Record<string, Question | undefined>)) {
    const { type, criteria } = question ?? ({} as Partial<Question>);
    if (type === 'choice') {
      const hasOptions = typeof criteria === 'object' && criteria !== null && Object.keys(criteria).length > 0;
      if (!hasOptions) refuse(name, `question "${id}" is a choice with no options.`);
    } else if (type === 'score') {
      if (!Array.isArray(criteria) || criteria.length < 2) {
        refuse(name, `question "${id}" is a score with fewer than two levels.`);
      }
    } else if (type !== 'boolean') {
      refuse(name, `question "${id}" must be built with choice(), score() or boolean().`);
    }
  }
}

/** Refuses what a model says it cannot answer, before it is asked. */
function checkSupported(name: string, { supportedQuestionTypes }: EvaluationModel, questions: Questions): void {
  for (const [id, { type }] of Object.entries(questions)) {
    if (supportedQuestionTypes.includes(type)) continue;
    refuse(name, `the model does not answer ${type} questions, and question "${id}" is one.`);
  }
}

/** Whether a model can read it: a text, a list, or a plain object. */
function checkState(name: string, state: unknown): void {
  if (typeof state === 'string' || Array.isArray(state)) return;
  const proto: unknown = typeof state === 'object' && state !== null ? Object.getPrototypeOf(state) : undefined;
  if (proto === Object.prototype || proto === null) return;
  const got = state === null ? 'null' : typeof state;
  refuse(name, `the evaluated state must be a string, an array or a plain object (got ${got}).`);
}

const INSTRUCTIONS =
  'Answer the questions about the state that the user message holds. Answer each question under its id, as the schema ' +
  'asks. Give a confidence between 0 and 1 for an answer only where you can tell how sure you are.';

function execute(name: string, config: Config): Slot {
  return async (input, ctx) => {
    const slot = config.questions;
    const questions = (typeof slot === 'function' ? await (slot as Slot)(input, ctx) : slot) as Questions;
    checkQuestions(name, questions);
    const state = config.state === undefined ? input : await (config.state as Slot)(input, ctx);
    checkState(name, state);
    const { model } = config;
    if (typeof model !== 'string') checkSupported(name, model as EvaluationModel, questions);
    const told = typeof model === 'string' ? await asked(name, model, questions, state, ctx as Ctx) : undefined;
    const given = told ?? (await evaluated(model as EvaluationModel, questions, state, ctx as Ctx));
    const extra = Object.keys(given).find((id) => !Object.hasOwn(questions, id));
    if (extra !== undefined) refuse(name, `the model answered "${extra}", which is no question of it.`);
    const answers = Object.fromEntries(
      Object.entries(questions).map(([id, question]) => {
        if (!Object.hasOwn(given, id)) refuse(name, `the model did not answer question "${id}".`);
        return [id, readAnswer(question, given[id], (what) => refuse(name, `the answer to "${id}" ${what}`))];
      }),
    );
    return { answers };
  };
}

/** The answers of a model by its name. */
async function asked(name: string, model: string, questions: Questions, state: unknown, ctx: Ctx): Promise<Config> {
  const content = `${JSON.stringify({ questions }, null, 2)}\n\nState:\n${typeof state === 'string' ? state : JSON.stringify(state, null, 2)}`;
  const reply = await ctx.resolveModel(model).generate({
    messages: [
      { role: 'system', content: INSTRUCTIONS },
      { role: 'user', content },
    ],
    outputSchema: schemaOf(questions),
  });
  let told = reply.structuredOutput;
  if (told === undefined || told === null) {
    try {
      told = JSON.parse(String(reply.text ?? '').replace(/^\s*```(?:json)?\s*|\s*```\s*$/g, '')) as unknown;
    } catch {
      refuse(name, `the model answered with what is no JSON: ${describeValue(reply.text)}.`);
    }
  }
  if (typeof told !== 'object' || told === null || Array.isArray(told)) {
    refuse(name, `the model answered with ${describeValue(told)}, not with answers by question.`);
  }
  const { answers } = told as Config;
  return (isOpenAnswer(answers) && !Object.hasOwn(questions, 'answers') ? answers : told) as Config;
}

/** The answers of a model that is a flow's own code, with the confidence it tells beside them. */
async function evaluated(model: EvaluationModel, questions: Questions, state: unknown, ctx: Ctx): Promise<Config> {
  const result = await model.doEvaluate({ state, questions, abortSignal: ctx.signal });
  const answers = (result?.answers ?? {}) as Record<string, Config>;
  const told = (result?.providerMetadata as Record<string, Config> | undefined)?.typesafe?.confidence;
  const confidence = (typeof told === 'object' && told !== null ? told : {}) as Config;
  return Object.fromEntries(
    Object.entries(answers).map(([id, answer]) => {
      const own = Object.hasOwn(confidence, id) ? confidence[id] : undefined;
      return [id, typeof own === 'number' && isOpenAnswer(answer) ? { ...answer, confidence: own } : answer];
    }),
  );
}

/** The questions of an evaluator, where they are not made for each run. */
export function staticQuestions(block: Block): Questions | undefined {
  const { questions } = block.config;
  return typeof questions === 'function' ? undefined : (questions as Questions);
}

/** Refuses what is no evaluator where one is needed. */
export function assertEvaluatorBlock(
  block: unknown,
  names: { slot: string; helper: string; questions: string },
): asserts block is Block {
  const { kind, name } = (block ?? {}) as { kind?: unknown; name?: unknown };
  if (kind === 'evaluator') return;
  const got = typeof kind === 'string' ? ` (got ${kind} "${String(name)}")` : '';
  throw new Error(
    `${names.slot} must be an evaluator block${got}. Build one with ${names.helper}, or core's evaluator() with ${names.questions}.`,
  );
}
