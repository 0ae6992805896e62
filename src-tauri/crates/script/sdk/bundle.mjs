// Bundles what flows can import without installing it, our SDK and zod, into modules that the runtime loads as they
// are: `node bundle.mjs FOLDER` writes each module, and `modules.txt` with a line per module: its file, and what it
// exports. The build script calls this.
//
// `async` functions are lowered as those of flows are, so that the current block is carried through every `await`.

import { readdirSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { rolldown } from 'rolldown';

const here = dirname(fileURLToPath(import.meta.url));
const [target] = process.argv.slice(2);
const source = join(here, 'src');
const zod = join(here, 'node_modules', 'zod');

/** What flows, and what the bundler writes for them, import: the module's name, and its file. */
const input = {
  'sdk/start': join(source, 'start.ts'),
  'sdk/index': join(source, 'index.ts'),
  'sdk/agents': join(source, 'agents.ts'),
  'sdk/acts': join(source, 'acts.ts'),
  'sdk/async': join(source, 'base', 'async.ts'),
};
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

const bundle = await rolldown({
  input,
  platform: 'neutral',
  plugins: [helper],
  // zod 4 sets its messages up as a side effect of a module that calls itself free of them.
  treeshake: { moduleSideEffects: true },
  transform: { target: 'es2016' },
  onLog(level, log, otherwise) {
    // A warning would be about our own code, and nobody reads what a build script prints.
    otherwise(level === 'warn' ? 'error' : level, log);
  },
});
const { output } = await bundle.generate({
  format: 'esm',
  entryFileNames: '[name].js',
  chunkFileNames: 'parts/[name].js',
  // The SDK stays one module, in which the globals come first; what a flow does not import of zod is not loaded.
  codeSplitting: { groups: [{ name: 'sdk', test: (id) => !id.startsWith(zod) }] },
  minify: false,
});

const lines = output.map((chunk) => {
  const file = join(target, chunk.fileName);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, chunk.code);
  return `${relative(target, file).split(sep).join('/')} ${chunk.exports.join(' ')}\n`;
});
writeFileSync(join(target, 'modules.txt'), lines.sort().join(''));
