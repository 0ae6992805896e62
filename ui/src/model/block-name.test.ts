import { expect, test } from 'vitest';
import { blockIcon, blockName } from './block-name';

test.each([
  ['root/step:approve-publication', 'approve-publication'],
  ['root/loop[1]/step:ask~2', 'ask'],
  ['root/parallel/left%2Fright', 'left/right'],
  ['root', 'root'],
  ['root/step:a%zz', 'a%zz'],
])('%s is called %s', (path, name) => expect(blockName(path)).toBe(name));

test.each([
  ['handler', 'root/step:investigator/tool:search-library[0.0]', 'tool'],
  ['handler', 'root/tick[0]/call:pay[0]/activity:pay', 'tool'],
  ['sequencer', 'root/tool:search/step:plan', 'sequencer'],
  ['handler', null, 'handler'],
])('a %s at %s has the icon %s', (kind, path, icon) => expect(blockIcon(kind, path)).toBe(icon));
