/**
 * The modules `@flow-state-dev/core/resource-template` and `…/resource-template/node`: the text of a resource from a
 * Markdown file that its state fills.
 */

/** For `contentTemplate` of a resource. */
export interface ResourceTemplate {
  readonly name?: string;
  readonly description?: string;
  readonly sections: { system: string; user?: string; context?: string };
  readonly source: string;
  readonly inertKeys: readonly string[];
  readonly partials?: Record<string, string>;
}
export declare function parseResourceTemplate(
  text: string,
  options?: { sourcePath?: string; partials?: Record<string, string> },
): ResourceTemplate;
export declare function renderResourceTemplate(
  template: ResourceTemplate,
  state: object,
  options?: { partials?: Record<string, string> },
): string;
export declare function isResourceTemplate(value: unknown): value is ResourceTemplate;
/** A file of the project. Its path stands as a plain text in the module that loads it. */
export declare function loadResourceTemplate(
  path: string | { path: string; importerUrl?: string },
  importerUrl?: string,
  options?: object,
): ResourceTemplate;

export declare class ResourceTemplateParseError extends Error {
  readonly sourcePath?: string;
}
export declare class ResourceTemplateRenderError extends Error {
  readonly sourcePath?: string;
}
export declare class ResourceTemplateResolutionError extends Error {
  readonly ref: string;
  readonly consumer: string;
}
