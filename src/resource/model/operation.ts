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
  /** Returns the client's address, or null if the HTTP server does not report it. */
  address(): string | null;
  /** The caller if server-side code calls the operation, or null for a request. */
  readonly code: CodeCaller | null;
  /** Charges for each item after the first, as soon as the number of items is known. */
  readonly debit: Debit;
  /** The HTTP request, for hooks, or null if server-side code calls outside of any request. */
  readonly raw: Request | null;
  /** Returns a signal that aborts when the caller no longer waits. */
  signal(): AbortSignal;
  /** How the response is sent to the client; null for a call by server-side code. */
  readonly delivery: ResponseDelivery | null;
  /** Stores the reply in the write's transaction, for requests with an idempotency key. */
  readonly record: ((reply: ShapedReply, connection: Connection) => Promise<void>) | null;
  /** Returns the body in parts, if the operation reads it itself. Absent for calls by code. */
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
  /** The grant for {@link Operation.alsoAccess}, or null if the operation has no `alsoAccess`. */
  readonly also: Grant | null;
  /** The grants to read those resources of `readsFrom` that the user is allowed to read. */
  readonly related: ReadonlyMap<Resource, Grant>;
  /** The grants to write the rows that {@link Operation.relatedWrites} returns. */
  readonly written: ReadonlyMap<Access, ReadonlyMap<Resource, Grant>>;
}

/** Rows that an operation writes in another resource, or with another kind of access. */
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
}

/** A call whose reply can be stored in the transaction of the write. */
export interface OperationCall<Outcome> extends ResourceCall {
  readonly record: ((outcome: Outcome, connection: Connection) => Promise<void>) | null;
}

export interface WriteCall extends ResourceCall {
  readonly grant: Grant;
}

/** The result of an operation: data to serialize as JSON, or a complete reply. */
export type ShapedReply = DataReply | Reply;

/** An operation's stages. `parse`, `plan` and `shape` are pure. Only `execute` is asynchronous. */
export interface Operation<Intent, Plan, Outcome> {
  readonly name: OperationName;
  readonly access: Access;
  /** A second kind of access that the operation needs, such as `update` for an upsert. */
  readonly alsoAccess?: Access;
  readonly takesBody: boolean;
  /** Returns the query parameters that only this operation has, or undefined if there are none. */
  ownParameters?(resource: Resource): ReadonlySet<string> | undefined;
  /** Throws a 403 if the caller cannot read columns that the operation needs. */
  requireFields?(resource: Resource): void;
  /** Parses the request, once. Fails with 400, 413, 415 or 422. */
  parse(request: ResourceRequest, resource: Resource): Intent;
  /** Returns the number of rows in the body. The request is charged for each row. */
  items?(intent: Intent): number;
  readsFrom?(intent: Intent): ReadonlySet<Resource>;
  /** Returns the rows that the operation writes in addition to its items. */
  relatedWrites?(intent: Intent): readonly RelatedWrite[];
  plan(intent: Intent, grant: Grant, resource: Resource, related: AdditionalGrants): Plan;
  /** Executes the plan. Fails with 404, 409, 412 or 503, or with the error of a hook. */
  execute(plan: Plan, call: OperationCall<Outcome>): MaybePromise<Outcome>;
  /** Creates the reply with the selected readable fields. The pipeline serializes it later. */
  shape(outcome: Outcome, intent: Intent, resource: Resource): ShapedReply;
}

/** A position in a request body, for error messages. */
export interface BodyPath {
  /** The path, like `items.3.title`, or an empty string for the body itself. */
  readonly path: string;
  /** Members for the `details` of a problem at this position. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** Returns the API for a handler, which joins the operation's transaction if there is one. */
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
