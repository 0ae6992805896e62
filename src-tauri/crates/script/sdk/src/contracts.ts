// `@flow-state-dev/contracts`: the core without what it builds blocks with. Packages for browsers import it.

export * from './index';
export * from './library/items';
export * from './library/value-functions';
