import { expect, test } from 'vitest';
import { blockName } from './block-name';

test.each([
  ['root/step:approve-publication', 'approve-publication'],
  ['root/loop[1]/step:ask~2', 'ask'],
  ['root/parallel/left%2Fright', 'left/right'],
  ['root', 'root'],
  ['root/step:a%zz', 'a%zz'],
])('%s is called %s', (path, name) => expect(blockName(path)).toBe(name));
