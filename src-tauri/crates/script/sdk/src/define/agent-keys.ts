// What the definitions of an agent's file may say, and a word about what changes nothing here.
//
// Must not: refuse anything. What cannot work without a setting is refused where the setting is read.

import type { Config } from './blocks';
import { nearest, warn } from './known-keys';

const KEYS: Record<string, readonly string[]> = {
  tool: ['description', 'args', 'execute'],
  prompt: [
    'name',
    'toolDescription',
    'prompt',
    'model',
    'includeChat',
    'includePastTools',
    'parallelToolCalls',
    'toolChoice',
    'requiredSchema',
    'tools',
    'reasoning',
    'maxTokens',
    'handoffAgents',
  ],
  model: ['name', 'provider', 'model', 'fallbacks', 'capabilities'],
  'tool of a prompt': ['name', 'initUserMessageProperty', 'includeTextResponse', 'includeToolCalls', 'includeErrors'],
  side: [
    'prompt',
    'label',
    'human',
    'stopOnResponse',
    'stopTool',
    'stopToolResponseProperty',
    'maxTurns',
    'maxSteps',
    'endConversationTool',
    'endSessionTool',
    'sessionStop',
    'failSessionTool',
    'sessionFail',
  ],
  'tool of a side': ['name', 'messageProperty'],
  // Some of them only say what an agent is; they stand in its `agentConfig`.
  agent: [
    'name',
    'title',
    'type',
    'sideA',
    'sideB',
    'maxSessionTurns',
    'exposeAsTool',
    'toolDescription',
    'description',
    'icon',
    'tags',
    'primary',
  ],
};

const FILES = 'a thread keeps no files, and messages have texts only';

const PRICES = 'prices stand in flowglass.json, under "prices"';

/** What newer versions of the module know, and why it changes nothing here. */
const WITHOUT_EFFECT: Record<string, Record<string, string>> = {
  tool: {
    returnSchema: 'what a tool returns is not checked',
    uses: 'a tool may queue any tool of its file',
    executionMode: 'tools run one after another, here',
    progressArgument: 'no hook is called while a model writes a call',
    variables: 'values come from flow.env and flow.context',
  },
  prompt: {
    variables: 'every {{name}} is filled in from context and the arguments',
    env: 'flow.env has all of "env" in flowglass.json',
    recentImageThreshold: FILES,
    hooks: 'every hook of the file is called',
    beforeTool: 'use defineHook or queueTool',
    afterTool: 'use defineHook("after_tool_call_success")',
  },
  model: {
    inputPrice: PRICES,
    outputPrice: PRICES,
    cachedPrice: PRICES,
    pricing: PRICES,
    includedProviders: 'the router chooses among its providers',
    providerOptions: 'options of a provider stand in the prompt: maxTokens, reasoning',
    providerTools: 'a model is offered the tools of its prompt',
  },
  'tool of a prompt': { initAttachmentsProperty: FILES },
  side: {
    subagents:
      'agents with threads of their own are not there, and the model is offered none; an agent in the "tools" of a prompt takes the conversation over',
    sessionStatus: 'a session has no status of its own',
    statusTool: 'a session has no status of its own',
    manualStopCondition: 'set flow.stopped in a tool or a hook',
  },
  'tool of a side': { attachmentsProperty: FILES },
  agent: {
    hooks: 'every hook of the file is called',
    parentHooks: 'an agent has no parent',
    env: 'flow.env has all of "env" in flowglass.json',
    defaultPrompt: 'sideA.prompt and sideB.prompt say who speaks',
    defaultModel: "the model is the prompt's",
  },
};

/** Tells of every setting that changes nothing. */
export function warnOfOthers(kind: string, where: string, definition: Config): void {
  const known = KEYS[kind] as readonly string[];
  for (const key of Object.keys(definition)) {
    if (known.includes(key) || definition[key] === undefined) continue;
    const reason = WITHOUT_EFFECT[kind]?.[key];
    if (reason !== undefined) {
      warn(`${where}: "${key}" changes nothing: ${reason}`);
      continue;
    }
    const meant = nearest(key, known);
    warn(
      `${where}: "${key}" is no setting of ${kind === 'agent' ? 'an' : 'a'} ${kind} and changes nothing${meant ? `; did you mean "${meant}"?` : ''}`,
    );
  }
}

/** What a side may say of itself where a person speaks for it. */
const OF_A_PERSON = ['human', 'label'];

/** Tells of every setting of a side that changes nothing, also of those that need another one. */
export function warnOfSide(where: string, side: Config): void {
  warnOfOthers('side', where, side);
  for (const tool of Object.values(side)) {
    const isSessionTool = typeof tool === 'object' && tool !== null && 'attachmentsProperty' in tool;
    if (isSessionTool) warnOfOthers('tool of a side', where, tool as Config);
  }
  if (side.prompt === undefined) {
    const unused = (KEYS.side as readonly string[]).filter((key) => side[key] !== undefined && side[key] !== null);
    for (const key of unused.filter((key) => !OF_A_PERSON.includes(key))) {
      warn(`${where}: "${key}" changes nothing: a person speaks for this side; give it a prompt, or leave this out`);
    }
  } else if (side.stopToolResponseProperty !== undefined && side.stopTool === undefined) {
    warn(`${where}: "stopToolResponseProperty" changes nothing without "stopTool"`);
  }
}
