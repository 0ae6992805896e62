// What an agent can work with, told when it asks: `discoveryTools` over the sources that a `createManifestRegistry` has.

import { z } from 'zod';

import { handler } from '../define/blocks';
import { readableProjected, isReadable, isWritable, resourcesOf, type Ref } from './resource-lists';

export const MANIFEST_DOMAINS = ['seats', 'channels', 'skills', 'resources'] as const;
export type ManifestDomain = (typeof MANIFEST_DOMAINS)[number];

export const isManifestDomain = (value: unknown): value is ManifestDomain =>
  (MANIFEST_DOMAINS as readonly unknown[]).includes(value);

interface Entry {
  id: string;
  kind: string;
  purpose: string;
  contract?: string;
}

interface Source {
  domain: ManifestDomain;
  /** Where it comes from, for errors. */
  origin?: string;
  entries(ctx: unknown): readonly Entry[] | Promise<readonly Entry[]>;
}

interface Registry {
  domains(): ManifestDomain[];
  source(domain: ManifestDomain): Source | undefined;
}

/** The sources that are asked, one for each domain. */
export function createManifestRegistry(sources: readonly Source[]): Registry {
  const known = new Map<ManifestDomain, Source>();
  for (const source of sources) {
    const other = known.get(source.domain);
    if (other) {
      const [one, two] = [other, source].map(({ origin = 'a source without an origin' }) => origin);
      throw new Error(`createManifestRegistry: "${source.domain}" has two sources, ${one} and ${two}; leave out one`);
    }
    known.set(source.domain, source);
  }
  return {
    domains: () => MANIFEST_DOMAINS.filter((domain) => known.has(domain)),
    source: (domain) => known.get(domain),
  };
}

/** The resources that a model may read. */
export function resourcesManifestSource(): Source {
  return { domain: 'resources', origin: 'resourcesManifestSource', entries: resourceEntries };
}

async function resourceEntries(ctx: unknown): Promise<Entry[]> {
  const single = (await resourcesOf(ctx, isReadable)).map((ref) => ({
    id: ref.uri,
    kind: 'resource',
    purpose: purposeOf(ref),
    contract: `Reachable by uri "${ref.uri}"; you may ${mayWrite(ref) ? 'read and write' : 'read'} its content.`,
  }));
  // What an app keeps itself is not listed: there may be any number of it.
  const kept = readableProjected(ctx).map(({ scope, pattern }) => {
    const name = pattern.replace(/\/?\*+$/, '');
    return {
      id: `${scope}/${name}`,
      kind: 'collection',
      purpose: `Readable collection of resources under ${name}`,
      contract: 'Its instances are found by its own search, and not listed.',
    };
  });
  return [...single, ...kept];
}

function purposeOf({ path, config }: Ref): string {
  const { description } = (config.metadata ?? {}) as { description?: unknown };
  const said = typeof description === 'string' ? description.trim() : '';
  return said === '' ? `Readable resource at ${path}` : said;
}

const mayWrite = (ref: Ref): boolean => isWritable(ref) && ref.config.writable !== false;

const answer = z.object({
  domain: z.string(),
  entries: z.array(
    z.object({ id: z.string(), kind: z.string(), purpose: z.string(), contract: z.string().optional() }),
  ),
  problem: z.string().optional(),
});

const NAMES = MANIFEST_DOMAINS.join(', ');

/** `discover`: what there is in a domain, or in all of them. */
export function discoveryTools(registry: Registry) {
  const discover = handler({
    name: 'discover',
    description: 'List what you can work with now: seats, channels, skills and resources. Without a domain, all of it.',
    inputSchema: z.object({
      domain: z.string().nullable().default(null).describe(`One of: ${NAMES}. Null lists all.`),
      detail: z.enum(['thin', 'full']).default('thin').describe('"full" also says how each is worked with'),
    }),
    outputSchema: z.object({ domains: z.array(answer), problem: z.string().optional() }),
    execute: async ({ domain, detail }: { domain: string | null; detail: string }, ctx: unknown) => {
      if (domain !== null && !isManifestDomain(domain)) {
        return { domains: [], problem: `Unknown domain "${domain}". Known domains: ${NAMES}.` };
      }
      const domains = [];
      for (const wanted of domain === null ? registry.domains() : [domain]) {
        domains.push(await answerOf(registry, wanted, detail === 'full', ctx));
      }
      return { domains };
    },
  });
  return { discover };
}

/** What a source says. One that fails says so, and the others are told all the same. */
async function answerOf(registry: Registry, domain: ManifestDomain, isFull: boolean, ctx: unknown) {
  try {
    const entries = [...((await registry.source(domain)?.entries(ctx)) ?? [])];
    entries.sort((one, two) => (one.id < two.id ? -1 : 1));
    const told = entries.map(({ id, kind, purpose, contract }) => {
      return isFull && contract !== undefined ? { id, kind, purpose, contract } : { id, kind, purpose };
    });
    return { domain, entries: told };
  } catch (error) {
    return { domain, entries: [], problem: error instanceof Error ? error.message : String(error) };
  }
}
