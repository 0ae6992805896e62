/**
 * Resources: named, typed containers that belong to a scope but are separate from its state, and can have a text. The
 * handles that blocks use are in `resource-handles.d.ts`.
 */

import type { BlockContext } from "./context.js";
import type { EdgeSlotConfig } from "./edges.js";
import type { CollectionReactions, ResourceReactions } from "./reactions.js";
import type { ResourceTemplate } from "./resource-templates.js";
import type { LooseState, MaybePromise, Schema } from "./schema.js";

/** `org` and `project` name the same scope. */
export type ResourceScope = "session" | "user" | "project" | "org";

/** The part of the state that a client sees: one of the three options; all of it without any option. */
type Shown<S> =
  | { expose?: readonly (keyof S & string)[]; exclude?: undefined; data?: undefined }
  | { exclude: readonly (keyof S & string)[]; expose?: undefined; data?: undefined }
  | { data: (state: S) => unknown; expose?: undefined; exclude?: undefined };

/** A path that is relative to a module. */
export interface FilePath {
  path: string;
  importerUrl?: string;
}

/** `ctx` of a collection's callbacks: that of the writing block, with the place of the entry. */
export interface CollectionHookContext extends BlockContext {
  log(message: string): void;
  readonly scopeType: ResourceScope;
  /** The session, user or project it belongs to. */
  readonly scopeId: string;
  /** The organization of the request, if it has one. */
  readonly orgId?: string;
}

/** What a client may see of a resource. Without it, the resource is invisible to clients. */
export type ResourceClientConfig<S = any> = Shown<S> & {
  content?: { read?: boolean; prefetch?: boolean; create?: boolean; update?: boolean; delete?: boolean };
  state?: { read?: boolean };
  live?: boolean;
};

/** The options of both single resources and collections. */
interface CommonResourceConfig<S, P> {
  /** Who shares it: one session, one user, or one project. */
  scope: P;
  /** Isolates it from other flows. Has no effect in a session, which belongs to one flow. */
  flowIsolation?: boolean;
  /** The schema of the state. Its defaults are the initial state. */
  stateSchema?: Schema<S, any>;
  /**
   * A template that is filled with the state: a text with `{{field}}`, Liquid with `{{ state.field }}`, the path of a
   * Markdown file of the project, or the result of `loadResourceTemplate`.
   */
  contentTemplate?: string | FilePath | ResourceTemplate;
  /** The resource whose text is the template, by its declared name or by its path. */
  contentTemplateRef?: string;
  /** A graph of typed edges in the field `edges` of its state, available as `ref.edges`. */
  edges?: boolean | EdgeSlotConfig;
  llmReadable?: boolean;
  llmWritable?: boolean;
  /** False makes every write fail. */
  writable?: boolean;
  /** The endings that keys and texts may have, with or without the dot. */
  allowedExtensions?: readonly string[];
  metadata?: Record<string, unknown>;
  /** Has no effect: every resource is read at its first use. A lazy resource must be declared on a block. */
  prefetchMode?: "eager" | "lazy" | "partial";
  client?: ResourceClientConfig<NoInfer<S>>;
}

export interface ResourceConfig<S, P extends ResourceScope = ResourceScope> extends CommonResourceConfig<S, P> {
  /** The path of the resource (default: its declared name). Flows with the same path share the resource. */
  ref?: string;
  /** Initial fields, which override the schema's defaults. */
  default?: Partial<NoInfer<S>>;
  /** The initial text. */
  content?: string;
  /** A file of the project with the initial text. The path must be a string literal. */
  contentFile?: string | FilePath;
  /** Computes the result of `readContent`. Not allowed with a template. */
  render?: (content: string, state: NoInfer<S>) => string;
  dynamic?: boolean;
  /** Blocks that run after it was written. */
  reactTo?: ResourceReactions<NoInfer<S>>;
}

export interface ResourceCollectionConfig<S, P extends ResourceScope = ResourceScope> extends CommonResourceConfig<
  S,
  P
> {
  /** `files/*` for one level, `files/**` for any depth, `[topic]/notes` for named parts. */
  pattern: string;
  /** The maximum number of entries. Without `eviction`, creating one more fails. */
  maxInstances?: number;
  /** Which entry is removed if there are too many: the least recently used, or the oldest. */
  eviction?: "none" | "lru" | "oldest";
  /** An entry whose state has no `orgId` gets that of the request, and keeps it. */
  stampOrgId?: boolean;
  /** For hosts with browsers as clients: how many instances a snapshot has. */
  prefetchWindow?: number;
  /** With `prefetchMode: "partial"`. */
  recentLimit?: number;
  /** Callbacks get the whole path of the instance, like `files/a.md`. */
  onInstanceCreated?: (key: string, state: NoInfer<S>, ctx: CollectionHookContext) => unknown;
  onInstanceUpdated?: (key: string, state: NoInfer<S>, previous: NoInfer<S>, ctx: CollectionHookContext) => unknown;
  onInstanceDeleted?: (key: string, ctx: CollectionHookContext) => unknown;
  /** Blocks that run after an entry was created, written or deleted. */
  reactTo?: CollectionReactions<NoInfer<S>>;
}

export interface DefinedResource<S = any, P extends ResourceScope = any> extends ResourceConfig<S, P> {
  readonly kind: "resource";
}

export interface DefinedResourceCollection<S = any, P extends ResourceScope = any> extends ResourceCollectionConfig<
  S,
  P
> {
  readonly kind: "resource-collection";
}

/** The owner of the requested instances of an external collection, from the request. */
export interface ExternalResourceContext {
  readonly scope: "session" | "user" | "org";
  readonly scopeId: string;
  readonly userId: string;
  readonly orgId?: string;
  readonly flowKind: string;
  readonly signal: AbortSignal;
}

export interface ExternalQuery {
  search?: string;
  prefix?: string;
  filter?: unknown;
  limit?: number;
  cursor?: string;
}

/** A collection whose instances an app stores itself. Flowglass never writes it. */
export interface ExternalResourceCollectionConfig<S, P extends ResourceScope = ResourceScope> {
  /** `positions/*`, or `positions/**` for keys with slashes. */
  pattern: string;
  scope: P;
  stateSchema?: Schema<S, any>;
  /** Returns an instance by its key; null if there is none. It is checked with the schema. */
  read: (asked: { key: string; ctx: ExternalResourceContext }) => MaybePromise<unknown>;
  /** Returns a page of instances. Invalid instances are left out. */
  search: (asked: { query: ExternalQuery; ctx: ExternalResourceContext }) => MaybePromise<{
    hits: readonly { key: string; state: unknown }[];
    nextCursor?: string;
  }>;
  contentTemplate?: string | FilePath | ResourceTemplate;
  llmReadable?: boolean;
  metadata?: Record<string, unknown>;
  client?: ResourceClientConfig<NoInfer<S>>;
}

export interface DefinedExternalResourceCollection<
  S = any,
  P extends ResourceScope = any,
> extends ExternalResourceCollectionConfig<S, P> {
  readonly kind: "resource-collection";
}

/** The newer name of {@link defineExternalResourceCollection}. */
export declare const defineProjectedResourceCollection: typeof defineExternalResourceCollection;
export declare function isProjectedResourceCollection(value: unknown): boolean;

export declare function defineExternalResourceCollection<
  S extends object = LooseState,
  const P extends ResourceScope = ResourceScope,
>(config: ExternalResourceCollectionConfig<S, P>): DefinedExternalResourceCollection<S, P>;

/** Resources by their names in `ctx.resources`. */
export type ResourceDefinitions = Record<
  string,
  DefinedResource | DefinedResourceCollection | DefinedExternalResourceCollection
>;

/** Resources under the older options, whose names imply the scope. They may be plain configurations. */
export type ScopedResourceDefinitions = Record<
  string,
  | DefinedResource
  | DefinedResourceCollection
  | Omit<ResourceConfig<any>, "scope">
  | Omit<ResourceCollectionConfig<any>, "scope">
>;

/**
 * Defines one container. List it in `resources` of the blocks that use it, or of the flow, under its name.
 */
export declare function defineResource<S extends object = LooseState, const P extends ResourceScope = ResourceScope>(
  config: ResourceConfig<S, P>,
): DefinedResource<S, P>;
/** An older form without a scope, which the place says that lists it. It is told once. */
export declare function defineResource<S extends object = LooseState>(
  config: Omit<ResourceConfig<S>, "scope"> & { scope?: undefined },
): DefinedResource<S, any>;

/** Defines containers that a flow creates at run time, by key. */
export declare function defineResourceCollection<
  S extends object = LooseState,
  const P extends ResourceScope = ResourceScope,
>(config: ResourceCollectionConfig<S, P>): DefinedResourceCollection<S, P>;
/** An older form without a scope, which the place says that lists it. It is told once. */
export declare function defineResourceCollection<S extends object = LooseState>(
  config: Omit<ResourceCollectionConfig<S>, "scope"> & { scope?: undefined },
): DefinedResourceCollection<S, any>;

/** An older spelling of `defineResource`. */
export declare const resource: typeof defineResource & {
  /** An entry of a generator's `context` that adds a resource, by its path, to the messages. */
  (path: string, options?: object): () => { role: "system"; content: string };
};

export declare function isDefinedResourceCollection(value: unknown): value is DefinedResourceCollection;
/** An older spelling of `isDefinedResourceCollection`. */
export declare const isDefinedResourceNamespace: typeof isDefinedResourceCollection;

/** An older spelling of `defineResourceCollection`. */
export declare const defineResourceNamespace: typeof defineResourceCollection;
