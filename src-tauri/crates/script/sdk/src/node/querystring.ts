// node:querystring.

type Values = Record<string, string | string[]>;

export const escape = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (letter) => (letter === '*' ? '%2A' : letter));
export function unescape(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function parse(text: string, separator = '&', equals = '='): Values {
  const values = Object.create(null) as Values;
  for (const pair of text.split(separator).filter((one) => one !== '')) {
    const [name = '', ...rest] = pair.split(equals);
    const [key, value] = [name, rest.join(equals)].map((part) => unescape(part.replace(/\+/g, ' '))) as [string, string];
    const before = values[key];
    values[key] = before === undefined ? value : [before, value].flat();
  }
  return values;
}

export function stringify(values: Record<string, unknown>, separator = '&', equals = '='): string {
  const text = (value: unknown): string =>
    ['string', 'number', 'bigint', 'boolean'].includes(typeof value) ? escape(String(value)) : '';
  const pairs = Object.entries(values ?? {}).flatMap(([key, value]) =>
    (Array.isArray(value) ? value : [value]).map((one) => escape(key) + equals + text(one)),
  );
  return pairs.join(separator);
}

export { parse as decode, stringify as encode };
export default { parse, stringify, escape, unescape, decode: parse, encode: stringify };
