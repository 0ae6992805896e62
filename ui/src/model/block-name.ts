// How a block is called: the name at the end of its path.

/** The icon of a block: of one that runs a tool, whatever kind it is, that of tools. */
export const blockIcon = (kind: string, path: string | null | undefined): string =>
  /(?:^|\/)(?:tool|activity):[^/]*$/.test(path ?? '') ? 'tool' : kind;

const TINTS: Record<string, string> = { generator: 'text-model', tool: 'text-tool', handler: 'text-handler' };

/** A kind is a small tinted glyph, by its icon; what makes others run is the quietest. */
export const tintOf = (icon: string): string => TINTS[icon] ?? 'text-chain';

/** `root/step:approve~2` is `approve`; a path without an operation is its last part. */
export function blockName(path: string): string {
  const last = path.split('/').at(-1) ?? path;
  const name = last.slice(last.indexOf(':') + 1).replace(/[~[].*$/, '');
  try {
    return decodeURIComponent(name) || last;
  } catch {
    return name || last;
  }
}
