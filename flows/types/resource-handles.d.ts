/**
 * A block's access to resources: `ctx.resources`, and by scope, as in `ctx.session.resources`.
 */

import type { ResourceEdgeApi } from "./edges.js";
import type { DefinedExternalResourceCollection, DefinedResource, DefinedResourceCollection } from "./resources.js";
import type { ExternalQuery, ResourceScope } from "./resources.js";
import type { LooseState, MaybePromise, Schema } from "./schema.js";
import type { StateHandle } from "./state.js";

/** A resource with state operations and text content. With `writable: false` every write fails. */
export interface ResourceHandle<S = any> extends StateHandle<S> {
  readonly state: S;
  readonly path: string;
  /** Same as `path`. */
  readonly name: string;
  readonly scope: ResourceScope;
  /** `<scope>/<path>`. */
  readonly uri: string;
  /** The key of an entry of a collection. */
  readonly key?: string;
  readonly extension?: string;
  /** The options of its definition. */
  readonly config: Readonly<Record<string, any>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Unlike `atomicState`, the function returns the whole next state, and may be asynchronous. */
  updateState(updater: (state: S) => MaybePromise<S>): Promise<boolean>;
  /** The rendered content, or null when the resource has none. */
  readContent(): Promise<string | null>;
  readContentRaw(): Promise<string | null>;
  writeContent(text: string): Promise<boolean>;
  /** Only of a resource that declares `edges`. */
  readonly edges: ResourceEdgeApi;
}

/** A page of a collection. `nextCursor` is undefined on the last page. */
export interface CollectionPage<S = any> {
  items: ResourceHandle<S>[];
  nextCursor?: string;
}

/** `"notes/today"`, or the named parts of a pattern: `{ topic: "notes" }` for `[topic]/*`. */
export type CollectionKey = string | Record<string, string>;

export interface ResourceCollectionHandle<S = any> {
  readonly pattern: string;
  readonly scope: ResourceScope;
  readonly config: Readonly<Record<string, any>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Fails if there is no such entry; `getOptional` returns undefined instead. */
  get(key: CollectionKey): Promise<ResourceHandle<S>>;
  getOptional(key: CollectionKey): Promise<ResourceHandle<S> | undefined>;
  /** Fails if the key exists, unless `replace` is true. */
  create(key: CollectionKey, initial?: Partial<S>, options?: { replace?: boolean }): Promise<ResourceHandle<S>>;
  getOrCreate(key: CollectionKey, initial?: Partial<S>): Promise<ResourceHandle<S>>;
  /** Patches an entry, or creates it from `update` and the fields that only a new entry needs. */
  upsert(key: CollectionKey, update: Partial<S>, createOnly?: Partial<S>): Promise<ResourceHandle<S>>;
  list(prefix?: string): Promise<ResourceHandle<S>[] & CollectionPage<S>>;
  list(page: { prefix?: string; limit?: number; cursor?: string }): Promise<CollectionPage<S>>;
  /** All instances, one after another. */
  scan(options?: { prefix?: string; pageSize?: number; signal?: AbortSignal }): AsyncIterable<ResourceHandle<S>>;
  /** Does nothing if there is no such entry. */
  delete(key: CollectionKey): Promise<void>;
  count(): Promise<number>;
}

/** An entry of a collection that the app stores itself. */
export type ExternalResourceHandle<S = any> = Pick<
  ResourceHandle<S>,
  "path" | "scope" | "uri" | "config" | "metadata" | "state" | "readContent" | "readContentRaw"
>;

export interface ExternalCollectionHandle<S = any> {
  readonly pattern: string;
  readonly scope: ResourceScope;
  readonly config: Readonly<Record<string, any>>;
  get(key: string): Promise<ExternalResourceHandle<S>>;
  getOptional(key: string): Promise<ExternalResourceHandle<S> | undefined>;
  /** A string is a search text. */
  list(query?: string | ExternalQuery): Promise<{ items: ExternalResourceHandle<S>[]; nextCursor?: string }>;
}

/** A resource that the block has not declared: only its declaration says whether it is a single one or a collection. */
export type UndeclaredResource<S = any> = ResourceHandle<S> & ResourceCollectionHandle<S>;

/** The state of a definition, or of a plain configuration in one of the older places. */
type DefinedState<D> = D extends DefinedResource<infer S, any> | DefinedResourceCollection<infer S, any>
  ? S
  : D extends { stateSchema: Schema<infer S, any> }
    ? S
    : LooseState;

type HandleOf<D> =
  D extends DefinedExternalResourceCollection<infer S, any>
    ? ExternalCollectionHandle<S>
    : D extends { pattern: string }
      ? ResourceCollectionHandle<DefinedState<D>>
      : ResourceHandle<DefinedState<D>>;

/** The resources of `R` that belong to one scope. */
export type InScope<R, P extends ResourceScope> = {
  [K in keyof R as R[K] extends { scope: P } ? K : never]: R[K];
};

/** Plain configurations under a scope, with that scope. */
export type PlacedIn<R, P extends ResourceScope> = { [K in keyof R]: R[K] & { scope: P } };

interface AnyResources {
  /** Fails with `Resource "<name>" is not registered` for an undeclared name. */
  get<S = any>(name: string): UndeclaredResource<S>;
  /** The names that can be reached from here. */
  list(): string[];
}

/** A block without declared resources may use those of its flow, whose types TypeScript does not know. */
export interface LooseResources extends AnyResources {
  readonly [name: string]: any;
}

/** Declared resources are typed, as properties and with `get`. Other names can be read with `get`. */
export type ResourceMap<R = {}> = [keyof R] extends [never]
  ? LooseResources
  : { readonly [K in keyof R]: HandleOf<R[K]> } & { get<K extends keyof R>(name: K): HandleOf<R[K]> } & AnyResources;
