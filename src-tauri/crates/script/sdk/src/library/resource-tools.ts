// Tools by which a model reads and changes resources: `resourceTools`, and those for texts.

import { z } from 'zod';
import { handler } from '../define/blocks';
import { collectionFor, collectionsOf, isReadable, isWritable } from './resource-lists';
import { resourceAt, resourcesOf, writableFor } from './resource-lists';

const path = z.string().describe('Full path of the resource, like "files/readme.md"');
const state = z.record(z.unknown());
const done = z.object({ path: z.string(), ok: z.literal(true) });

interface Given {
  path: string;
  state?: object;
}

/** Five tools over all collections: create, read, update, delete, list. */
export function resourceTools() {
  return {
    createResource: handler({
      name: 'createResource',
      description: 'Create a new resource in a collection.',
      inputSchema: z.object({ path, state: state.optional().describe('The state it starts with') }),
      outputSchema: done,
      execute: async ({ path: at, state: initial }: Given, ctx: unknown) => {
        const { collection, key } = writableFor(ctx, at);
        await collection.create(key, initial);
        return { path: at, ok: true };
      },
    }),
    readResource: handler({
      name: 'readResource',
      description: 'Read the state of a resource.',
      inputSchema: z.object({ path }),
      outputSchema: z.object({ path: z.string(), state }),
      execute: async ({ path: at }: Given, ctx: unknown) => {
        const { collection, key } = collectionFor(ctx, at);
        return { path: at, state: (await collection.get(key)).state };
      },
    }),
    updateResource: handler({
      name: 'updateResource',
      description: 'Change fields of the state of a resource.',
      inputSchema: z.object({ path, state: state.describe('The fields to change') }),
      outputSchema: done,
      execute: async ({ path: at, state: fields = {} }: Given, ctx: unknown) => {
        const { collection, key } = writableFor(ctx, at);
        await (await collection.get(key)).patchState(fields);
        return { path: at, ok: true };
      },
    }),
    deleteResource: handler({
      name: 'deleteResource',
      description: 'Delete a resource.',
      inputSchema: z.object({ path }),
      outputSchema: done,
      execute: async ({ path: at }: Given, ctx: unknown) => {
        const { collection, key } = writableFor(ctx, at);
        await collection.delete(key);
        return { path: at, ok: true };
      },
    }),
    listResources: handler({
      name: 'listResources',
      description: 'List resources, all of them or those under a prefix.',
      inputSchema: z.object({ prefix: z.string().optional() }),
      outputSchema: z.object({ resources: z.array(z.object({ path: z.string(), state })) }),
      execute: async ({ prefix = '' }: { prefix?: string }, ctx: unknown) => {
        const found = [];
        for (const collection of collectionsOf(ctx)) found.push(...(await collection.list()));
        const under = found.filter((ref) => ref.path.startsWith(prefix));
        return { resources: under.map((ref) => ({ path: ref.path, state: ref.state })) };
      },
    }),
  };
}

interface Asked {
  uri?: string;
  name?: string;
}

/** Reads the text of a resource that is `llmReadable`; without a uri, lists those. */
export function readResourceContentTool() {
  return handler({
    name: 'readResourceContent',
    description: 'Read the text of a resource by its uri, like "session/notes/today". Without one, list the uris.',
    inputSchema: z.object({ uri: z.string().optional(), name: z.string().optional() }),
    outputSchema: z.object({
      uris: z.array(z.string()).optional(),
      uri: z.string().optional(),
      content: z.string().nullable().optional(),
    }),
    execute: async (asked: Asked, ctx: unknown) => {
      const uri = asked.uri ?? asked.name;
      if (uri === undefined) return { uris: (await resourcesOf(ctx, isReadable)).map((ref) => ref.uri).sort() };
      const ref = await resourceAt(ctx, uri, isReadable);
      if (!ref || !isReadable(ref.config)) throw new Error(`Readable resource not found for uri: ${uri}`);
      return { uri, content: await ref.readContent() };
    },
  });
}

/** Replaces the text of a resource that is `llmWritable`. */
export function writeResourceContentTool() {
  return handler({
    name: 'writeResourceContent',
    description: 'Replace the text of a resource by its uri, like "session/notes/today".',
    inputSchema: z.object({ uri: z.string(), content: z.string() }),
    outputSchema: z.object({ uri: z.string(), ok: z.literal(true) }),
    execute: async ({ uri, content }: { uri: string; content: string }, ctx: unknown) => {
      // What an app keeps itself is never written here.
      const ref = await resourceAt(ctx, uri, () => false);
      if (!ref || !isWritable(ref)) throw new Error(`Writable resource not found for uri: ${uri}`);
      await ref.writeContent(content);
      return { uri, ok: true };
    },
  });
}

/** The single resource or the instance at a path; nothing if there is none. */
export const resolveResourceByPath = (at: string, ctx: unknown) => resourceAt(ctx, at);
