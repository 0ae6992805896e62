// node:perf_hooks: the precise clock.

export const { performance } = globalThis as unknown as { performance: { now(): number; timeOrigin: number } };
export default { performance };
