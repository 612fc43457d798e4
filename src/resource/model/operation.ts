import type { Access, Grant, User } from "../../auth/authorize.ts";
import type { Connection } from "../../db/driver.ts";
import type { Debit } from "../../guard/budget/debit.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { Reply } from "../../protocol/reply.ts";
import type { CodeCaller, OpenTransaction, Resource } from "./resource.ts";
import type { DataReply } from "../http/json_reply.ts";
import type { ResponseDelivery } from "../http/inflight_responses.ts";
import type { Query } from "../http/query_parameters.ts";
import type { HookContext } from "./hooks.ts";

/** The request of an operation, split into its parts. Only the values in the body are parsed. */
export interface ResourceRequest {
  /** The id in the path, still percent-encoded, or an empty string for routes without an id. */
  readonly segment: string;
  readonly query: Query;
  readonly body: unknown;
  /** True if bodies and responses contain only numbers that a double represents exactly. */
  readonly safeNumbers: boolean;
  /** Returns one header. This takes less time than creating a Headers object. */
  header(name: string): string | null;
  address(): string | null;
  readonly code: CodeCaller | null;
  /** Charges for each item of the body after the first, as soon as the number of items is known. */
  readonly debit: Debit;
  readonly raw: Request | null;
  signal(): AbortSignal;
  readonly delivery: ResponseDelivery | null;
  readonly record: ((reply: ShapedReply, connection: Connection) => Promise<void>) | null;
  readonly bodyParts?: (maxBytes: number) => BodyParts;
}

export interface BodyParts {
  readonly parts: AsyncIterable<Uint8Array>;
  /** The limit of one record, in bytes. It equals the limit for the body of other operations. */
  readonly maxPartBytes: number;
}

/** Stores a reply in the operation's transaction. A rejection must roll the transaction back. */
export type RecordReply = (reply: Reply, connection: Connection) => Promise<void>;

export type OperationName =
  | "list"
  | "export"
  | "get"
  | "count"
  | "query"
  | "aggregate"
  | "search"
  | "create"
  | "update"
  | "replace"
  | "delete"
  | "restore"
  | "history"
  | "revert"
  | "import"
  | "batch-create"
  | "batch-update"
  | "batch-replace"
  | "batch-delete"
  | "upsert"
  | "procedure"
  | "subscribe"
  | "subscribe-aggregate";

export interface AdditionalGrants {
  readonly also: Grant | null;
  readonly related: ReadonlyMap<Resource, Grant>;
  readonly written: ReadonlyMap<Access, ReadonlyMap<Resource, Grant>>;
}

export interface RelatedWrite {
  readonly resource: Resource;
  readonly access: "create" | "update" | "delete";
  /** The number of rows. The resource of the rows determines what each row costs. */
  readonly count: number;
  readonly bodyPath: BodyPath;
}

export interface ResourceCall {
  readonly resource: Resource;
  readonly request: ResourceRequest;
  readonly user: User | null;
  /** The name of the operation. The recorded version of each written row contains this name. */
  readonly operation?: OperationName;
}

export interface OperationCall<Outcome> extends ResourceCall {
  readonly record: ((outcome: Outcome, connection: Connection) => Promise<void>) | null;
}

export interface WriteCall extends ResourceCall {
  readonly grant: Grant;
}

export type ShapedReply = DataReply | Reply;

/** An operation's stages. `parse`, `plan` and `shape` are pure. Only `execute` is asynchronous. */
export interface Operation<Intent, Plan, Outcome> {
  readonly name: OperationName;
  readonly access: Access;
  /** A second kind of access that the operation needs, such as `update` for an upsert. */
  readonly alsoAccess?: Access;
  readonly takesBody: boolean;
  ownParameters?(resource: Resource): ReadonlySet<string> | undefined;
  requireFields?(resource: Resource): void;
  parse(request: ResourceRequest, resource: Resource): Intent;
  /** Returns the number of rows in the body. The request is charged for each row. */
  items?(intent: Intent): number;
  readsFrom?(intent: Intent): ReadonlySet<Resource>;
  relatedWrites?(intent: Intent): readonly RelatedWrite[];
  plan(intent: Intent, grant: Grant, resource: Resource, related: AdditionalGrants): Plan;
  execute(plan: Plan, call: OperationCall<Outcome>): MaybePromise<Outcome>;
  shape(outcome: Outcome, intent: Intent, resource: Resource): ShapedReply;
}

export interface BodyPath {
  /** The path, like `items.3.title`, or an empty string for the body itself. */
  readonly path: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export function apiForHandler(
  { resource, request, user }: ResourceCall,
  transaction: OpenTransaction | null = null,
): Pick<HookContext, "api" | "isSystem"> {
  const { code, raw } = request;
  const isSystem = code?.isSystem ?? false;
  const within = transaction ?? code?.within ?? null;
  return {
    api: resource.api({ user, isSystem, raw, depth: (code?.depth ?? 0) + 1, within }),
    isSystem,
  };
}
