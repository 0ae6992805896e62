// A model call in a readable form: its messages as texts with their sources, its tools, and a curl command that sends
// it again. Content comes from flows and models, so it is only passed on as text.
import { isRecord, preview } from '../../base/json';
import type { MessageSource, ModelCallRow } from '../../host/host';

export type Message = {
  role: string;
  text: string;
  source: MessageSource | null;
  value: unknown;
  /** The JSON pointer of the whole text in the value; null if the text is made of several parts. */
  textAt: string | null;
};

const records = (value: unknown): Record<string, unknown>[] => (Array.isArray(value) ? value.filter(isRecord) : []);
const requestOf = (call: ModelCallRow) => (isRecord(call.request) ? call.request : {});

export function messagesOf(call: ModelCallRow): Message[] {
  return records(requestOf(call).messages).map((message, n) => ({
    role: String(message.role ?? ''),
    text: textOf(message.content),
    source: call.sources[n] ?? null,
    value: message.content,
    textAt: textPlace(message.content),
  }));
}

/** Most providers write a text as a list of one part. */
function textPlace(content: unknown): string | null {
  if (typeof content === 'string') return '';
  const [part, ...others] = Array.isArray(content) ? content : [];
  return others.length === 0 && isRecord(part) && typeof part.text === 'string' ? '/0/text' : null;
}

/** Parts that are not text are described: a call with its arguments, a result with its value. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts = records(content).map((part) => {
    if (typeof part.text === 'string') return part.text;
    if (part.type === 'tool-call') return `${String(part.toolName)}(${preview(part.args, 2000)})`;
    if (part.type === 'tool-result') return `${String(part.toolName)} → ${resultText(part.output)}`;
    return preview(part, 400);
  });
  return parts.length > 0 ? parts.join('\n') : preview(content, 2000);
}

function resultText(output: unknown): string {
  const value = isRecord(output) && 'value' in output ? output.value : output;
  return typeof value === 'string' ? value : preview(value, 2000);
}

/** Where a message comes from, in words. */
export function sourceWords(source: MessageSource | null, block: string, own: string): string {
  if (!source) return '';
  switch (source.from) {
    case 'system':
      return `prompt of ${block}`;
    case 'context':
      return `context of ${block}`;
    case 'user':
      return `user of ${block}`;
    case 'history':
      return source.requestId === own ? `this request, item #${source.seq}` : `earlier request, item #${source.seq}`;
    case 'answer':
      return `answer to #${source.seq}`;
    case 'tool':
      return `result for #${source.seq}`;
    default:
      return '';
  }
}

/** The reply, or the part of it that has been streamed so far. */
export function replyOf(call: ModelCallRow): { text: string; reasoning: string; structured: unknown } {
  const reply = isRecord(call.result) ? call.result : {};
  const streamed = (reasoning: boolean) =>
    call.streamed
      .filter((piece) => piece.reasoning === reasoning)
      .map((piece) => piece.text)
      .join('')
      .trimStart();
  return {
    text: typeof reply.text === 'string' ? reply.text : streamed(false),
    reasoning: typeof reply.reasoning === 'string' ? reply.reasoning : streamed(true),
    structured: reply.structuredOutput,
  };
}

/** Messages as they were sent. */
export const messagesJson = (call: ModelCallRow): string => JSON.stringify(requestOf(call).messages ?? [], null, 2);

type Provider = { url: string; header: string; isAnthropic: boolean };

function providerOf(model: string): Provider {
  const openAi = (url: string, key: string) => ({ url, header: `Authorization: Bearer $${key}`, isAnthropic: false });
  if (/^(anthropic\/|claude)/.test(model))
    return { url: 'https://api.anthropic.com/v1/messages', header: 'x-api-key: $ANTHROPIC_API_KEY', isAnthropic: true };
  if (/^(google\/|gemini)/.test(model))
    return openAi('https://generativelanguage.googleapis.com/v1beta/openai/chat/completions', 'GEMINI_API_KEY');
  return openAi('https://api.openai.com/v1/chat/completions', 'OPENAI_API_KEY');
}

/** Any text as one argument of a shell command. */
const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The call as a shell command. The API key is an environment variable, so that no key is written. */
export function curlOf(call: ModelCallRow): string {
  const { url, header, isAnthropic } = providerOf(call.model);
  const request = requestOf(call);
  const model = call.model.split('/').at(-1);
  const tools = records(request.tools);
  const body = isAnthropic ? anthropic(request, tools) : openAi(request, tools);
  const lines = [
    `curl ${quoted(url)}`,
    // In double quotes, so that the shell puts the key in.
    `-H "${header}"`,
    ...(isAnthropic ? [`-H ${quoted('anthropic-version: 2023-06-01')}`] : []),
    `-H ${quoted('Content-Type: application/json')}`,
    `-d ${quoted(JSON.stringify({ model, ...body }, null, 2))}`,
  ];
  return lines.join(' \\\n  ');
}

function openAi(request: Record<string, unknown>, tools: Record<string, unknown>[]) {
  const messages = records(request.messages).flatMap((message): Record<string, unknown>[] => {
    const calls = records(message.content).filter((part) => part.type === 'tool-call');
    const results = records(message.content).filter((part) => part.type === 'tool-result');
    if (results.length > 0)
      return results.map((part) => ({ role: 'tool', tool_call_id: part.toolCallId, content: resultText(part.output) }));
    if (calls.length === 0) return [{ role: message.role, content: plain(message.content) }];
    const tool_calls = calls.map((part) => ({
      id: part.toolCallId,
      type: 'function',
      function: { name: part.toolName, arguments: JSON.stringify(part.args ?? {}) },
    }));
    return [{ role: message.role, content: plain(message.content) || null, tool_calls }];
  });
  const functions = tools.map(({ name, description, parameters }) => ({
    type: 'function',
    function: { name, description, parameters },
  }));
  return {
    messages,
    ...(functions.length > 0 && { tools: functions }),
    ...(request.maxTokens != null && { max_tokens: request.maxTokens }),
    ...(isRecord(request.outputSchema) && {
      response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: request.outputSchema } },
    }),
  };
}

function anthropic(request: Record<string, unknown>, tools: Record<string, unknown>[]) {
  const all = records(request.messages);
  const system = all.filter((message) => message.role === 'system').map((message) => plain(message.content));
  const messages = all
    .filter((message) => message.role !== 'system')
    .map((message) => {
      const parts = records(message.content).map((part) => {
        if (part.type === 'tool-call')
          return { type: 'tool_use', id: part.toolCallId, name: part.toolName, input: part.args ?? {} };
        if (part.type === 'tool-result')
          return { type: 'tool_result', tool_use_id: part.toolCallId, content: resultText(part.output) };
        return { type: 'text', text: String(part.text ?? '') };
      });
      return {
        role: message.role === 'tool' ? 'user' : message.role,
        content: parts.length > 0 ? parts : plain(message.content),
      };
    });
  const functions = tools.map(({ name, description, parameters }) => ({ name, description, input_schema: parameters }));
  return {
    max_tokens: request.maxTokens ?? 1024,
    ...(system.length > 0 && { system: system.join('\n\n') }),
    messages,
    ...(functions.length > 0 && { tools: functions }),
  };
}

function plain(content: unknown): string {
  if (typeof content === 'string') return content;
  const texts = records(content).flatMap((part) => (typeof part.text === 'string' ? [part.text] : []));
  return texts.length > 0 || Array.isArray(content) ? texts.join('\n') : JSON.stringify(content ?? '');
}
