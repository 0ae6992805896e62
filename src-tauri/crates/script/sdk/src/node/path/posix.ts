// node:path/posix: the same as node:path, which is that of POSIX on every machine.

export * from '../path';
export { default } from '../path';
