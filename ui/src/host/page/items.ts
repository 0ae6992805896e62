// The items of an exported page: the items that an audience sees as of an event, in their form at that event.
// `runner/src/workspace/moving/page/items.rs` writes them.
import type { Audience, AudienceCounts, Item, ItemsQuery, StateView, ViewItem, ViewItems } from '../bindings';
import type { Blocks } from './blocks';
import type { PageRows } from './rows';
import type { Values } from './values';

type Shown = [from: number, until: number | null, audiences: number];
type Form = [from: number, item: Omit<ViewItem, 'item'> & { item: Short }];
/** An item without the fields that follow from its block's row, its type and its event. */
type Short = Omit<Item, 'id' | 'requestId' | 'provenance'> &
  Partial<Pick<Item, 'id' | 'requestId'>> & {
    provenance: Item['provenance'] | [row: number, blockName: string, phase: Item['provenance']['phase']];
    /** Set if the other fields follow from its block: whether that has an input. */
    ofBlock?: boolean;
  };
export type WrittenItem = { shown: unknown; forms: unknown; pieces?: unknown };

/** The audiences in the order of their bits. */
const AUDIENCES: readonly Audience[] = ['all', 'client', 'history', 'trace'];
const NONE: AudienceCounts = { all: 0, client: 0, history: 0, trace: 0 };

/** The request that the items are of. */
type About = {
  rows: PageRows;
  blocks: Blocks;
  /** The newest event. */
  last: number;
  /** Whether later model calls leave out the items of the request. */
  isLeftOut: boolean;
  stateAt: (seq: number) => Promise<StateView>;
};

export class PageItems {
  #shown: Shown[][] = [];
  /** The items at the last queried instant. */
  #kept: { at: number | null; audience: Audience; items: number[]; counts: AudienceCounts } | null = null;

  private constructor(
    readonly written: readonly WrittenItem[],
    readonly values: Values,
    readonly about: About,
  ) {}

  static async read(written: readonly WrittenItem[], values: Values, about: About): Promise<PageItems> {
    const items = new PageItems(written, values, about);
    items.#shown = await values.read<Shown[][]>(written.map((one) => one.shown));
    return items;
  }

  async page({ audience, offset, limit, at: asked }: ItemsQuery): Promise<ViewItems> {
    const at = asked == null || asked >= this.about.last ? null : asked;
    const isLeftOut = this.about.isLeftOut && at === null;
    const { items, counts } = this.#seen(at, audience);
    const all = isLeftOut && audience === 'history' ? [] : items;
    const page = all.slice(offset, offset + limit).map((item) => this.#item(item, at));
    const shown = (await Promise.all(page)).flatMap((one) => (one ? asSeen(one, audience) : []));
    return {
      seq: at ?? this.about.last,
      total: all.length,
      counts: isLeftOut ? { ...counts, history: 0 } : counts,
      offset,
      page: isLeftOut ? shown.map(withoutHistory) : shown,
    };
  }

  #seen(at: number | null, audience: Audience) {
    if (this.#kept?.at === at && this.#kept.audience === audience) return this.#kept;
    const counts = { ...NONE };
    const items: number[] = [];
    this.#shown.forEach((stretches, item) => {
      const stretch = stretches.find(([from, until]) =>
        at === null ? until === null : from <= at && (until === null || at < until),
      );
      AUDIENCES.forEach((one, bit) => {
        if (((stretch?.[2] ?? 0) >> bit) % 2 === 0) return;
        counts[one] += 1;
        if (one === audience) items.push(item);
      });
    });
    this.#kept = { at, audience, items, counts };
    return this.#kept;
  }

  /** The newest form of an item. */
  async newest(item: number): Promise<Item> {
    const forms = await this.values.read<Form[]>(this.written[item]?.forms);
    return (await this.#whole((forms.at(-1) as Form)[1])).item;
  }

  async #item(item: number, at: number | null): Promise<ViewItem | null> {
    const { forms: encoded, pieces } = this.written[item] as WrittenItem;
    const forms = await this.values.read<Form[]>(encoded);
    const form = (at === null ? forms.at(-1) : (forms.findLast(([from]) => from <= at) ?? forms[0]))?.[1];
    if (!form) return null;
    const found = await this.#whole(form);
    if (found.item.type === 'state_snapshot') return this.#snapshot(found, at ?? this.about.last);
    if (at === null || pieces === undefined || found.isCut) return found;
    const known = await this.values.read<[number, number][]>(pieces);
    const bytes = known.findLast(([seq]) => seq <= at)?.[1];
    return (bytes ?? 0) < (known.at(-1)?.[1] ?? 0) ? cutTo(found, bytes) : found;
  }

  async #whole({ item, ...form }: Form[1]): Promise<ViewItem> {
    const { rows, blocks } = this.about;
    const { provenance, requestId = rows.request, id, ofBlock, ...more } = item;
    const whole = { id: id ?? `item_${item.type}_${requestId}_${item.seq}`, requestId, ...more };
    if (!Array.isArray(provenance)) return { ...form, item: { ...whole, provenance } as Item };
    const [row, blockName, phase] = provenance;
    const attempt = Number(rows.table.get('attempt', row));
    const from = { blockName, path: rows.paths[row] ?? '', blockInstanceId: rows.instance(row), attempt, phase };
    if (ofBlock === undefined) return { ...form, item: { ...whole, provenance: from } as Item };
    const [startedAt = 0, completedAt = 0] = [rows.startedAt[row], rows.endedAt[row]];
    const read = await blocks.read(rows.block[row] ?? -1);
    const made = {
      blockName: rows.text('name', row),
      blockKind: rows.text('kind', row),
      startedAt,
      completedAt,
      duration: completedAt - startedAt,
      ...(ofBlock && { input: read?.input }),
      ...(read && 'output' in read && { output: read.output }),
    };
    return { ...form, item: { ...whole, provenance: from, ...made } as unknown as Item };
  }

  /** A snapshot shows the state at the instant, without the step that wrote it unless no step has. */
  async #snapshot(shown: ViewItem, at: number): Promise<ViewItem> {
    const { rows } = this.about;
    const view = await this.about.stateAt(at);
    const { stepName: _, stepIndex: __, ...item } = shown.item as Item & { stepName?: unknown; stepIndex?: unknown };
    const id = item.provenance.blockInstanceId;
    const version = view.versions[id] ?? 0;
    const hasEnded =
      (item as { terminal?: boolean }).terminal === true && (rows.seqEnd[rows.ofInstance(id) ?? -1] ?? Infinity) <= at;
    const unwritten = version === 0 ? { stepName: '__initial__', stepIndex: -1 } : {};
    const state = view.sequencers?.[id] ?? {};
    return { ...shown, item: { ...item, ...unwritten, state, version, terminal: hasEnded } as Item };
  }
}

/** Clients see only exposed values of a scope, so the written values of a `state_change` are removed. */
function asSeen(shown: ViewItem, audience: Audience): ViewItem {
  if (!['client', 'history'].includes(audience) || shown.item.type !== 'state_change') return shown;
  const { delta: _, value: __, ...item } = shown.item as Item & { delta?: unknown; value?: unknown };
  return { ...shown, item: item as Item };
}

const withoutHistory = (shown: ViewItem): ViewItem => ({
  ...shown,
  item: { ...shown.item, visibility: { ...shown.item.visibility, history: false } },
});

/** Cuts the last text part of an item that was still growing to its length at the instant. */
function cutTo(shown: ViewItem, bytes: number | undefined): ViewItem {
  const field = 'content' in shown.item ? 'content' : 'summary';
  const parts = (shown.item as Record<string, unknown>)[field];
  if (!Array.isArray(parts)) return shown;
  const last = parts.at(-1) as { text?: unknown } | undefined;
  if (typeof last?.text !== 'string') return shown;
  const cut = new TextDecoder().decode(new TextEncoder().encode(last.text).slice(0, bytes ?? 0), { stream: true });
  const grown = [...(parts as unknown[]).slice(0, -1), { ...last, text: cut }];
  return { ...shown, textBytes: bytes, item: { ...shown.item, [field]: grown } as Item };
}
