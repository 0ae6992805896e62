// Who wrote a value, in words: a block, the request itself, or the edit that a fork was begun with. Pure.
import { isEdit } from '../host/edit';
import type { Change, WriteRow } from '../host/host';

type Writer = Pick<WriteRow, 'by' | 'operation'>;

/** What wrote a place that a fork's edit changed. */
export const FORK_EDIT = "the fork's edit";

/** The path of the block that wrote it, or what wrote it in place of a block. */
export const writerOf = (write: Writer): string => (isEdit(write) ? FORK_EDIT : (write.by ?? 'the request itself'));

/** The same in few words: of a block its last step. */
export const shortWriterOf = (write: Writer): string =>
  isEdit(write) || write.by == null ? writerOf(write) : write.by.slice(write.by.lastIndexOf('/') + 1);

/** What made a difference: a block, or the edit of a fork. Null where nothing is known of it. */
export const changedBy = (change: Pick<Change, 'by' | 'isEdit'>): string | null =>
  change.isEdit ? FORK_EDIT : (change.by ?? null);
