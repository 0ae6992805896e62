// node:path/posix.

import posix from '../posix';

export const { basename, delimiter, dirname, extname, format, isAbsolute, join, normalize, parse, relative, resolve, sep } =
  posix;
export const { toNamespacedPath } = posix;
export { posix };
export default posix;
