// `@flow-state-dev/core/capability`.

export { defineCapability } from '../define/capability';
