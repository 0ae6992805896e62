// Names that newer versions of a `FlowState` have and this one has not, with what to use instead.
//
// Must not: hold a name that works here.

const NO_FILES = 'a thread keeps no files: keep values with flow.storage.put(key, value)';
const NO_CHILDREN = 'agents with threads of their own are not there: call a prompt, or hand the conversation over';
const NO_EFFECTS = 'nothing runs between two messages of a thread';
const OF_DEFINITIONS = 'definitions are those of the file, and flow.agentConfig has those of the agent';
const OF_SIDES = 'use flow.turnCount; `flowglass state` shows the turns of each side';
const OF_ENGINE =
  "it is the engine's: `flowglass state --request ID` shows turns, the tool queue and why an agent stopped";

const INSTEAD: Record<string, string> = {
  sideAStepCount: OF_SIDES,
  sideBStepCount: OF_SIDES,
  sessionTurnCounts: OF_SIDES,
  arguments: 'use the second argument of the tool, or flow.context',
  queue: 'use flow.sequence.queue',
  active: 'use the arguments of the tool or the hook',
  currentToolCall: 'use the arguments of the tool or the hook',
  depth: 'use flow.isChildPrompt',
  promptPath: 'use flow.isChildPrompt and flow.agentConfig.name',
  parent: 'use flow.rootState',
  prompt: 'use flow.agentConfig',
  prompts: 'use flow.agentConfig',
  setEnv: 'use "env" in flowglass.json',
  stop: 'use flow.stopped = true',
  stopSession: 'use flow.stopped = true, or the endConversationTool of a side',
  forceTurn: 'use forceTurn(flow, side) of "@standardagents/builder"',
  getMessages: 'use getMessages(flow, limit, offset, order) of "@standardagents/builder"',
  getMessage: 'use getMessages(flow, …) of "@standardagents/builder"',
  updateMessage: 'use defineHook("before_create_message", …)',
  deleteMessage: 'use defineHook("filter_messages", …) to leave it out of what a model is told',
  invokeTool: 'use queueTool(flow, name, args)',
  getUserValue: 'use flow.storage.get(key), which is of the thread',
  setUserValue: 'use flow.storage.put(key, value), which is of the thread',
  getLogs: '`flowglass events` shows the log of a request',
  stream: 'use emitThreadEvent(flow, type, data)',
  allowedTools: "use the tools of flow.agentConfig's prompt",
  env_types: 'use flow.env',
};

const ALL: [string, string][] = [
  [NO_FILES, 'writeFile readFile readFileStream statFile readdirFile unlinkFile mkdirFile rmdirFile getFileStats'],
  [NO_FILES, 'grepFiles findFiles getFileThumbnail moveFile headFile tailFile attachments'],
  [NO_CHILDREN, 'children getChildThread getParentThread notifyParent setStatus runAgent subagents'],
  [NO_EFFECTS, 'scheduleEffect getScheduledEffects removeScheduledEffect terminate runCode'],
  [OF_DEFINITIONS, 'loadAgent loadPrompt loadModel getAgentNames getPromptNames getModelNames getToolNames'],
  [OF_ENGINE, 'stopReason stopReasonCode sessionStopped sessionStopResult awaitingHumanPark forcedNextSide'],
  [OF_ENGINE, 'pendingForceTurn pendingHandoff extraMessages rootMessageId parentLogId currentLogId parentMessageId'],
  [OF_ENGINE, 'abortController abortSignal retryReasons'],
];
for (const [instead, names] of ALL) for (const name of names.split(' ')) INSTEAD[name] = instead;

/** What to do in place of a name; nothing of a name that no version has. */
export function insteadOf(name: string): string | undefined {
  return Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : undefined;
}
