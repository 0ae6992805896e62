/** Boxes of apples by trees: a box weighs 12 kg, and the harvest is told in kg. */
import { defineFlow, handler } from '@flow-state-dev/core';
import { z } from 'zod';

const boxes = z.array(z.number()).min(1);
const KG = 12;

const weigh = handler({
  name: 'weigh',
  inputSchema: boxes,
  outputSchema: z.number(),
  execute: (trees) => trees.reduce((kg, count) => kg + count * KG),
});

export default defineFlow({ kind: 'harvest', actions: { weigh: { inputSchema: boxes, block: weigh } } });
