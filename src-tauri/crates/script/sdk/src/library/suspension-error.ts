// `@flow-state-dev/core/errors/suspension-error`.

export { SuspensionError, SuspensionRejectedError, SuspensionTimeoutError } from '../base/errors';
