/**
 * Resources: named, typed containers that belong to a scope but are kept apart from its state, with content of their own.
 * What a block gets of them is in `resource-handles.d.ts`.
 */

import type { BlockContext } from "./context.js";
import type { EdgeSlotConfig } from "./edges.js";
import type { CollectionReactions, ResourceReactions } from "./reactions.js";
import type { ResourceTemplate } from "./resource-templates.js";
import type { LooseState, MaybePromise, Schema } from "./schema.js";

/** `org` and `project` name the same scope. */
export type ResourceScope = "session" | "user" | "project" | "org";

/** Which part of the state a client sees: one of the three, or all of it without any. */
type Shown<S> =
  | { expose?: readonly (keyof S & string)[]; exclude?: undefined; data?: undefined }
  | { exclude: readonly (keyof S & string)[]; expose?: undefined; data?: undefined }
  | { data: (state: S) => unknown; expose?: undefined; exclude?: undefined };

/** A path with the module that it is meant from. */
export interface FilePath {
  path: string;
  importerUrl?: string;
}

/** `ctx` of a collection's callbacks: that of the block that writes, and where the entry lies. */
export interface CollectionHookContext extends BlockContext {
  log(message: string): void;
  readonly scopeType: ResourceScope;
  /** The session, user or project it belongs to. */
  readonly scopeId: string;
  /** The organization of the request, where it has one. */
  readonly orgId?: string;
}

/** What a client may see of a resource. Leave it out, and the resource is invisible to clients. */
export type ResourceClientConfig<S = any> = Shown<S> & {
  content?: { read?: boolean; prefetch?: boolean; create?: boolean; update?: boolean; delete?: boolean };
  state?: { read?: boolean };
  live?: boolean;
};

/** What single resources and collections have in common. */
interface CommonResourceConfig<S, P> {
  /** Who shares it: one session, one user, or one project. */
  scope: P;
  /** Keeps it apart from that of other flows. Has no meaning in a session, which belongs to one flow. */
  flowIsolation?: boolean;
  /** Its defaults are what a resource starts as. */
  stateSchema?: Schema<S, any>;
  /**
   * What the state fills: a text with `{{field}}`, Liquid with `{{ state.field }}`, the path of a Markdown file of the
   * project, or what `loadResourceTemplate` gives.
   */
  contentTemplate?: string | FilePath | ResourceTemplate;
  /** The resource whose text is the template, by the name it is declared under, or by its path. */
  contentTemplateRef?: string;
  /** A graph of typed edges in the field `edges` of its state, reached as `ref.edges`. */
  edges?: boolean | EdgeSlotConfig;
  llmReadable?: boolean;
  llmWritable?: boolean;
  /** False makes every write fail. */
  writable?: boolean;
  /** The endings that keys and texts may have, with or without the dot. */
  allowedExtensions?: readonly string[];
  metadata?: Record<string, unknown>;
  /** Accepted as written: every resource is read when it is first looked at. A lazy one has to be declared on a block. */
  prefetchMode?: "eager" | "lazy" | "partial";
  client?: ResourceClientConfig<NoInfer<S>>;
}

export interface ResourceConfig<S, P extends ResourceScope = ResourceScope> extends CommonResourceConfig<S, P> {
  /** Where it lies. Without it, the name it is declared under. Two flows that agree on it share the resource. */
  ref?: string;
  /** Fields to start with, over the schema's defaults. */
  default?: Partial<NoInfer<S>>;
  /** A text it starts with. */
  content?: string;
  /** A file of the project whose text it starts with. Its path stands here as a plain text. */
  contentFile?: string | FilePath;
  /** What `readContent` gives. Not with a template, which renders itself. */
  render?: (content: string, state: NoInfer<S>) => string;
  dynamic?: boolean;
  /** Blocks that run when it was written. */
  reactTo?: ResourceReactions<NoInfer<S>>;
}

export interface ResourceCollectionConfig<S, P extends ResourceScope = ResourceScope> extends CommonResourceConfig<
  S,
  P
> {
  /** `files/*` for one level, `files/**` for any depth, `[topic]/notes` for named parts. */
  pattern: string;
  /** How many entries there may be. Without `eviction`, creating one more fails. */
  maxInstances?: number;
  /** Which entry makes room: the one longest unused, or the oldest. */
  eviction?: "none" | "lru" | "oldest";
  /** An entry whose state names no `orgId` gets that of the request, and keeps it. */
  stampOrgId?: boolean;
  /** For hosts with browsers as clients: how many instances a snapshot carries. */
  prefetchWindow?: number;
  /** With `prefetchMode: "partial"`. */
  recentLimit?: number;
  /** Callbacks get the whole path of the instance, like `files/a.md`. */
  onInstanceCreated?: (key: string, state: NoInfer<S>, ctx: CollectionHookContext) => unknown;
  onInstanceUpdated?: (key: string, state: NoInfer<S>, previous: NoInfer<S>, ctx: CollectionHookContext) => unknown;
  onInstanceDeleted?: (key: string, ctx: CollectionHookContext) => unknown;
  /** Blocks that run when an entry was created, written or deleted. */
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

/** Whose instances of an external collection are asked for, as the request says it. */
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

/** A collection whose instances an app keeps itself. Nothing here writes it. */
export interface ExternalResourceCollectionConfig<S, P extends ResourceScope = ResourceScope> {
  /** `positions/*`, or `positions/**` for keys with slashes. */
  pattern: string;
  scope: P;
  stateSchema?: Schema<S, any>;
  /** One instance by its key; null where there is none. It is checked against the schema. */
  read: (asked: { key: string; ctx: ExternalResourceContext }) => MaybePromise<unknown>;
  /** A page of instances; one that breaks the schema is left out. */
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

/** Resources by the name they have in `ctx.resources`. */
export type ResourceDefinitions = Record<
  string,
  DefinedResource | DefinedResourceCollection | DefinedExternalResourceCollection
>;

/** Resources in the older places, whose name says the scope. They may be plain configurations. */
export type ScopedResourceDefinitions = Record<
  string,
  | DefinedResource
  | DefinedResourceCollection
  | Omit<ResourceConfig<any>, "scope">
  | Omit<ResourceCollectionConfig<any>, "scope">
>;

/**
 * Defines one container. List it in `resources` of the blocks that use it, or of the flow, under the name it has there.
 */
export declare function defineResource<S extends object = LooseState, const P extends ResourceScope = ResourceScope>(
  config: ResourceConfig<S, P>,
): DefinedResource<S, P>;
/** An older form without a scope, which the place says that lists it. It is told once. */
export declare function defineResource<S extends object = LooseState>(
  config: Omit<ResourceConfig<S>, "scope"> & { scope?: undefined },
): DefinedResource<S, any>;

/** Defines containers that a flow makes as it goes, found by key. */
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
  /** An entry of a generator's `context` that tells the model of a resource by its path. */
  (path: string, options?: object): () => { role: "system"; content: string };
};

export declare function isDefinedResourceCollection(value: unknown): value is DefinedResourceCollection;
/** An older spelling of `isDefinedResourceCollection`. */
export declare const isDefinedResourceNamespace: typeof isDefinedResourceCollection;

/** An older spelling of `defineResourceCollection`. */
export declare const defineResourceNamespace: typeof defineResourceCollection;
