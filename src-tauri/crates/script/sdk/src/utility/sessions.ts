// Utilities that keep something: a session's title, an instance of a collection.

import { z } from 'zod';
import { describeValue } from '../base/arguments';
import { handler, needFunction, type Block, type Config } from '../define/blocks';
import { sequencer } from '../define/sequencer';
import { asking } from './generators';

interface Session {
  metadata: { title?: string };
  setMetadata(fields: object): Promise<unknown>;
}
type Ctx = Record<string, Config | undefined> & { session: Session };

export function sessionTitleGenerator(config: Config): Block {
  const name = String(config.name);
  const { messageLimit = 4 } = config;
  if (!Number.isInteger(messageLimit) || (messageLimit as number) < 1) {
    throw new TypeError(
      `sessionTitleGenerator "${name}": messageLimit must be a positive integer, got ${describeValue(messageLimit)}`,
    );
  }
  const schema = z.object({ title: z.string() });
  const user = (_input: unknown, ctx: Ctx): string =>
    [
      'Name this conversation in three to eight words: what it is about, with a capital only where a sentence or a name has one.',
      'No quotation marks, no full stop, no label before it. A title that fits already stays as it is.',
      `The title now: ${ctx.session.metadata.title ?? '(none)'}`,
    ].join('\n');
  const suggest = asking(
    {
      name: `${name}:generate`,
      model: config.model,
      history: { limit: messageLimit },
      user,
      inputSchema: z.any(),
      transient: true,
    },
    ['You give conversations their titles.'],
    schema,
    'openai/gpt-5-nano',
  );
  const keep = handler({
    name: `${name}:persist`,
    inputSchema: schema,
    transient: true,
    execute: (async (input: { title: string }, ctx: Ctx) => {
      const title = input.title.trim();
      if (title !== '' && title !== ctx.session.metadata.title) await ctx.session.setMetadata({ title });
      return input;
    }) as never,
  });
  return sequencer({ name, inputSchema: z.any(), transient: true }).step(suggest).step(keep);
}

type Collection = { getOrCreate(key: unknown, state: unknown): Promise<Instance> };
type Instance = { patchState(state: unknown): Promise<unknown>; writeContent(text: string): Promise<unknown> };

/** A handler that creates or updates an instance of a collection, and passes its input on. */
export function upsertResource(config: Config): Block {
  const { collectionKey, scope, key, state, content, ...rest } = config;
  const where = `upsertResource "${String(config.name)}"`;
  if (typeof collectionKey !== 'string') {
    throw new TypeError(
      `${where}: collectionKey must be the name of a collection, got ${describeValue(collectionKey)}`,
    );
  }
  const keyOf = needFunction(key, `${where}: key`) as unknown as (input: unknown) => unknown;
  const stateOf = needFunction(state, `${where}: state`) as unknown as (input: unknown, ctx: unknown) => unknown;
  const textOf = (content === undefined ? () => undefined : needFunction(content, `${where}: content`)) as unknown as (
    input: unknown,
  ) => string | undefined;
  const execute = async (input: unknown, ctx: Ctx): Promise<unknown> => {
    const all = (scope === undefined ? ctx.resources : ctx[scope as string]?.resources) as Record<string, Collection>;
    const collection = all[collectionKey];
    if (!collection) throw new Error(`${where}: collection "${collectionKey}" is not registered`);
    const fields = await stateOf(input, ctx);
    const text = textOf(input);
    const instance = await collection.getOrCreate(keyOf(input), fields);
    await instance.patchState(fields);
    if (text !== undefined) await instance.writeContent(text);
    return input;
  };
  return handler({ ...rest, execute: execute as never });
}
