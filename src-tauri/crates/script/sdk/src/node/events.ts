// node:events: the package `events`.

import EventEmitter from 'events';

const all = EventEmitter as typeof EventEmitter & Record<string, unknown>;
export const { once } = all;
export const { defaultMaxListeners, listenerCount } = all as unknown as Record<string, unknown>;
export { EventEmitter };
export default EventEmitter;
