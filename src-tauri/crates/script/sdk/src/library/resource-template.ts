// `@flow-state-dev/core/resource-template`: the text of a resource from a Markdown file, filled from its state.

import { findText, textsBeside, type TextPath } from '../base/texts';
import { RESOURCE_TEMPLATE, type FilledBy } from '../define/resource-texts';
import { LONGEST_TEMPLATE, templates, type Fragments } from './liquid';
import { splitMarkdown } from './markdown-parts';
import { TextFileError } from './text-file-error';

export class ResourceTemplateParseError extends TextFileError {
  override name = 'ResourceTemplateParseError';
}

export class ResourceTemplateRenderError extends TextFileError {
  override name = 'ResourceTemplateRenderError';
}

export class ResourceTemplateResolutionError extends Error {
  override name = 'ResourceTemplateResolutionError';

  constructor(
    readonly ref: string,
    readonly consumer: string,
  ) {
    super(
      `Cannot resolve contentTemplateRef "${ref}" for resource "${consumer}": no resource of that name is in reach`,
    );
  }
}

/** Settings of generators, which say nothing about a resource. */
const OF_GENERATORS = ['model', 'intent', 'caching', 'maxTokens', 'temperature'];

export function parseResourceTemplate(text: string, options: { sourcePath?: string; partials?: Fragments } = {}) {
  const { sourcePath, partials = {} } = options;
  if (text.length > LONGEST_TEMPLATE) {
    const message = `Template exceeds maximum length (${LONGEST_TEMPLATE} characters)`;
    throw new ResourceTemplateParseError(message, { sourcePath });
  }
  try {
    const { settings, parts, body } = splitMarkdown(text);
    const system = parts.system ?? body.trim();
    const engine = templates(partials);
    const compiled = engine.parse(system);
    const fill: FilledBy = (state) => {
      try {
        return engine.renderSync(compiled, { state });
      } catch (error) {
        const message = `Template render failed: ${(error as Error).message}`;
        throw new ResourceTemplateRenderError(message, { cause: error, sourcePath });
      }
    };
    const template = {
      name: settings.name as string | undefined,
      description: settings.description as string | undefined,
      sections: { system, user: parts.user, context: parts.context },
      source: text,
      inertKeys: Object.keys(settings).filter((key) => OF_GENERATORS.includes(key)),
      partials: Object.keys(partials).length > 0 ? partials : undefined,
    };
    return Object.defineProperty(template, RESOURCE_TEMPLATE, { value: fill });
  } catch (error) {
    throw new ResourceTemplateParseError((error as Error).message, { cause: error, sourcePath });
  }
}

export type ResourceTemplate = ReturnType<typeof parseResourceTemplate>;

export function isResourceTemplate(value: unknown): value is ResourceTemplate {
  const { source, sections } = (value ?? {}) as { source?: unknown; sections?: unknown };
  return typeof source === 'string' && typeof sections === 'object' && sections !== null;
}

export function renderResourceTemplate(
  template: ResourceTemplate,
  state: object,
  options: { partials?: Fragments } = {},
): string {
  const fill = (template as { [RESOURCE_TEMPLATE]?: FilledBy })[RESOURCE_TEMPLATE];
  if (fill && options.partials === undefined) return fill(state);
  const partials = options.partials ?? template.partials ?? {};
  const engine = templates(partials);
  return engine.renderSync(engine.parse(template.sections.system), { state });
}

/** A file of the project, found beside the module that names it. */
export function loadResourceTemplate(path: TextPath, importerUrl?: string, _options?: object): ResourceTemplate {
  const found = findText(typeof path === 'string' ? { path, importerUrl } : path, 'loadResourceTemplate: the path');
  if (!found) {
    const named = String(typeof path === 'object' ? path.path : path);
    throw new ResourceTemplateParseError('there is no such file in the project', { sourcePath: named });
  }
  return parseResourceTemplate(found.text, { sourcePath: found.path, partials: textsBeside(found.path) });
}
