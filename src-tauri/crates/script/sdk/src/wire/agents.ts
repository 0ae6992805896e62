// The definitions of an agent's file as plain data for the engine.

import { definedModels, withFallbacks } from '../define/agent-models';
import { definitions, modelsOf, partsOf, toolsOf, type AgentBlock } from '../define/agents';
import { modelOptionsOf } from '../define/prompt-options';
import { handler, type Block, type Config } from '../define/blocks';
import { functionId, schemaId } from '../define/tables';
import { standsFor } from '../base/sources';
import { toJson } from '../base/values';
import { withFlow } from '../context/flow-state';

/** `child` describes the block of a tool, and gives its number. */
export function describeAgents(block: AgentBlock, child: (block: Block) => number): Config {
  const file = definitions(block.agent);
  return {
    main: file.main,
    models: definedModels(),
    agents: file.agents.map(([name, definition, sides]) => ({
      name,
      sides,
      maxSessionTurns: definition.maxSessionTurns,
      toolDescription: definition.toolDescription ?? definition.description,
      config: configOf(name, definition),
    })),
    prompts: file.prompts.map(({ name, definition }) => ({
      name,
      parts: partsOf(definition.prompt, `Prompt "${name}"`),
      models: withFallbacks(modelsOf(definition.model, `Prompt "${name}"`)),
      toolDescription: definition.toolDescription,
      includeChat: definition.includeChat === true,
      includePastTools: definition.includePastTools === true,
      tools: toolsOf(definition, `Prompt "${name}"`),
      ...modelOptionsOf(definition),
      requiredSchema: schemaId(definition.requiredSchema),
      maxTokens: typeof definition.maxTokens === 'number' ? Math.max(1, Math.floor(definition.maxTokens)) : undefined,
    })),
    tools: file.tools.map(([name, tool]) => ({
      name,
      block: child(
        handler({
          name,
          description: tool.description,
          inputSchema: tool.args,
          execute: standsFor(withFlow(tool.execute), tool.execute),
        }),
      ),
    })),
    hooks: file.hooks.map(({ hook, execute }) => ({
      hook,
      execute: functionId(
        standsFor(withFlow(execute, hook === 'prefilter_llm_history' ? blocked : undefined), execute),
      ),
    })),
  };
}

/** An error with `block: true` refuses the model call; any other is the hook's own. */
function blocked(error: unknown): unknown {
  if (typeof error === 'object' && error !== null && (error as { block?: unknown }).block === true) {
    return { $blocked: String((error as Error).message) };
  }
  throw error;
}

/** The definition as the `FlowState` shows it: what is data of it. */
function configOf(name: string, definition: Config): unknown {
  const plain = JSON.stringify(definition, (_key, value: unknown) =>
    typeof value === 'function' || (typeof value === 'object' && value !== null && 'safeParse' in value)
      ? undefined
      : value,
  );
  return JSON.parse(toJson(JSON.parse(plain), `Agent "${name}"`) as string) as unknown;
}
