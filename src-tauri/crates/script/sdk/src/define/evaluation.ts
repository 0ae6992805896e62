// Questions of an evaluator and their answers: what a model is told to answer, and what of an answer holds.
//
// Must not: ask a model.

import { describeValue } from '../base/arguments';
import type { Config } from './blocks';

export interface Question {
  type: 'choice' | 'score' | 'boolean';
  instructions: unknown;
  /** A choice's options, a score's levels, or what true and false mean. */
  criteria?: Config | unknown[];
}

export type Questions = Record<string, Question>;

const CONFIDENCE = { type: 'number', minimum: 0, maximum: 1 };

/** The JSON Schema of a set of answers. */
export function schemaOf(questions: Questions): Config {
  const properties = Object.fromEntries(Object.entries(questions).map(([id, one]) => [id, answerSchema(one)]));
  const answers = closed(properties, Object.keys(questions));
  return closed({ answers }, ['answers']);
}

function closed(properties: Config, required: string[]): Config {
  return { type: 'object', properties, required, additionalProperties: false };
}

function answerSchema({ type, criteria }: Question): Config {
  switch (type) {
    case 'choice':
      return closed({ choice: { enum: Object.keys(criteria ?? {}) }, confidence: CONFIDENCE }, ['choice']);
    case 'score': {
      const highest = (criteria as unknown[]).length - 1;
      return closed({ score: { type: 'number', minimum: 0, maximum: highest }, confidence: CONFIDENCE }, ['score']);
    }
    case 'boolean':
      return closed({ probability: { type: 'number', minimum: 0, maximum: 1 }, confidence: CONFIDENCE }, [
        'probability',
      ]);
  }
}

export function isOpenAnswer(value: unknown): value is Config {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An answer as it is given to a flow. A bare value stands for the answer; what breaks the question is refused. */
export function readAnswer(question: Question, told: unknown, refuse: (what: string) => never): Config {
  const given: Config = isOpenAnswer(told) ? told : bare(question, told);
  const confidence =
    typeof given.confidence === 'number' && Number.isFinite(given.confidence) ? given.confidence : undefined;
  const answer: Config = { type: question.type };
  switch (question.type) {
    case 'choice': {
      const options = question.criteria as Config;
      if (typeof given.choice !== 'string' || !Object.hasOwn(options, given.choice)) {
        refuse(`is ${describeValue(given.choice)}, not one of ${Object.keys(options).join(', ')}.`);
      }
      answer.choice = given.choice;
      break;
    }
    case 'score': {
      const highest = (question.criteria as unknown[]).length - 1;
      answer.score = within(given.score, highest, refuse);
      break;
    }
    case 'boolean':
      answer.probability = within(given.probability, 1, refuse);
  }
  if (question.type !== 'boolean' && isOpenAnswer(given.probabilities)) answer.probabilities = given.probabilities;
  if (confidence !== undefined) answer.confidence = confidence;
  return answer;
}

function bare(question: Question, told: unknown): Config {
  if (question.type === 'choice') return { choice: told };
  if (question.type === 'score') return { score: told };
  return { probability: typeof told === 'boolean' ? Number(told) : told };
}

function within(value: unknown, highest: number, refuse: (what: string) => never): number {
  if (typeof value === 'number' && value >= 0 && value <= highest) return value;
  return refuse(`is ${describeValue(value)}, not a number from 0 to ${highest}.`);
}
