/** An editor saves a draft a moment after the last word of a sentence. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const words = z.array(z.string());

const write = handler({
  name: 'write',
  inputSchema: words,
  outputSchema: z.string(),
  execute: async (given) => {
    let draft = '';
    let saved = '';
    const saveLater = (text: string) =>
      new Promise<void>((done) => {
        setTimeout(() => {
          saved = text;
          done();
        }, 5);
      });
    const saving = saveLater(draft);
    for (const word of given) {
      draft = `${draft} ${word}`.trim();
    }
    await saving;
    return saved;
  },
});

export default defineFlow({ kind: 'editor', actions: { write: { inputSchema: words, block: write } } });
