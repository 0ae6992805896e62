import { expect, test, vi } from 'vitest';
import type { LargeKind } from '../base/large';
import type { Host, PayloadReference } from '../host/host';
import { sourceOf } from './payloads';

const reference = { hash: 'h', at: { event: { request: 'r', seq: 1 } } } as unknown as PayloadReference;

test('a text is saved as a text, and any other value as JSON', async () => {
  const pickFile = vi.fn(async (proposed: string | null) => `/home/ada/${proposed}`);
  const payloadSave = vi.fn(async (_of: PayloadReference, _path: string, file: string) => ({ file, bytes: 2 }));
  const source = sourceOf({ pickFile, payloadSave } as unknown as Host, reference);
  const named = (kind: LargeKind) => source.save?.('/a', kind);
  expect(await Promise.all((['text', 'object', 'list', 'scalar'] as const).map(named))).toEqual([
    '/home/ada/value.txt',
    '/home/ada/value.json',
    '/home/ada/value.json',
    '/home/ada/value.json',
  ]);
  expect(payloadSave).toHaveBeenCalledWith(reference, '/a', '/home/ada/value.txt');
  pickFile.mockResolvedValueOnce(null as unknown as string);
  expect(await source.save?.('', 'text')).toBeNull();
  expect(payloadSave).toHaveBeenCalledTimes(4);
});
