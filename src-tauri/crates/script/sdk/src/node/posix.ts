// The package `path-browserify`, which is Node's own for POSIX, and what it lacks.

import './process';
import plain from 'path-browserify';

/** Nothing on POSIX. */
const toNamespacedPath = <T>(path: T): T => path;
const posix = Object.assign(plain, { posix: plain, toNamespacedPath });
export default posix;
