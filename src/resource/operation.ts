import type { Grant } from "../auth/authorize.ts";
import type { Access } from "../auth/scope.ts";
import type { Connection } from "../db/driver.ts";
import type { Debit } from "../guard/budget/debit.ts";
import type { Reply } from "../protocol/reply.ts";
import type { OperationCall } from "./operation_call.ts";
import type { BodyPath } from "./write/body_path.ts";
import type { Query } from "./http/query_parameters.ts";
import type { Resource } from "./define/resource.ts";

/** A request to a resource, taken apart but not yet understood. */
export interface ResourceRequest {
  /** The raw last path segment of routes with an id, else the empty text. */
  readonly segment: string;
  readonly query: Query;
  /** The parsed JSON body of operations that take one. */
  readonly body: unknown;
  /** A request header. Asked for one by one: making a Headers object costs more than a read. */
  header(name: string): string | null;
  /** The client's address; null where nobody tells it. */
  address(): string | null;
  /** The first item is paid for by now, all others are once they are counted. */
  readonly debit: Debit;
  /** As it came, for hooks. */
  readonly raw: Request;
  readonly delivery: AnswerDelivery;
  /** Stores the reply in the transaction of the write; null for most requests. */
  readonly record: RecordReply | null;
}

/** What is known of an answer on its way. */
export interface AnswerDelivery {
  /** Settles when the answer was sent, or can be sent no more; null where nobody tells. */
  delivered(): Promise<unknown> | null;
}

/** Stores a reply in a transaction. What it throws must keep that from being committed. */
export type RecordReply = (reply: Reply, connection: Connection) => Promise<void>;

/** What an operation is called in descriptions. */
export type OperationName =
  | "list"
  | "export"
  | "get"
  | "count"
  | "aggregate"
  | "create"
  | "update"
  | "replace"
  | "delete"
  | "restore"
  | "batch-create"
  | "batch-update"
  | "batch-replace"
  | "batch-delete"
  | "upsert"
  | "procedure"
  | "subscribe"
  | "subscribe-aggregate";

/** The rights beside the one of the operation's own access. */
export interface RelatedGrants {
  /** The right to {@link Operation.alsoAccess}; null where the operation has none. */
  readonly also: Grant | null;
  /** The rights to read other resources; absent where the caller has none. */
  readonly related: ReadonlyMap<Resource, Grant>;
  /** The rights to create rows of other resources, of each that {@link Operation.creates} names. */
  readonly created: ReadonlyMap<Resource, Grant>;
}

/**
 * One thing that can be done with a resource, as the stages of its straight line. `parse`, `plan`
 * and `shape` are pure; only `execute` waits.
 */
export interface Operation<Intent, Plan, Outcome> {
  readonly name: OperationName;
  readonly access: Access;
  /** A second right that it takes as well: an upsert changes rows, too. */
  readonly alsoAccess?: Access;
  readonly takesBody: boolean;
  /** Strings become types, once. Fails with 400, 413, 415 or 422. */
  parse(request: ResourceRequest, resource: Resource): Intent;
  /** How many rows the body holds, of operations that take several; each has its price. */
  items?(intent: Intent): number;
  /** The other resources whose rows it reads: those included, and those that a filter walks to. */
  reaches?(intent: Intent): ReadonlySet<Resource>;
  /** The other resources that it creates rows of, each with the first place that asks for one. */
  creates?(intent: Intent): ReadonlyMap<Resource, BodyPath>;
  /** What will be done, as data. Cannot be called without a right. */
  plan(intent: Intent, grant: Grant, resource: Resource, related: RelatedGrants): Plan;
  /** Fails with 404, 409, 412 or 503, or with what a hook throws. */
  execute(plan: Plan, call: OperationCall<Outcome>): Promise<Outcome>;
  /** Projects, masks and names the answer. */
  shape(outcome: Outcome, intent: Intent, resource: Resource): Reply;
}
