// `utility.cascadingRouter`: a tree of evaluators. An edge opens only where the model chose it and said that it is sure
// enough; everything else goes to one block, `ambiguous`.

import { z } from 'zod';
import { describeValue } from '../base/arguments';
import { handler, isBlock, router, type Block, type Config } from '../define/blocks';
import { staticQuestions } from '../define/evaluator';
import { sequencer } from '../define/sequencer';

interface Branch {
  minConfidence?: unknown;
  block?: Block;
  next?: Level;
}
interface Level {
  ask: Block;
  on: string;
  branches: Record<string, Branch>;
}
interface Answer {
  type?: unknown;
  choice?: unknown;
  confidence?: unknown;
}
/** What a level's gate found, and the level's own input. */
interface Decided {
  input: unknown;
  verdict: Config;
}

export function cascadingRouter(config: Config): Block {
  const name = String(config.name);
  const refuse = (message: string): never => {
    throw new Error(`cascadingRouter "${name}": ${message}`);
  };
  if (!isBlock(config.ambiguous)) refuse('ambiguous is required: the block that runs where no edge opens.');
  check(config.root as Level, 'root', [], refuse);
  const unwrapped = new Map<Block, Block>();
  const unwrap = (block: Block): Block => {
    const known = unwrapped.get(block) ?? block.connectInput(((decided: Decided) => decided.input) as never);
    unwrapped.set(block, known);
    return known;
  };
  const ambiguous = unwrap(config.ambiguous as Block);
  const made = new Map<Level, Block>();
  const compile = (level: Level, path: string, isInner: boolean): Block => {
    const known = made.get(level);
    if (known) return known;
    // An inner level gets what the gate above found.
    const own = (raw: unknown) => (isInner ? (raw as Decided).input : raw);
    const routes = new Map(
      Object.entries(level.branches).map(([key, { block, next }]) => [
        key,
        next ? compile(next, `${path}/${key}`, true) : unwrap(block as Block),
      ]),
    );
    const decide = (output: { answers: Record<string, Answer> }, ctx: { parent: { input: unknown } }): Decided => {
      const verdict = verdictOf(output.answers[level.on], level.branches);
      return { input: own(ctx.parent.input), verdict: { level: path, on: level.on, ...verdict } };
    };
    const gate = handler({ name: `${name}/${path}/gate`, execute: decide as never });
    const choose = ({ verdict }: Decided) => routes.get(verdict.edge as string) ?? ambiguous;
    const candidates = [...new Set([...routes.values(), ambiguous])];
    const pick = router({ name: `${name}/${path}/route`, routes: candidates, execute: choose as never });
    const chain = sequencer({ name: `${name}/${path}`, inputSchema: z.any() });
    const block = (isInner ? chain.step(own, level.ask) : chain.step(level.ask)).step(gate).step(pick);
    made.set(level, block);
    return block;
  };
  const root = compile(config.root as Level, 'root', false);
  return sequencer({ name, description: config.description, inputSchema: z.any() }).step(root);
}

/** Which edge opens, or why none does. */
function verdictOf(answer: Answer | undefined, branches: Record<string, Branch>): Config {
  const { choice, confidence } = answer ?? {};
  const told = typeof choice === 'string' ? { choice } : {};
  if (answer?.type !== 'choice' || typeof choice !== 'string' || !Object.hasOwn(branches, choice)) {
    return { ambiguous: 'no-branch', ...told };
  }
  const isTold = typeof confidence === 'number' && confidence >= 0 && confidence <= 1;
  if (!isTold) return { ambiguous: 'no-confidence', ...told };
  const floor = branches[choice]?.minConfidence;
  if (typeof floor === 'number' && confidence < floor) return { ambiguous: 'below-floor', ...told };
  return { edge: choice, confidence };
}

function check(level: Level, path: string, around: Level[], refuse: (message: string) => never): void {
  if (typeof level !== 'object' || level === null) refuse(`the level at "${path}" is missing.`);
  if (around.includes(level)) refuse(`the level at "${path}" is already inside itself; a tree can't loop.`);
  if (!isBlock(level.ask) || level.ask.kind !== 'evaluator') {
    refuse(`the level at "${path}" must ask an evaluator block, got ${describeValue(level.ask)}.`);
  }
  const questions = staticQuestions(level.ask);
  const question = questions && Object.hasOwn(questions, level.on) ? questions[level.on] : undefined;
  if (questions && !question) {
    refuse(`the level at "${path}" routes on "${level.on}", which evaluator "${level.ask.name}" doesn't ask.`);
  }
  if (question && question.type !== 'choice') {
    refuse(`the level at "${path}" routes on "${level.on}", which is a ${question.type} question, not a choice.`);
  }
  for (const [key, branch] of Object.entries(level.branches ?? {})) {
    const at = `${path}/${key}`;
    if (question && !Object.hasOwn(question.criteria as Config, key)) {
      refuse(`branch "${at}": "${key}" is not an option of "${level.on}".`);
    }
    if ((branch.block === undefined) === (branch.next === undefined)) {
      refuse(`branch "${at}" needs exactly one of block or next.`);
    }
    if (branch.block !== undefined && !isBlock(branch.block)) refuse(`branch "${at}": block is not a block.`);
    const floor = branch.minConfidence;
    if (floor !== undefined && !(typeof floor === 'number' && floor >= 0 && floor <= 1)) {
      refuse(`branch "${at}": minConfidence must be between 0 and 1 (got ${String(floor)}).`);
    }
    if (branch.next) check(branch.next, at, [...around, level], refuse);
  }
}
