// Writes the licences of everything that is built into the program: `node src-tauri/notices.mjs FILE`. Crates are those
// that cargo builds for this machine, npm packages those that the window's pages and the SDK bundle.
//
// It reads what cargo and npm have already fetched, and asks no network. A package under no licence is an error; one
// whose archive holds no licence file gets that of another package from the same repository, or else its names and
// the standard text.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const [target] = process.argv.slice(2);
const LICENCE_FILE = /^(un)?licen[cs]e|^copying|^notice|^copyright/i;
const NOT_SHIPPED = new Set(['tests', 'test', 'benches', 'examples', 'node_modules', 'target']);
/** In the program, though npm knows it as a tool: its base style is part of the pages' style sheet. */
const TOOLS_IN_THE_PAGES = ['node_modules/tailwindcss'];

/** The texts of all licence files of a package, also of C sources that it brings along. */
function textsIn(folder, depth = 3) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return depth > 0 && !NOT_SHIPPED.has(entry.name) ? textsIn(path, depth - 1) : [];
    const isCode = /\.(rs|c|h|js|ts|json|html)$/.test(entry.name);
    return LICENCE_FILE.test(entry.name) && !isCode ? [readFileSync(path, 'utf8').replaceAll('\r', '').trim()] : [];
  });
}

function crates() {
  const host = /host: (.*)/.exec(execFileSync('rustc', ['-vV'], { encoding: 'utf8' }))[1];
  const args = ['metadata', '--locked', '--offline', '--format-version', '1', '--filter-platform', host];
  const json = execFileSync('cargo', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 });
  const { packages, resolve } = JSON.parse(json);
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const built = new Set();
  const waiting = [resolve.root];
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (built.has(id)) continue;
    built.add(id);
    const isBuilt = ({ dep_kinds }) => dep_kinds.some(({ kind }) => kind === null);
    waiting.push(
      ...nodes
        .get(id)
        .deps.filter(isBuilt)
        .map(({ pkg }) => pkg),
    );
  }
  return packages
    .filter(({ id, source }) => built.has(id) && source !== null)
    .map(({ name, version, license, repository, authors, manifest_path }) => {
      return { name, version, license, repository, authors, texts: textsIn(dirname(manifest_path)) };
    });
}

function npmPackages(folder) {
  const lock = JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8'));
  return Object.entries(lock.packages)
    .filter(([path, entry]) => path !== '' && (!entry.dev || TOOLS_IN_THE_PAGES.includes(path)))
    .map(([path]) => join(root, folder, path))
    .filter((path) => existsSync(path))
    .map((path) => {
      const { name, version, license, repository, author } = JSON.parse(
        readFileSync(join(path, 'package.json'), 'utf8'),
      );
      const texts = textsIn(path);
      return {
        name,
        version,
        license: license ?? (texts.length > 0 ? 'see its text' : undefined),
        repository: repository?.url ?? repository,
        authors: [author?.name ?? author ?? name],
        texts,
      };
    });
}

const packages = [...crates(), ...npmPackages('ui'), ...npmPackages('src-tauri/crates/script/sdk')];
const unlicensed = packages.filter(({ license }) => !license).map(({ name }) => name);
if (unlicensed.length > 0) throw new Error(`under no licence: ${unlicensed.join(', ')}`);

const standard = {
  MIT: readFileSync(join(root, 'LICENSE-MIT'), 'utf8')
    .replace(/^.*\n\nCopyright .*\n\n/, '')
    .trim(),
  'Apache-2.0': readFileSync(join(root, 'LICENSE-APACHE'), 'utf8').trim(),
};
const ofRepository = new Map(
  packages.filter(({ texts }) => texts.length > 0).map((one) => [one.repository, one.texts]),
);

/**
 * The text for a package that came without one: MIT where it may be chosen, because that is what most chose. A rarer
 * licence is taken from a package under the same, without the names of its authors.
 */
function standardText({ name, license, authors }) {
  const chosen = ['MIT', 'Apache-2.0'].find((known) => license.split(/[\s/()]+/).includes(known));
  const other = packages.find((one) => one.license === license && one.texts.length === 1);
  const text =
    chosen === undefined ? other?.texts[0].replaceAll(/^(Copyright|All rights).*\n/gm, '') : standard[chosen];
  if (text === undefined) throw new Error(`${name} comes with no text of its licence, ${license}`);
  const whose = authors.length > 0 ? authors.join(', ') : `the authors of ${name}`;
  return `Copyright (c) ${whose}\n\n${text.trim()}`;
}

const byText = new Map();
for (const one of packages) {
  const texts = one.texts.length > 0 ? one.texts : (ofRepository.get(one.repository) ?? [standardText(one)]);
  for (const text of texts) {
    const key = text.replace(/\s+/g, ' ');
    const group = byText.get(key) ?? { text, names: new Set() };
    group.names.add(`${one.name} ${one.version}`);
    byText.set(key, group);
  }
}

const rule = '='.repeat(100);
const names = packages.map((one) => `${one.name} ${one.version}  ${one.license}  ${one.repository ?? ''}`.trimEnd());
const groups = [...byText.values()].map(({ text, names }) => `${rule}\n${[...names].sort().join(', ')}\n\n${text}\n`);
writeFileSync(
  target,
  `Flowglass is made with these packages, and SQLite, which is in the public domain. Their licences follow.\n\n` +
    `${[...new Set(names)].sort().join('\n')}\n\n${groups.join('\n')}`,
);
console.log(`${target}: ${packages.length} packages, ${byText.size} texts`);
