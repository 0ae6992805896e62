// Who wrote a value, in words: a block, the request itself, or the edit that a fork was begun with. Pure.
import type { WriteRow } from '../../host/host';

type Writer = Pick<WriteRow, 'by' | 'operation'>;

export const isEdit = ({ operation }: Pick<WriteRow, 'operation'>): boolean => operation === 'edit';

/** The path of the block that wrote it, or what wrote it in place of a block. */
export const writerOf = (write: Writer): string =>
  isEdit(write) ? "the fork's edit" : (write.by ?? 'the request itself');

/** The same in few words: of a block its last step. */
export const shortWriterOf = (write: Writer): string =>
  isEdit(write) || write.by === null ? writerOf(write) : write.by.slice(write.by.lastIndexOf('/') + 1);
