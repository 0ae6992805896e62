// Which writes of a state are edits of a fork. Pure.
import type { WriteRow } from './bindings';

/** Whether no block wrote it: a fork was begun with it. */
export const isEdit = ({ operation }: Pick<WriteRow, 'operation'>): boolean => operation === 'edit';
