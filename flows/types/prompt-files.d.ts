/**
 * The modules `@flow-state-dev/core/prompt-file` and `…/prompt-file/node`: a generator's prompt in a Markdown file.
 */

type Filter = (value: any, ...args: any[]) => unknown;

/** What a Markdown file says. `prompt` of a generator takes it whole, or `definePromptFile` spreads it. */
export interface PromptFile {
  readonly name?: string;
  readonly description?: string;
  readonly prompt: (input: any, ctx: any) => Promise<string>;
  readonly user?: (input: any, ctx: any) => Promise<string>;
  readonly caching?: any;
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly _meta: {
    readonly source: string;
    readonly frontmatter: Record<string, unknown>;
    readonly hasUserBlock: boolean;
    readonly hasContextBlock: boolean;
  };
}
export interface PromptFileConfig {
  prompt: (input: any, ctx: any) => Promise<string>;
  user?: (input: any, ctx: any) => Promise<string>;
  description?: string;
  maxTokens?: number;
}

export declare const DEFAULT_PROMPT_FILE_FILTERS: Record<string, Filter>;
export declare function parsePromptFile(
  text: string,
  options?: { sourcePath?: string; filters?: Record<string, Filter>; partials?: Record<string, string> },
): PromptFile;
export declare function definePromptFile(file: PromptFile): PromptFileConfig;
export declare function isPromptFile(value: unknown): value is PromptFile;

/** A file of the project. Its path stands as a plain text in the module that loads it. */
export declare function loadPromptFile(
  path: string | { path: string; importerUrl?: string },
  importerUrl?: string,
  options?: { filters?: Record<string, Filter>; partialsDir?: string },
): PromptFile;
export declare function createPromptLoader(
  baseDir: string,
  options?: { filters?: Record<string, Filter>; partialsDir?: string },
): (path: string, own?: { filters?: Record<string, Filter> }) => PromptFile;
export declare function moduleDir(importerUrl: string, relative?: string): string;
export declare function resolveBaseDir(
  candidates: readonly (string | undefined)[],
  options?: { expect?: string },
): string;

export declare class PromptFileLoadError extends Error {
  readonly sourcePath?: string;
}
export declare class PromptFileParseError extends Error {
  readonly sourcePath?: string;
}

declare global {
  /** Where a module lies; the workspace's folder is the root. */
  interface ImportMeta {
    url: string;
    dirname: string;
    filename: string;
  }
}
