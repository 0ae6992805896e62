// Packs the extension into a .vsix: with vsce if it is installed here, else by itself. Downloads nothing.
//
// node pack.mjs FILE

import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import * as zlib from 'node:zlib';

const here = import.meta.dirname;
const file = resolve(process.argv[2] ?? 'flowglass.vsix');
mkdirSync(dirname(file), { recursive: true });

const own = join(here, 'node_modules/.bin/vsce');
const vsce = existsSync(own) ? own : spawnSync('vsce', ['--version']).status === 0 ? 'vsce' : undefined;
if (vsce) {
  const options = ['--no-dependencies', '--allow-missing-repository', '--out', file];
  execFileSync(vsce, ['package', ...options], { cwd: here, stdio: ['ignore', 'ignore', 'inherit'] });
} else {
  writeFileSync(file, archive(contents()));
  console.log('vsce is missing, so the extension is packed without its checks (npm install --global @vscode/vsce)');
}

/** The files of the package, by their names in it. */
function contents() {
  const ignored = readFileSync(join(here, '.vscodeignore'), 'utf8').split('\n');
  const names = readdirSync(here).filter((name) => !ignored.includes(name) && !name.startsWith('.'));
  const files = names.filter((name) => name !== 'node_modules');
  return [
    ['extension.vsixmanifest', Buffer.from(manifest())],
    ['[Content_Types].xml', Buffer.from(types())],
    ...files.map((name) => [`extension/${name}`, readFileSync(join(here, name))]),
  ];
}

function manifest() {
  const about = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
  const text = (value) => value.replace(/[&<>"]/g, (letter) => `&#${letter.codePointAt(0)};`);
  return `<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" Id="${about.name}" Version="${about.version}" Publisher="${about.publisher}"/>
    <DisplayName>${text(about.displayName)}</DisplayName>
    <Description xml:space="preserve">${text(about.description)}</Description>
    <Tags>${text(about.keywords.join(','))}</Tags>
    <Categories>${about.categories.join(',')}</Categories>
    <Properties>
      <Property Id="Microsoft.VisualStudio.Code.Engine" Value="${text(about.engines.vscode)}"/>
      <Property Id="Microsoft.VisualStudio.Code.ExtensionKind" Value="workspace"/>
    </Properties>
    <License>extension/LICENSE.txt</License>
  </Metadata>
  <Installation><InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation>
  <Dependencies/>
  <Assets>
    <Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.Details" Path="extension/README.md" Addressable="true"/>
    <Asset Type="Microsoft.VisualStudio.Services.Content.License" Path="extension/LICENSE.txt" Addressable="true"/>
  </Assets>
</PackageManifest>
`;
}

function types() {
  const kinds = { json: 'application/json', js: 'application/javascript', md: 'text/markdown', txt: 'text/plain' };
  const defaults = Object.entries({ ...kinds, vsixmanifest: 'text/xml' }).map(
    ([extension, type]) => `<Default Extension=".${extension}" ContentType="${type}"/>`,
  );
  const space = 'http://schemas.openxmlformats.org/package/2006/content-types';
  return `<?xml version="1.0" encoding="utf-8"?>\n<Types xmlns="${space}">${defaults.join('')}</Types>\n`;
}

/** A ZIP archive of files. */
function archive(files) {
  const [parts, directory] = [[], []];
  let offset = 0;
  for (const [name, data] of files) {
    const [title, packed] = [Buffer.from(name), zlib.deflateRawSync(data, { level: 9 })];
    // Version, flags, method and time are the same for all: 1 January 1980.
    const head = Buffer.alloc(26);
    head.writeUInt16LE(20, 0);
    head.writeUInt16LE(8, 4);
    head.writeUInt16LE(0x21, 8);
    head.writeUInt32LE(crc32(data), 10);
    head.writeUInt32LE(packed.length, 14);
    head.writeUInt32LE(data.length, 18);
    head.writeUInt16LE(title.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(offset, 10);
    const local = Buffer.concat([Buffer.from('PK\u0003\u0004'), head, title, packed]);
    directory.push(Buffer.from('PK\u0001\u0002\u0014\u0000'), head, place, title);
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(files.length, 4);
  end.writeUInt16LE(files.length, 6);
  end.writeUInt32LE(central.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, central, Buffer.from('PK\u0005\u0006'), end]);
}

/** Node 20 before 20.15 has none. */
function crc32(data) {
  if (zlib.crc32) return zlib.crc32(data);
  let sum = ~0;
  for (const byte of data) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
}
