// Prints what Node.js says of every case of `throws.mjs`: `node expected.mjs > expected.json`.

import { cases } from './throws.mjs';

const rows = [];
for (const [name, run] of Object.entries(cases)) {
  try {
    await run();
    throw new Error(`${name} throws nothing`);
  } catch (error) {
    const place = /throws\.mjs:(\d+):(\d+)/.exec(error.stack.slice(String(error).length));
    const row = { name: error.name, message: error.message, line: Number(place?.[1]), column: Number(place?.[2]) };
    rows.push(`${JSON.stringify(name)}: ${JSON.stringify(row)}`);
  }
}
console.log(`{\n${rows.join(',\n')}\n}`);
