/**
 * Resources: named, typed containers that belong to a scope but are kept apart from its state, with content of their own.
 */

import type { LooseState, MaybePromise, Schema } from "./schema.js";
import type { StateHandle } from "./state.js";

export type ResourceScope = "session" | "user" | "project" | "org";

/** The operations of every state, and a text. `writable: false` makes every write fail. */
export interface ResourceHandle<S = any> extends StateHandle<S> {
  readonly state: S;
  readonly path: string;
  readonly scope: ResourceScope;
  /** `<scope>/<path>`. */
  readonly uri: string;
  /** Of an instance of a collection. */
  readonly key?: string;
  readonly extension?: string;
  /** What it was defined with. */
  readonly config: Readonly<Record<string, any>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Unlike `atomicState`, the function returns the whole next state, and may be asynchronous. */
  updateState(updater: (state: S) => MaybePromise<S>): Promise<boolean>;
  /** The rendered content, or null when the resource has none. */
  readContent(): Promise<string | null>;
  readContentRaw(): Promise<string | null>;
  writeContent(text: string): Promise<boolean>;
}

export type CollectionKey = string | Record<string, string>;

export interface ResourceCollectionHandle<S = any> {
  readonly pattern: string;
  readonly scope: ResourceScope;
  readonly config: Readonly<Record<string, any>>;
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Fails when there is no such entry; `getOptional` answers undefined instead. */
  get(key: CollectionKey): Promise<ResourceHandle<S>>;
  getOptional(key: CollectionKey): Promise<ResourceHandle<S> | undefined>;
  create(key: CollectionKey, initial?: Partial<S>, options?: { replace?: boolean }): Promise<ResourceHandle<S>>;
  getOrCreate(key: CollectionKey, initial?: Partial<S>): Promise<ResourceHandle<S>>;
  /** Patches an entry, or creates it from `update` and the fields that only a new entry needs. */
  upsert(key: CollectionKey, update: Partial<S>, createOnly?: Partial<S>): Promise<ResourceHandle<S>>;
  list(prefix?: string): Promise<ResourceHandle<S>[]>;
  delete(key: CollectionKey): Promise<void>;
  count(): Promise<number>;
}

/** What a client may see of a resource. Leave it out, and the resource is invisible to clients. */
export interface ResourceClientConfig {
  expose?: string[];
  exclude?: string[];
  data?: (state: any) => unknown;
  content?: { read?: boolean; prefetch?: boolean; create?: boolean; update?: boolean; delete?: boolean };
  state?: { read?: boolean };
  live?: boolean;
}

export interface ResourceConfig<S> {
  ref?: string;
  /** Required here; the older form that declares resources under a scope of the flow takes it from there. */
  scope: ResourceScope;
  flowIsolation?: boolean;
  stateSchema?: Schema<S, any>;
  default?: Partial<NoInfer<S>>;
  content?: string;
  /** Refused: a flow has no file system. Import the text, and give it as `content`. */
  contentFile?: string;
  /** With `{{field}}` placeholders that the state fills. */
  contentTemplate?: string;
  /** Refused, like `contentFile`. */
  contentTemplateRef?: string;
  render?: (content: string, state: S) => string;
  llmReadable?: boolean;
  llmWritable?: boolean;
  dynamic?: boolean;
  /** False makes every write fail. */
  writable?: boolean;
  allowedExtensions?: string[];
  metadata?: Record<string, unknown>;
  prefetchMode?: "eager" | "lazy";
  client?: ResourceClientConfig;
}

export interface ResourceCollectionConfig<S> {
  /** `files/*` for one level, `files/**` for any depth, `[topic]/notes` for named parts. */
  pattern: string;
  scope: ResourceScope;
  flowIsolation?: boolean;
  stateSchema?: Schema<S, any>;
  maxInstances?: number;
  eviction?: "none" | "lru" | "oldest";
  prefetchMode?: "eager" | "lazy";
  prefetchWindow?: number;
  contentTemplate?: string;
  contentTemplateRef?: string;
  client?: ResourceClientConfig;
  onInstanceCreated?: (key: string, state: S, ctx: any) => MaybePromise<void>;
  onInstanceUpdated?: (key: string, state: S, previous: S, ctx: any) => MaybePromise<void>;
  onInstanceDeleted?: (key: string, ctx: any) => MaybePromise<void>;
}

export interface DefinedResource<S = any> extends ResourceConfig<S> {
  readonly kind: "resource";
}

export interface DefinedResourceCollection<S = any> extends ResourceCollectionConfig<S> {
  readonly kind: "resource-collection";
}

export type ResourceDefinitions = Record<string, DefinedResource<any> | DefinedResourceCollection<any>>;

/** Resources declared in the older place, under a scope of the flow. They may be plain configurations without a scope. */
export type ScopedResourceDefinitions = Record<
  string,
  DefinedResource<any> | DefinedResourceCollection<any> | Omit<ResourceConfig<any>, "scope">
>;

type HandleOf<D> =
  D extends DefinedResourceCollection<infer S> ? ResourceCollectionHandle<S>
  : D extends DefinedResource<infer S> ? ResourceHandle<S>
  : never;

/** `ctx.resources`: declared names are typed, and every other name is reachable through `get`. */
export type ResourceMap<R = {}> = { readonly [K in keyof R]: HandleOf<R[K]> } & {
  /** Fails with `Resource "<name>" is not registered` for a name nobody has declared. */
  get<K extends keyof R>(name: K): HandleOf<R[K]>;
  get<S = any>(name: string): ResourceHandle<S>;
  list(): string[];
};

export declare function defineResource<S extends object = LooseState>(config: ResourceConfig<S>): DefinedResource<S>;

export declare function defineResourceCollection<S extends object = LooseState>(
  config: ResourceCollectionConfig<S>,
): DefinedResourceCollection<S>;

/** An older spelling of `defineResourceCollection`. */
export declare const defineResourceNamespace: typeof defineResourceCollection;
