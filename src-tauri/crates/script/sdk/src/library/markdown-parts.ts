// A Markdown file with settings and parts: `<system>`, `<user>` and `<context>`, each at the beginning of a line.

import { splitFrontMatter } from './front-matter';

export type PartName = 'system' | 'user' | 'context';
export const PARTS: readonly PartName[] = ['system', 'user', 'context'];

export interface MarkdownParts {
  settings: Record<string, unknown>;
  parts: Partial<Record<PartName, string>>;
  body: string;
}

export function splitMarkdown(text: string): MarkdownParts {
  const { settings, body } = splitFrontMatter(text);
  const parts: MarkdownParts['parts'] = {};
  for (const name of PARTS) {
    const found = [...body.matchAll(new RegExp(`^<${name}>([\\s\\S]*?)</${name}>`, 'gm'))];
    if (found.length > 1) throw new Error(`Multiple <${name}> blocks found; at most one is allowed.`);
    const [only] = found;
    if (only) parts[name] = (only[1] as string).replace(/^\n+|\n+$/g, '');
  }
  return { settings, parts, body };
}

/** The names of the fragments that a template takes in. */
export function fragmentsOf(template: string): string[] {
  return [...template.matchAll(/\{%-?\s*(?:render|include)\s+['"]([^'"]+)['"]/g)].map((found) => found[1] as string);
}
