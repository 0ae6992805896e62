// Tags around parts of a prompt, and the names that no tag of an author may have.

export interface Tagged {
  [name: string]: readonly string[] | Tagged;
}

interface TagOptions {
  /** What each level is indented by; an empty text writes a tag in one line. */
  indent?: string;
  /** Whether `<`, `>` and `&` of a text are escaped. */
  escape?: boolean;
}

function indented(text: string, indent: string): string {
  return text.replace(/^(?=[^\n])/gm, indent);
}

function wrapped(name: string, body: string, indent: string): string {
  return indent === '' ? `<${name}>${body}</${name}>` : `<${name}>\n${indented(body, indent)}\n</${name}>`;
}

/** A tag with its content as it is; nothing where there is no content. */
export function xmlTag(name: string, content: string | readonly string[] | null | undefined): string {
  const body = typeof content === 'string' ? content : (content ?? []).filter((text) => text !== '').join('\n');
  return body === '' ? '' : wrapped(name, body, '  ');
}

/** Tags of tags; those named in `order` first. A tag without content is left out. */
export function renderTaggedContext(tagged: Tagged, order: readonly string[] = [], options: TagOptions = {}): string {
  const { indent = '  ', escape = true } = options;
  const names = new Set([...order.filter((name) => name in tagged), ...Object.keys(tagged)]);
  const tags: string[] = [];
  for (const name of names) {
    const value = tagged[name] as readonly string[] | Tagged;
    const body = Array.isArray(value)
      ? (value as string[])
          .filter((text) => text !== '')
          .map((text) => (escape ? escaped(text) : text))
          .join('\n')
      : renderTaggedContext(value as Tagged, [], options);
    if (body !== '') tags.push(wrapped(name, body, indent));
  }
  return tags.join('\n');
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

function escaped(text: string): string {
  return text.replace(/[&<>]/g, (letter) => ESCAPES[letter] as string);
}

/** Names with a meaning of their own: for the engine, or for models that were trained with them. */
export const RESERVED_TAG_NAMES: ReadonlySet<string> = new Set([
  'active-skill',
  'thinking',
  'answer',
  'tool-use',
  'tool-result',
  'function-calls',
  'invoke',
  'parameter',
  'system',
  'user',
  'assistant',
  'role',
  'message',
]);

/** Refuses what cannot be the name of a tag, once it is written with dashes. */
export function validateTagName(name: string, source?: string): void {
  const from = source === undefined ? '' : ` (source: ${source})`;
  if (!/^[a-z][a-z0-9-]*$/.test(name)) {
    throw new Error(
      `Invalid context tag name "${name}"${from}: a tag begins with a small letter and holds small letters, digits and dashes`,
    );
  }
  if (RESERVED_TAG_NAMES.has(name)) {
    throw new Error(
      `Reserved context tag name "${name}"${from}: models give it a meaning of its own; use another name`,
    );
  }
}
