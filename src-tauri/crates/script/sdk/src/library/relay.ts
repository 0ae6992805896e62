// Messages between sessions: a tool that lets a model send them, and what a flow that takes them is checked by.

import { handler, type Block, type Config } from '../define/blocks';
import { checkRelay } from '../define/relay';
import { requireRequestHost as absent } from './absent';
import { z } from 'zod';

interface Host {
  sendMessage(message: object): Promise<unknown>;
}

/** A binding as it was written. */
export const defineRelayBinding = (binding: Config): Config => binding;

export const validateRelayConfig = (relay: unknown, flow: string): void => checkRelay(relay, flow);

/** What of a host a block can ask; fails where the flow takes no messages. */
export function requireRequestHost(ctx?: { requestHost?: Host }): Host {
  return ctx?.requestHost ?? absent();
}

export function relaySendTool({ name, description }: { name?: string; description?: string } = {}): Block {
  return handler({
    name: name ?? 'sendMessage',
    description:
      description ??
      'Send a message to another session whose id you know. The answer says whether it was accepted; ' +
        'where it was not, "refused" names why, and the same message would be refused again.',
    inputSchema: z.object({
      to: z.string().describe('The id of the session.'),
      kind: z.string().describe('Which message it is; a session takes only kinds that it knows.'),
      payload: z.unknown().optional().describe('What the message says.'),
      timeoutMs: z.number().optional().describe('Changes nothing.'),
    }),
    retry: { maxAttempts: 1 },
    execute: (input: object, ctx: unknown) => requireRequestHost(ctx as { requestHost?: Host }).sendMessage(input),
  });
}
