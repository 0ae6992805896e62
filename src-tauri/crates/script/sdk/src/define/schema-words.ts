// The words of JSON Schema, and a word about what is none of them: a keyword that is written wrong checks nothing, and
// nobody would notice.
//
// Must not: hold a value against a schema; Rust does.

import type { Config } from './blocks';
import { nearest } from './known-keys';

const PLAIN = [
  ...['type', 'const', 'enum', 'required', 'pattern', 'format', 'uniqueItems', 'multipleOf', 'dependentRequired'],
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'minLength', 'maxLength', 'minItems', 'maxItems'],
  ...['minProperties', 'maxProperties', 'minContains', 'maxContains', 'contentEncoding', 'contentMediaType'],
  ...['title', 'description', 'default', 'examples', 'deprecated', 'readOnly', 'writeOnly', 'nullable'],
  ...['$ref', '$dynamicRef', '$anchor', '$dynamicAnchor', '$id', '$schema', '$comment', '$vocabulary'],
];
/** With a schema. */
const ONE = [
  ...['items', 'additionalItems', 'additionalProperties', 'contains', 'propertyNames', 'not', 'if', 'then', 'else'],
  ...['unevaluatedItems', 'unevaluatedProperties', 'contentSchema'],
];
/** With a list of schemas. */
const LIST = ['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items'];
/** With schemas by name. */
const NAMED = ['properties', 'patternProperties', 'dependentSchemas', '$defs', 'definitions', 'dependencies'];
const ALL = [...new Set([...PLAIN, ...ONE, ...LIST, ...NAMED])];

const isObject = (value: unknown): value is Config =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Tells of every word that is none of JSON Schema, with the place of its schema: names and indices. */
export function unknownWords(schema: unknown, tell: (place: string[], message: string) => void): void {
  const look = (one: unknown, place: string[]): void => {
    if (!isObject(one)) return;
    for (const [word, value] of Object.entries(one)) {
      const here = [...place, word];
      if (!ALL.includes(word) && !word.startsWith('x-') && !(place.length === 0 && word.startsWith('_'))) {
        const meant = nearest(word, ALL);
        tell(
          place,
          `"${word}" is no keyword of JSON Schema and checks nothing${meant ? `; did you mean "${meant}"?` : ''}`,
        );
      }
      if (NAMED.includes(word) && isObject(value)) {
        Object.entries(value).forEach(([name, inner]) => look(inner, [...here, name]));
      } else if (LIST.includes(word) && Array.isArray(value)) {
        value.forEach((inner, at) => look(inner, [...here, String(at)]));
      } else if (ONE.includes(word) || (place.length === 0 && word.startsWith('_'))) look(value, here);
    }
  };
  look(schema, []);
}
