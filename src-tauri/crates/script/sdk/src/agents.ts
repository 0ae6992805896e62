// `@standardagents/builder` and `@standardagents/spec`: the names an agent's file imports.

export { defineModel } from './define/agent-models';
export { defineAgent, defineHook, definePrompt, defineTool } from './define/agents';
export {
  emitThreadEvent,
  forceTurn,
  getMessages,
  injectMessage,
  queueMessage,
  queueTool,
  reloadHistory,
} from './context/flow-state';
