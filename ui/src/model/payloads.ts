// Values of the host that are read in parts, as the window shows them.
import type { LargeSource } from '../base/large';
import type { Host, PayloadReference } from '../host/host';

export const sourceOf = (host: Host, reference: PayloadReference): LargeSource => ({
  page: (path, offset, limit) => host.payload(reference, { path, offset, limit }),
  find: (text) => host.payloadFind(reference, text, 0),
  whole: (path) => host.payloadWhole(reference, path),
  save: async (path, kind) => {
    const file = await host.pickFile(kind === 'text' ? 'value.txt' : 'value.json');
    return file === null ? null : (await host.payloadSave(reference, path, file)).file;
  },
});
