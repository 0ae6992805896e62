// `@flow-state-dev/core/prompt-file`: a generator's prompt in a Markdown file (SEMANTICS §6.8).

import { entriesIn, findText, folderOf, folderOfModule, fromRoot, textAt, textsBeside } from '../base/texts';
import type { TextPath } from '../base/texts';
import { PROMPT_FILE, type PromptParts } from '../define/prompt-files';
import { templates, type Engine, type Filters, type Fragments } from './liquid';
import { fragmentsOf, PARTS, splitMarkdown, type MarkdownParts, type PartName } from './markdown-parts';
import { codeBlock, keyValues, list, table } from './prompt-texts';
import { TextFileError } from './text-file-error';

type Fields = Record<string, unknown>;

export class PromptFileLoadError extends TextFileError {
  override name = 'PromptFileLoadError';
}

export class PromptFileParseError extends TextFileError {
  override name = 'PromptFileParseError';
}

/** What a template formats values with, beside the filters of Liquid. */
export const DEFAULT_PROMPT_FILE_FILTERS: Filters = {
  fsd_keyValues: (value) => {
    if (value === null || value === undefined) return '';
    return typeof value === 'object' ? keyValues(value as Fields) : String(value);
  },
  fsd_list: (value, ...args) => {
    const items = Array.isArray(value) ? value : value === null || value === undefined ? [] : [value];
    return list(items.map(String), { ordered: args.includes('ordered') });
  },
  fsd_table: (value, ...columns) =>
    Array.isArray(value) ? table(value as Fields[], columns.length > 0 ? { columns: columns.map(String) } : {}) : '',
  fsd_json: (value) => codeBlock(JSON.stringify(value, null, 2) ?? 'null', 'json'),
};

const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
const SETTINGS: Record<string, [(value: unknown) => boolean, string]> = {
  name: [isText, 'a text'],
  description: [isText, 'a text'],
  intent: [isText, 'a text'],
  model: [isText, 'a text'],
  caching: [(value) => typeof value === 'boolean' || isCaching(value), 'true, false or { enabled, breakpoints, ttl }'],
  maxTokens: [(value) => Number.isInteger(value) && (value as number) > 0, 'a whole number from 1 on'],
  temperature: [(value) => typeof value === 'number' && value >= 0 && value <= 2, 'a number from 0 to 2'],
};

function isCaching(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return Object.keys(value).every((key) => ['enabled', 'breakpoints', 'ttl'].includes(key));
}

interface ParseOptions {
  sourcePath?: string;
  filters?: Filters;
  partials?: Fragments;
}

export function parsePromptFile(text: string, options: ParseOptions = {}) {
  const { sourcePath, partials = {} } = options;
  const wrong = (message: string, cause?: unknown): never => {
    throw new PromptFileParseError(message, { cause, sourcePath });
  };
  let split: MarkdownParts;
  try {
    split = splitMarkdown(text);
  } catch (error) {
    return wrong((error as Error).message, error);
  }
  const { settings, parts } = split;
  for (const [name, value] of Object.entries(settings)) {
    const rule = SETTINGS[name];
    if (!rule) wrong(`Invalid frontmatter: "${name}" is no setting; it has ${Object.keys(SETTINGS).join(', ')}`);
    else if (!rule[0](value)) wrong(`Invalid frontmatter: ${name}: must be ${rule[1]}`);
  }
  if (parts.system === undefined) wrong('<system> block required; the file has none.');
  if (parts.system?.trim() === '') wrong('<system> block is empty.');
  const rendered = renderers(parts, partials, options.filters, wrong);
  const { system } = rendered as { system: (scope: object) => Promise<string> };
  const looksAtContext = /config\s*\.\s*context/.test(`${parts.system} ${parts.user}`);
  const brand: PromptParts = { system, user: rendered.user, context: rendered.context, settings, looksAtContext };
  const prompt = (input: unknown, ctx: unknown, config?: object) =>
    system({ input, ctx, config: config ?? { context: {} } });
  const { user } = rendered;
  return {
    ...settings,
    prompt: Object.defineProperty(prompt, PROMPT_FILE, { value: brand }),
    user:
      user &&
      Object.defineProperty(
        (input: unknown, ctx: unknown) => user({ input, ctx, config: { context: {} } }),
        PROMPT_FILE,
        { value: brand },
      ),
    _meta: {
      source: sourcePath ?? '(inline)',
      frontmatter: settings,
      hasUserBlock: parts.user !== undefined,
      hasContextBlock: parts.context !== undefined,
    },
  } as Fields & PromptFileShape;
}

interface PromptFileShape {
  prompt: unknown;
  user?: unknown;
  _meta: { source: string; frontmatter: Fields; hasUserBlock: boolean; hasContextBlock: boolean };
}

/** One function for each part, compiled now: what is wrong with a template is told when the file loads. */
function renderers(
  parts: MarkdownParts['parts'],
  partials: Fragments,
  filters: Filters | undefined,
  wrong: (message: string, cause?: unknown) => never,
): Partial<Record<PartName, (scope: object) => Promise<string>>> {
  const all = { ...DEFAULT_PROMPT_FILE_FILTERS, ...filters };
  const made: Partial<Record<PartName, (scope: object) => Promise<string>>> = {};
  for (const name of PARTS) {
    const template = parts[name];
    if (template === undefined) continue;
    const missing = fragmentsOf(template).find((fragment) => !(fragment in partials));
    if (missing !== undefined) {
      wrong(`Referenced partial "${missing}" is not registered: there is no ${missing}.md beside the file.`);
    }
    // A part that only looks at what there may be of a context asks for absent names.
    const engine: Engine = templates(partials, all, name !== 'context');
    try {
      const compiled = engine.parse(template);
      made[name] = async (scope) => String(await engine.render(compiled, scope));
    } catch (error) {
      wrong(`Template compile failed: ${(error as Error).message}`, error);
    }
  }
  return made;
}

export type PromptFile = ReturnType<typeof parsePromptFile>;

export function isPromptFile(value: unknown): value is PromptFile {
  const prompt = (value as { prompt?: object } | null | undefined)?.prompt;
  return typeof prompt === 'function' && PROMPT_FILE in prompt;
}

/** The settings of a generator that a file has, to be spread into its configuration. */
export function definePromptFile(file: PromptFile): Fields {
  const { _meta: _told, intent: _intent, model: _model, caching, user, ...settings } = file;
  const spread: Fields = { ...settings };
  if (user !== undefined) spread.user = user;
  if (caching !== undefined) spread.caching = typeof caching === 'boolean' ? { enabled: caching } : caching;
  return spread;
}

interface LoadOptions {
  filters?: Filters;
  partialsDir?: string;
}

/** A file of the project, found beside the module that names it. Other Markdown files beside it are its fragments. */
export function loadPromptFile(path: TextPath, importerUrl?: string, options: LoadOptions = {}): PromptFile {
  const found = findText(typeof path === 'string' ? { path, importerUrl } : path, 'loadPromptFile: the path');
  if (!found) {
    throw new PromptFileLoadError(
      `there is no such file in the project, or its path is not written as a plain text where it is loaded`,
      { sourcePath: String(typeof path === 'object' ? path.path : path) },
    );
  }
  const { partialsDir, filters } = options;
  const partials = textsBeside(found.path, partialsDir === undefined ? undefined : folderOf(partialsDir));
  return parsePromptFile(found.text, { sourcePath: found.path, partials, filters });
}

export function createPromptLoader(baseDir: string, shared: LoadOptions = {}) {
  if (typeof baseDir !== 'string' || baseDir === '')
    throw new TypeError('createPromptLoader needs the path of a folder');
  return (path: string, own: { filters?: Filters } = {}): PromptFile =>
    loadPromptFile(`/${folderOf(baseDir)}/${path}`, undefined, {
      ...shared,
      filters: { ...shared.filters, ...own.filters },
    });
}

/** A folder beside a module, as an absolute path: the workspace's folder is the root. */
export function moduleDir(importerUrl: string | undefined, relative = '.'): string {
  const folder = folderOfModule(importerUrl);
  return folder === undefined ? relative : `/${fromRoot(`${folder}${relative}`)}`;
}

/**
 * The first of several folders that holds what is expected, else the first that holds texts: a flow sees no other
 * files, so a folder cannot be told by its code.
 */
export function resolveBaseDir(
  candidates: readonly (string | undefined)[],
  { expect }: { expect?: string } = {},
): string {
  const given = candidates.filter((one): one is string => typeof one === 'string');
  const folders = given.map((one) => `/${folderOf(one)}`);
  const isThere = (path: string) => textAt(path) !== undefined || entriesIn(path) !== undefined;
  const expected = expect === undefined ? undefined : folders.find((folder) => isThere(`${folder}/${expect}`));
  const found = expected ?? folders.find(isThere);
  if (found !== undefined) return found;
  throw new Error(`resolveBaseDir: none of these folders holds prompt files: ${given.join(', ')}`);
}
