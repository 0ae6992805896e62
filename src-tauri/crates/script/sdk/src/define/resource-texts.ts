// Where the text of a resource comes from: written in its definition, a file of the project, or a template that its
// state fills (SEMANTICS §4.9).
//
// Must not: know a template language. `library/resource-template` does, and is loaded for the first template that needs
// it.

import { describeValue } from '../base/arguments';
import { findText, textsBeside, type TextPath } from '../base/texts';

type Config = Record<string, unknown>;

/** On a template: what fills it. */
export const RESOURCE_TEMPLATE = Symbol.for('flowglass.resource-template');

export type FilledBy = (state: object) => string;

export interface TextSource {
  /** The text as it is. */
  content?: string;
  /** A text with `{{field}}`, which the state fills. */
  template?: string;
  /** Whether it is filled as a whole Markdown file with Liquid. */
  isLiquid?: boolean;
  /** What it may `render`: other Markdown files in its folder. */
  fragments?: Record<string, string>;
  /** The resource whose text is the template. */
  ref?: string;
}

const SOURCES = ['content', 'contentFile', 'contentTemplate', 'contentTemplateRef'];

/** Refuses more than one of them, and what cannot be one; finds the texts of files. */
export function textSource(config: Config, where: string): TextSource {
  const given = SOURCES.filter((source) => config[source] !== undefined);
  if (given.length > 1) throw new Error(`${where}: more than one content source: ${given.join(', ')}`);
  const [source] = given;
  if (source === undefined) return {};
  if (config.render !== undefined && source.startsWith('contentTemplate')) {
    throw new Error(`${where}: render and ${source} cannot both be given`);
  }
  const value = config[source];
  const what = `${where}: ${source}`;
  if (source === 'contentFile') return { content: fileAt(value as TextPath, what).text };
  if (source === 'contentTemplate') return templateSource(value, what);
  if (typeof value !== 'string') throw new Error(`${what} must be a text, got ${describeValue(value)}`);
  return source === 'content' ? { content: value } : { ref: value };
}

function fileAt(path: TextPath, what: string): { path: string; text: string } {
  const found = findText(path, what);
  if (found) return found;
  const named = typeof path === 'object' ? path.path : path;
  throw new Error(
    `${what}: there is no file "${named}" beside this one or in the workspace's folder; ` +
      'its path must be written here as a plain text',
  );
}

function templateSource(value: unknown, what: string): TextSource {
  if (typeof value === 'object' && value !== null) {
    const { source, path, partials } = value as { source?: unknown; path?: unknown; partials?: Record<string, string> };
    if (RESOURCE_TEMPLATE in value && typeof source === 'string') {
      return { content: source, isLiquid: true, fragments: partials };
    }
    if (typeof path === 'string') return templateFile(value as TextPath, what);
  }
  if (typeof value !== 'string') throw new Error(`${what} must be a text or a template, got ${describeValue(value)}`);
  const isPath = !/[\n{]/.test(value) && /^\.{0,2}\/|\.(md|mdx|txt|liquid|html)$/.test(value);
  return isPath ? templateFile(value, what) : templateText(value);
}

function templateFile(path: TextPath, what: string): TextSource {
  const found = fileAt(path, what);
  return { ...templateText(found.text), fragments: textsBeside(found.path) };
}

/** Placeholders of fields are filled here; everything else is Liquid. */
function templateText(text: string): TextSource {
  const isLiquid = /\{%|\{\{[^}]*(\||\bstate\.)|^---\s*$|^<system>/m.test(text);
  return isLiquid ? { content: text, isLiquid } : { template: text };
}

/** Fills a Markdown template from a state. */
export async function fillTemplate(text: string, state: object, partials?: TextSource['fragments']): Promise<string> {
  const { parseResourceTemplate, renderResourceTemplate } = await import('../library/resource-template');
  return renderResourceTemplate(parseResourceTemplate(text, { partials }), state);
}

/**
 * Fills `{{field}}` and `{{field.inner}}` of a plain template from a state: texts as they are, `null` as nothing, other
 * values as JSON.
 */
export async function fillFields(template: string, state: object): Promise<string> {
  let missing: string | undefined;
  const filled = template.replace(/\{\{([^]*?)\}\}/g, (_all, inner: string) => {
    const name = inner.trim();
    let value: unknown = state;
    for (const part of name.split('.')) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) {
        missing ??= name;
        return '';
      }
      value = (value as Config)[part];
    }
    if (value === undefined || value === null) return '';
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
  if (missing === undefined) return filled;
  const { ResourceTemplateRenderError } = await import('../library/resource-template');
  const isName = /^[\w$-]+(\.[\w$-]+)*$/.test(missing);
  const why = isName
    ? `the state has no "${missing}"`
    : `"{{${missing}}}" is no field; {% if %} and {% for %} are Liquid`;
  throw new ResourceTemplateRenderError(`Template render failed: ${why}`);
}
