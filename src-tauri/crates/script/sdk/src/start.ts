// What a bundle's entry imports first: the globals that a flow finds, then what Rust calls.

import './globals';
import './web';
import './fetch';

export { boot } from './boot';
