// Prompts that come from a Markdown file: what a generator takes from it (SEMANTICS §6.8).
//
// Must not: read a file or know a template language. `library/prompt-file` does, and is loaded where a flow imports it.

import type { Config } from './blocks';
import { warn } from './known-keys';
import { normalizeTagName } from '../base/names';
import { renderTaggedContext, validateTagName, type Tagged } from '../base/prompt-tags';

/** On a prompt's function: the parts of the file it comes from. */
export const PROMPT_FILE = Symbol.for('flowglass.prompt-file');

type Part = (scope: object) => Promise<string>;

export interface PromptParts {
  system: Part;
  user?: Part;
  context?: Part;
  settings: Config;
  /** Whether a part other than `context` looks at the context, too. */
  looksAtContext: boolean;
}

function partsOf(prompt: unknown): PromptParts | undefined {
  return typeof prompt === 'function' ? (prompt as { [PROMPT_FILE]?: PromptParts })[PROMPT_FILE] : undefined;
}

/** A configuration whose `prompt` is a whole file gets what the file says; what it says itself counts more. */
export function withPromptFile(config: Config): Config {
  const file = config?.prompt as { prompt?: unknown; user?: unknown } | undefined;
  const parts = typeof file === 'object' && file !== null ? partsOf(file.prompt) : partsOf(config?.prompt);
  if (!parts) return config;
  const { caching, temperature, maxTokens, name, description } = parts.settings;
  const isWhole = typeof config.prompt === 'object';
  const own: Config = isWhole ? { name, description, maxTokens, user: file?.user, caching, ...config } : { ...config };
  if (isWhole) own.prompt = file?.prompt;
  const wanted = config.temperature ?? temperature;
  const options = own.providerOptions ?? {};
  if (wanted !== undefined && typeof options === 'object') own.providerOptions = { temperature: wanted, ...options };
  delete own.temperature;
  return own;
}

interface Slots {
  prompt: unknown[];
  user: unknown;
  /** Whether the file has a context of its own, which stands for all of it and follows the prompt. */
  hasContext: boolean;
}

type Resolve = (entry: unknown, input: unknown, ctx: unknown) => unknown;

/** A generator's prompt and user message, where they come from a file. `entries` are those of its context. */
export function promptSlots(config: Config, entries: unknown[], resolve: Resolve): Slots | undefined {
  const parts = partsOf(config.prompt);
  if (!parts) return undefined;
  const scope = async (input: unknown, ctx: unknown, needsContext: boolean) => ({
    input,
    ctx: plainContext(ctx as Config),
    config: {
      context: needsContext ? await tagTexts(entries, input, ctx, resolve) : {},
      model: typeof config.model === 'string' ? config.model : undefined,
      intent: parts.settings.intent,
      maxTokens: config.maxTokens,
      temperature: (config.providerOptions as Config | undefined)?.temperature ?? parts.settings.temperature,
      caching: config.caching,
      providerOptions: config.providerOptions,
      tools: toolNames(config.tools),
    },
  });
  const made =
    (part: Part, needsContext = parts.looksAtContext) =>
    async (input: unknown, ctx: unknown) =>
      part(await scope(input, ctx, needsContext));
  const { user, context } = parts;
  const contextText = async (input: unknown, ctx: unknown) => {
    const text = context ? (await made(context, true)(input, ctx)).trim() : '';
    return text === '' ? '' : `<context>\n${text}\n</context>`;
  };
  const isOwnUser = typeof config.user !== 'function' || !(PROMPT_FILE in config.user);
  return {
    prompt: [
      context
        ? async (input: unknown, ctx: unknown) => {
            const texts = [await made(parts.system)(input, ctx), await contextText(input, ctx)];
            return texts.filter((text) => text !== '').join('\n\n');
          }
        : made(parts.system),
    ],
    user: isOwnUser || !user ? config.user : made(user),
    hasContext: context !== undefined,
  };
}

function toolNames(tools: unknown): string[] {
  return Array.isArray(tools) ? tools.map((tool) => String((tool as { name?: unknown })?.name)) : [];
}

/** `ctx` as templates may read it: what they see of a scope is its state. */
function plainContext(ctx: Config): Config {
  const plain: Config = {};
  const scope = (name: string) => {
    const handle = ctx[name] as { state?: unknown; identity?: unknown } | undefined;
    return handle && { state: handle.state, identity: handle.identity };
  };
  for (const name of ['request', 'session', 'user', 'project', 'org', 'sequencer']) {
    Object.defineProperty(plain, name, { enumerable: true, get: () => scope(name) });
  }
  const resources = () => {
    const all = ctx.resources as { list(): string[]; get(name: string): Config };
    const described = all.list().map((name) => [name, { state: all.get(name).state }] as const);
    return Object.fromEntries(described);
  };
  Object.defineProperty(plain, 'resources', { enumerable: true, get: resources });
  Object.defineProperty(plain, 'cap', { enumerable: true, get: () => ctx.cap });
  return plain;
}

/** What each tag of a generator's context would hold, by its name, and also as the author wrote it or with `_`. */
async function tagTexts(
  entries: unknown[],
  input: unknown,
  ctx: unknown,
  resolve: Resolve,
): Promise<Record<string, string>> {
  const tags = new Map<string, (string | Tagged)[]>();
  const spellings = new Map<string, string>();
  const found = await Promise.all(entries.flat().map((entry) => resolve(entry, input, ctx)));
  for (const value of found.flat()) {
    if (typeof value !== 'object' || value === null || 'content' in value) continue;
    for (const [key, part] of Object.entries(value as Record<string, unknown>)) {
      const name = normalizeTagName(key);
      validateTagName(name);
      spellings.set(key, name).set(name.replace(/-/g, '_'), name);
      tags.set(name, [...(tags.get(name) ?? []), ...[part].flat().filter(isShown)]);
    }
  }
  const texts = [...tags].map(([name, parts]) => {
    const words = parts.map((part) => (typeof part === 'string' ? part : renderTaggedContext(part)));
    return [name, words.join('\n')] as const;
  });
  const context = Object.fromEntries(texts);
  // A template that goes through all of them meets each once.
  for (const [key, name] of spellings) {
    if (!(key in context)) Object.defineProperty(context, key, { value: context[name] });
  }
  return context;
}

function isShown(part: unknown): part is string | Tagged {
  return part !== null && part !== undefined && part !== '';
}

/** What a generator is told of and the engine does not do. */
export function warnOfAbsent(config: Config): void {
  const where = `generator "${String(config.name)}"`;
  if (Array.isArray(config.providerTools) && config.providerTools.length > 0) {
    warn(`${where}: providerTools reach no provider here; give the same as tools, or name them in providerOptions`);
  }
  if (config.validateChunk !== undefined) warn(`${where}: validateChunk is not called; outputSchema checks the answer`);
}
