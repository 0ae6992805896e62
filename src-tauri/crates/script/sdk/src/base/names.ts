// Names as others want them: with dashes for tags, and of few letters for the tools of models.

/** `userPreferences` → `user-preferences`. */
export function camelToKebab(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/([A-Z]+)([A-Z][a-z])/g, '$1-$2')
    .toLowerCase();
}

/** The same for `user_preferences`: the name of a tag. */
export function normalizeTagName(name: string): string {
  return camelToKebab(name.trim().replace(/[\s_]+/g, '-'));
}

/** A name that every model takes for a tool's: letters, digits, `_` and `-`. */
export function sanitizeToolName(name: string): string {
  return name.replace(/[^a-zA-Z0-9_-]/g, '_');
}

/** The name, or the same with the first free number behind it. */
export function ensureUniqueAlias(candidate: string, taken: Record<string, unknown>): string {
  const isTaken = (name: string) => Object.prototype.hasOwnProperty.call(taken, name);
  if (!isTaken(candidate)) return candidate;
  let number = 2;
  while (isTaken(`${candidate}_${number}`)) number++;
  return `${candidate}_${number}`;
}

/** The names that a model sees for some tools, by their own. */
export function computeToolAliases(names: readonly string[]): Map<string, string> {
  const aliases = new Map<string, string>();
  const taken: Record<string, true> = {};
  for (const name of new Set(names)) {
    const alias = ensureUniqueAlias(sanitizeToolName(name), taken);
    taken[alias] = true;
    aliases.set(name, alias);
  }
  return aliases;
}

export function assertUniqueToolNames(names: readonly string[], context: string): void {
  const twice = names.find((name, at) => names.indexOf(name) < at);
  if (twice !== undefined) refuseTwoTools(context, twice);
}

export function refuseTwoTools(context: string, name: string): never {
  throw new Error(`${context} has two tools named "${name}". Tool names must be unique within a generator.`);
}
