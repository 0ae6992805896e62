// The runs a recording is made of: what happens in them, beat by beat. Sample content only, no behaviour.
import type { Beat } from './recording';

type More = Record<string, unknown>;

/** Writes beats in the order they happen. */
export class Script {
  readonly beats: Beat[] = [];
  #items = 0;

  add(wait: number, kind: string, path?: string, payload: More = {}, attempt = 0): this {
    this.beats.push({ wait, kind, path, payload, attempt });
    return this;
  }
  start(wait: number, path: string, kind: string, name: string, more: More = {}, attempt = 0): this {
    return this.add(wait, 'block.started', path, { name, kind, ...more }, attempt);
  }
  end(wait: number, path: string, output?: unknown, more: More = {}, attempt = 0): this {
    return this.add(wait, 'block.finished', path, { output, ...more }, attempt);
  }
  set(path: string, scope: string, at: string, value: unknown, old?: unknown, owner?: string): this {
    return this.add(2, 'state.changed', path, { scope, path: at, value, old, owner });
  }
  item(path: string, type: string, more: More, visible = 'both'): this {
    this.#items++;
    const visibility = { client: visible !== 'none', history: visible === 'both' };
    const item = { id: `item-${this.#items}`, type, status: 'completed', visibility, ...more };
    return this.add(3, 'item.done', path, { item });
  }
  /** A message that grows while it is written, like a model's reply. */
  stream(path: string, wait: number, text: string, more: More = {}): this {
    const id = `item-${++this.#items}`;
    const words = text.split(' ');
    for (let n = 4; n < words.length + 4; n += 4) {
      const done = n >= words.length;
      const item = {
        id,
        type: 'message',
        role: 'assistant',
        status: done ? 'completed' : 'in_progress',
        visibility: { client: true, history: more.agentType !== 'sub' },
        content: [{ type: 'output_text', text: words.slice(0, n).join(' ') }],
        ...more,
      };
      this.add(wait, done ? 'item.done' : 'item.updated', path, { item });
    }
    return this;
  }
}

const text = (value: string) => [{ type: 'output_text', text: value }];

export function chat(requestId: string, input: unknown): Beat[] {
  const seq = `${requestId}:root:0`;
  return new Script()
    .start(5, 'root', 'sequencer', 'chat', { input })
    .item('root', 'message', { role: 'user', content: text(String(input)) })
    .set('root', 'session', 'turns', 1)
    .start(40, 'root/step:classify', 'router', 'classify', { input })
    .item('root/step:classify', 'router_decision', { routerName: 'classify', selectedRoute: 'answer' }, 'none')
    .start(180, 'root/step:classify/route:answer', 'generator', 'answer', { input: { question: input } })
    .item('root/step:classify/route:answer', 'reasoning', {
      agentType: 'primary',
      summary: [{ type: 'reasoning_text', text: 'The question is general. A short answer with one example will do.' }],
    })
    .stream(
      'root/step:classify/route:answer',
      110,
      'A debugger shows what happened, in order. Start with the step that failed, read what it was given, then look at ' +
        'the state just before it. Most of the time the surprise is already there.',
      { agentType: 'primary', agentName: 'answer' },
    )
    .set(
      'root/step:classify/route:answer',
      'sequencer',
      'draft',
      'A debugger shows what happened, in order.',
      undefined,
      seq,
    )
    .end(20, 'root/step:classify/route:answer', 'A debugger shows what happened, in order.')
    .end(5, 'root/step:classify', { route: 'answer' })
    .start(15, 'root/step:remember', 'handler', 'remember', { input: { last: input } })
    .set('root/step:remember', 'user', 'lastQuestion', input)
    .set('root/step:remember', 'session', 'title', 'How to read a run', undefined)
    .add(1, 'logged', 'root/step:remember', { level: 'info', text: 'Kept the question for next time.' })
    .end(30, 'root/step:remember', { saved: true })
    .end(4, 'root', { reply: 'A debugger shows what happened, in order.' })
    .add(2, 'request.completed').beats;
}

export function research(requestId: string, input: { topic?: string }, fails = false): Beat[] {
  const seq = `${requestId}:root:0`;
  const topic = input.topic ?? 'bees';
  const run = new Script()
    .start(4, 'root', 'sequencer', 'plan', { input })
    .set('root', 'request', 'topic', topic)
    .set('root', 'sequencer', 'plan', [], undefined, seq)
    .start(30, 'root/step:outline', 'generator', 'outline', { input: { topic } })
    .stream(
      'root/step:outline',
      90,
      `Three questions about ${topic}: where they live, what they need, and what changed in the last ten years.`,
      { agentType: 'sub', agentName: 'outline' },
    )
    .set(
      'root/step:outline',
      'sequencer',
      'plan',
      [
        { title: 'Habitat', done: false },
        { title: 'Needs', done: false },
        { title: 'Changes', done: false },
      ],
      [],
      seq,
    )
    .end(15, 'root/step:outline', ['Habitat', 'Needs', 'Changes'])
    .start(8, 'root/parallel/web', 'handler', 'searchWeb', { input: { query: `${topic} habitat` } })
    .start(3, 'root/parallel/library', 'handler', 'searchLibrary', { input: { query: topic } })
    .start(3, 'root/parallel/notes', 'handler', 'readNotes', { input: {}, memoized: true })
    .end(2, 'root/parallel/notes', ['Asked about the same topic in May.'])
    .item('root/parallel/web', 'status', { message: 'Searching the web…', transient: true }, 'client')
    .end(340, 'root/parallel/library', undefined, {
      status: 'failed',
      error: {
        name: 'TimeoutError',
        message: 'The library did not answer within 300 ms.',
        path: 'root/parallel/library',
      },
    })
    .start(60, 'root/parallel/library', 'handler', 'searchLibrary', { input: { query: topic } }, 1)
    .item(
      'root/parallel/web',
      'source',
      { sourceType: 'url', url: 'https://example.org/habitats', title: 'Habitats, an overview' },
      'client',
    )
    .set('root/parallel/web', 'session', 'sources', ['https://example.org/habitats'])
    .end(120, 'root/parallel/web', { hits: 12 })
    .end(210, 'root/parallel/library', { hits: 3 }, {}, 1);
  for (const [n, title] of ['Habitat', 'Needs', 'Changes'].entries()) {
    const path = `root/forEach:section[${n}]`;
    run
      .start(10, path, 'sequencer', 'section', { input: { title } })
      .start(5, `${path}/step:write`, 'generator', 'write', { input: { title, words: 120 } })
      .item(
        `${path}/step:write`,
        'block_tool_output',
        {
          blockName: 'cite',
          agentType: 'sub',
          toolCall: { callId: `call-${n}`, name: 'cite', arguments: `{"section":"${title}","most":2}` },
          output: { citations: [`${title} (2021)`, `${title} revisited (2024)`] },
        },
        'client',
      )
      .stream(
        `${path}/step:write`,
        70,
        `${title}: what is known about ${topic} here is short, and every sentence of it can be traced to a source that was read in this run.`,
        { agentType: 'primary', agentName: 'write' },
      )
      .end(10, `${path}/step:write`, { words: 27 })
      .start(6, `${path}/step:check`, 'handler', 'check', { input: { title } });
    if (fails && n === 1) {
      const error = {
        name: 'ValidationError',
        code: 'invalid_state',
        message: 'plan[1].done: expected boolean, received string "yes"',
        path: `${path}/step:check`,
        file: 'flows/research.ts',
        line: 61,
        column: 17,
        details: { expected: 'boolean' },
        stack: 'ValidationError: plan[1].done\n    at check (flows/research.ts:61:17)',
      };
      return run
        .item(`${path}/step:check`, 'error', { message: error.message, code: error.code }, 'client')
        .end(22, `${path}/step:check`, undefined, { status: 'failed', error })
        .end(3, path, undefined, { status: 'failed', error })
        .end(3, 'root', undefined, { status: 'failed', error })
        .add(2, 'request.failed', undefined, { error }).beats;
    }
    run
      .set(`${path}/step:check`, 'sequencer', `plan[${n}].done`, true, false, seq)
      .set(`${path}/step:check`, 'session', 'words', 27 * (n + 1), n ? 27 * n : undefined)
      .end(18, `${path}/step:check`, true)
      .end(4, path, { title, ok: true });
  }
  return run
    .start(10, 'root/step:report', 'handler', 'report', { input: { sections: 3 } })
    .item(
      'root/step:report',
      'component',
      { component: 'Report', data: { title: `About ${topic}`, sections: 3 } },
      'client',
    )
    .set('root/step:report', 'user', 'reports', 1)
    .set('root/step:report', 'project', 'lastReport', { topic, words: 81 })
    .end(25, 'root/step:report', { title: `About ${topic}`, words: 81 })
    .end(3, 'root', { title: `About ${topic}`, words: 81 })
    .add(2, 'request.completed').beats;
}
