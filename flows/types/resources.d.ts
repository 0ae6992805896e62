/**
 * Resources: named, typed containers that belong to a scope but are kept apart from its state, with content of their own.
 * What a block gets of them is in `resource-handles.d.ts`.
 */

import type { BlockContext } from "./context.js";
import type { CollectionReactions, ResourceReactions } from "./reactions.js";
import type { LooseState, MaybePromise, Schema } from "./schema.js";

/** `org` and `project` name the same scope. */
export type ResourceScope = "session" | "user" | "project" | "org";

/** Which part of the state a client sees: one of the three, or all of it without any. */
type Shown<S> =
  | { expose?: readonly (keyof S & string)[]; exclude?: undefined; data?: undefined }
  | { exclude: readonly (keyof S & string)[]; expose?: undefined; data?: undefined }
  | { data: (state: S) => unknown; expose?: undefined; exclude?: undefined };

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
  /** A text with `{{field}}` placeholders that the state fills. */
  contentTemplate?: string;
  /** Refused: a flow has no file system. Import the text, and give it as `contentTemplate`. */
  contentTemplateRef?: string;
  llmReadable?: boolean;
  llmWritable?: boolean;
  /** False makes every write fail. */
  writable?: boolean;
  allowedExtensions?: readonly string[];
  metadata?: Record<string, unknown>;
  /** When it is loaded. A lazy one has to be declared on a block. */
  prefetchMode?: "eager" | "lazy";
  client?: ResourceClientConfig<NoInfer<S>>;
}

export interface ResourceConfig<S, P extends ResourceScope = ResourceScope> extends CommonResourceConfig<S, P> {
  /** Where it lies. Without it, the name it is declared under. Two flows that agree on it share the resource. */
  ref?: string;
  /** Fields to start with, over the schema's defaults. */
  default?: Partial<NoInfer<S>>;
  /** A text it starts with. */
  content?: string;
  /** Refused, like `contentTemplateRef`; the text goes into `content`. */
  contentFile?: string;
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
  prefetchWindow?: number;
  onInstanceCreated?: (key: string, state: NoInfer<S>, ctx: BlockContext) => MaybePromise<void>;
  onInstanceUpdated?: (key: string, state: NoInfer<S>, previous: NoInfer<S>, ctx: BlockContext) => MaybePromise<void>;
  onInstanceDeleted?: (key: string, ctx: BlockContext) => MaybePromise<void>;
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

/** Resources by the name they have in `ctx.resources`. */
export type ResourceDefinitions = Record<string, DefinedResource | DefinedResourceCollection>;

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

/** Defines containers that a flow makes as it goes, found by key. */
export declare function defineResourceCollection<
  S extends object = LooseState,
  const P extends ResourceScope = ResourceScope,
>(config: ResourceCollectionConfig<S, P>): DefinedResourceCollection<S, P>;

/** An older spelling of `defineResourceCollection`. */
export declare const defineResourceNamespace: typeof defineResourceCollection;
