// What a bundle's entry imports first: the globals that a flow finds, then what Rust calls.

import './globals/json';
import './globals/globals';
import './globals/web';
import './globals/fetch';

export { boot, bootProject } from './wire/boot';
