// Bundles what flows can import without installing it, our SDK, Node's built-ins and zod, into modules that the runtime loads as they
// are: `node bundle.mjs FOLDER` writes each module, and `modules.txt` with a line per module: its file, and what it
// exports; and `locales.txt` with the files of `locales.mjs`. The build script calls this.
//
// `async` functions are lowered as those of flows are, so that the current block is carried through every `await`.

import { readdirSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';
import { locales } from './locales.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const [target] = process.argv.slice(2);
const source = join(here, 'src');
const packages = join(here, 'node_modules');
const zod = join(packages, 'zod');
const liquid = join(packages, 'liquidjs');
const later = ['library', 'utility'].map((folder) => join(source, folder) + sep);
const indices = ['index.ts', 'contracts.ts'].map((file) => join(source, file));

/** What only bundles with probes load. */
const probing = ['probe.ts', 'capture.ts'].map((file) => join(source, 'base', file));

/** What is loaded after the SDK itself. */
const isLater = (id) => later.some((folder) => id.startsWith(folder)) || indices.includes(id);

/** What every flow loads. */
const isOfSdk = (id) => id.startsWith(source) && !id.startsWith(node) && !isLater(id) && !probing.includes(id);

/** What flows, and what the bundler writes for them, import: the module's name, and its file. */
const input = {
  'sdk/start': join(source, 'start.ts'),
  'sdk/index': join(source, 'index.ts'),
  'sdk/prompt': join(source, 'library', 'prompt.ts'),
  'sdk/contracts': join(source, 'contracts.ts'),
  'sdk/items': join(source, 'library', 'items.ts'),
  'sdk/types': join(source, 'library', 'types.ts'),
  'sdk/models': join(source, 'library', 'models.ts'),
  'sdk/graph': join(source, 'library', 'graph.ts'),
  'sdk/helpers': join(source, 'library', 'value-functions.ts'),
  'sdk/capability': join(source, 'library', 'capability.ts'),
  'sdk/prompt-file': join(source, 'library', 'prompt-file.ts'),
  'sdk/resource-template': join(source, 'library', 'resource-template.ts'),
  'sdk/suspension-error': join(source, 'library', 'suspension-error.ts'),
  'sdk/texts': join(source, 'base', 'texts.ts'),
  'sdk/agents': join(source, 'agents.ts'),
  'sdk/agent-providers': join(source, 'library', 'agent-providers.ts'),
  'sdk/acts': join(source, 'acts.ts'),
  'sdk/async': join(source, 'base', 'async.ts'),
  'sdk/probe': join(source, 'base', 'probe.ts'),
};
/** Node's built-ins: each is a module that only flows load which use it. */
const node = join(source, 'node');
const OWN_PARTS = ['host.ts', 'equality.ts', 'posix.ts', 'packages.d.ts'];
for (const file of readdirSync(node, { recursive: true })) {
  const name = String(file).split(sep).join('/');
  if (name.endsWith('.ts') && !OWN_PARTS.includes(name)) {
    input[`sdk/node/${name.slice(0, -'.ts'.length)}`] = join(node, ...name.split('/'));
  }
}
for (const file of readdirSync(zod, { recursive: true })) {
  const parts = String(file).split(sep);
  const isEntry = parts.at(-1) === 'index.js' && ['index.js', 'v3', 'v4', 'v4-mini'].includes(parts[0]);
  if (isEntry && !parts.includes('tests') && !parts.includes('benchmarks')) {
    input[`zod/${parts.join('/').slice(0, -'.js'.length)}`] = join(zod, ...parts);
  }
}

/** Takes the place of the bundler's own helper, which would pay for the current block at every `await`. */
const helper = {
  name: 'async',
  transform: (_code, id) =>
    id.replaceAll('\\', '/').endsWith('/helpers/esm/asyncToGenerator.js')
      ? { code: `export { default } from ${JSON.stringify(input['sdk/async'])};\n`, map: null }
      : null,
};

/** Mends the bundler's helper for async generators, which ends one at the `await` of a `finally` (`embedded.rs`). */
const generators = {
  name: 'generators',
  transform(code, id) {
    if (!id.replaceAll('\\', '/').endsWith('/helpers/esm/wrapAsyncGenerator.js')) return null;
    const changed = code.replace('"return" === r ? "return" : "next"', '"return" === r && o.k ? "return" : "next"');
    if (changed === code) throw new Error('wrapAsyncGenerator.js is another one: see if it still needs mending');
    return { code: changed, map: null };
  },
};

/**
 * What zod keeps for all who import it, where no property leads to it. A file with Calls makes what its Activities share
 * unchangeable once it is loaded, and the global object tells whether that has happened.
 */
const KEPT = [
  [
    'v3/errors.js',
    'export function setErrorMap(map) {',
    `$&
    if (!Object.isExtensible(globalThis)) {
        throw new TypeError('setErrorMap changes what all Activities share; call it at the top of the file');
    }`,
  ],
  ['v3/types.js', /^class ParseInputLazyPath /m, 'export $&'],
  [
    'v4/core/core.js',
    'Object.defineProperty(Definition, "name", { value: name });',
    "$&\n    Object.defineProperty(_, '_definition', { value: Definition });",
  ],
  [
    'v4/core/util.js',
    /^export const (\w+) = new Set\((.*)\);$/gm,
    'const all_$1 = new Set($2);\nexport const $1 = { has: (one) => all_$1.has(one) };',
  ],
  // A pattern that all share has no place to write to, and needs none: it begins at its start.
  ...['v3/types.js', 'v4/core/checks.js', 'v4/core/schemas.js'].map((file) => [
    file,
    /^(\s*)([\w.]+)\.lastIndex = 0;$/gm,
    '$1if ($2.lastIndex !== 0) $2.lastIndex = 0;',
  ]),
];
const kept = {
  name: 'kept',
  transform(code, id) {
    const file = relative(zod, id).split(sep).join('/');
    const changes = KEPT.filter(([of]) => of === file);
    if (changes.length === 0) return null;
    let changed = code;
    for (const [, from, to] of changes) {
      const before = changed;
      changed = before.replace(from, to);
      if (changed === before) throw new Error(`${file} of zod has no ${from} any more: look at what it keeps`);
    }
    return { code: changed, map: null };
  },
};

/** An `async` generator is lowered to a function whose prototypes are others; what looks at them gets a plain one. */
const inspected = {
  name: 'inspected',
  transform(code, id) {
    if (!id.split(sep).join('/').endsWith('node-inspect-extracted/dist/inspect.js')) return null;
    const changed = code.replaceAll('async function*()', 'function*()');
    if (changed === code) throw new Error('inspect.js looks at no async generators any more: it can be taken as it is');
    return { code: changed, map: null };
  },
};

const bundle = await rolldown({
  input,
  platform: 'neutral',
  // What Node's built-ins are made of has no other.
  resolve: { mainFields: ['module', 'main'] },
  plugins: [helper, generators, kept, inspected],
  // zod 4 sets its messages up as a side effect of a module that calls itself free of them.
  treeshake: { moduleSideEffects: true },
  transform: { target: 'es2016' },
  onLog(level, log, otherwise) {
    // What has large whole numbers is for the runtime, which has them.
    if (log.code === 'TOLERATED_TRANSFORM') return;
    // A warning would be about our own code, and nobody reads what a build script prints.
    otherwise(level === 'warn' ? 'error' : level, log);
  },
});
const { output } = await bundle.generate({
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'parts/[name].js',
  // What every flow needs is one module, in which the globals come first. What stands on zod or Liquid comes after it,
  // and only where a flow imports it, as Node's built-ins do.
  codeSplitting: {
    groups: [{ name: 'sdk', test: (id) => isOfSdk(id) }],
  },
  minify: false,
});

/**
 * The text of a module. One that is loaded after the SDK leaves what it exports where a file with Calls looks for what to
 * protect.
 */
function provided({ code, fileName, moduleIds, facadeModuleId }) {
  const isProvided = (id) => [zod, liquid, node].some((folder) => id.startsWith(folder)) || isLater(id);
  // One whose code is in other parts has no module but the one that it stands for.
  const all = facadeModuleId ? [...moduleIds, facadeModuleId] : moduleIds;
  if (fileName === 'parts/sdk.js' || !all.some(isProvided)) return code;
  const own = `import * as provided$ from './${fileName.split('/').at(-1)}';`;
  return `${own}\n${code}\n(globalThis[Symbol.for('flowglass.provided')] ??= []).push(provided$);\n`;
}

const lines = output.map((chunk) => {
  const file = join(target, chunk.fileName);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, provided(chunk));
  return `${relative(target, file).split(sep).join('/')} ${chunk.exports.join(' ')}\n`;
});
writeFileSync(join(target, 'modules.txt'), lines.sort().join(''));

mkdirSync(join(target, 'locales'), { recursive: true });
const known = locales(join(here, 'node_modules')).map(([name, bytes]) => {
  writeFileSync(join(target, 'locales', name), bytes);
  return `${name}\n`;
});
writeFileSync(join(target, 'locales.txt'), known.join(''));
