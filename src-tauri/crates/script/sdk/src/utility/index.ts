// `utility`: ready-made blocks (SEMANTICS §2.12). Each is built of ordinary blocks, so it runs, resumes and is mocked as
// those do.

export * from './combiner';
export * from './generators';
export * from './intents';
export * from './cascade';
export * from './routers';
export * from './sessions';
