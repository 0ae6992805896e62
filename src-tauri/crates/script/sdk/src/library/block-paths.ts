// Paths and instances as `@flow-state-dev/core` writes them: `<request>:<path>:<attempt>`. The engine's own paths have
// other segments (SEMANTICS §3.2); an instance is written the same way, and `parseBlockInstanceId` reads both.

export const ROOT_BLOCK_PATH = 'root';

export const buildBlockInstanceId = (request: string, path: string, attempt: number): string =>
  `${request}:${path}:${attempt}`;

export const extendBlockPath = (parent: string, segment: string): string => `${parent}/${segment}`;
export const blockPathSegment = (operation: string, index: number): string => `${operation}[${index}]`;
export const blockPathIteration = (iteration: number): string => `iter[${iteration}]`;
export const blockPathLoop = (generation: number): string => `loop[${generation}]`;
export const blockPathBranch = (name: string): string => `branch[${name}]`;
export const blockPathRescue = (index: number): string => `rescue[${index}]`;
export const blockPathTool = (name: string, call: string | number): string => `tool[${name}][${call}]`;

/** The parts of an instance; nothing where a text is none. */
export function parseBlockInstanceId(id: string): { requestId: string; path: string; attempt: number } | undefined {
  const parts = /^([^:]*):(.*):(\d+)$/s.exec(id);
  if (!parts) return undefined;
  return { requestId: parts[1] as string, path: parts[2] as string, attempt: Number(parts[3]) };
}
