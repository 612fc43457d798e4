import type { Grant } from "../../auth/authorize.ts";
import type { Access } from "../../auth/scope.ts";
import type { User } from "../../auth/user.ts";
import type { Connection } from "../../db/driver.ts";
import type { Debit } from "../../guard/budget/debit.ts";
import type { MaybePromise } from "../../runtime/maybe_promise.ts";
import type { Reply } from "../../protocol/reply.ts";
import type { CodeCaller } from "./code_caller.ts";
import type { DataReply } from "../http/json_reply.ts";
import type { AnswerDelivery } from "../http/sending_answers.ts";
import type { Query } from "../http/query_parameters.ts";
import type { Resource } from "./resource.ts";

/**
 * The request of an operation on a resource, split into its parts, none of which is parsed yet but
 * the body.
 */
export interface ResourceRequest {
  /** The raw last path segment of routes with an id, else the empty string. */
  readonly segment: string;
  readonly query: Query;
  /** The parsed JSON body of operations that take one. */
  readonly body: unknown;
  /** True if its answer has the safe form of numbers, and its body had. */
  readonly safeNumbers: boolean;
  /** One header. There is no Headers object: making one costs more than reading a header. */
  header(name: string): string | null;
  /** The client's address; null if the listener does not report it. */
  address(): string | null;
  /** What is known of a call from code; null for a request. */
  readonly code: CodeCaller | null;
  /** The cost of the first item is debited already, that of the others once they are counted. */
  readonly debit: Debit;
  /** The request itself, for hooks; null if code calls outside of any request. */
  readonly raw: Request | null;
  /** Aborted when the caller does not wait any more. */
  signal(): AbortSignal;
  /** Null for a call from code, whose answer is not sent. */
  readonly delivery: AnswerDelivery | null;
  /** Stores the reply in the transaction of the write; null for most requests. */
  readonly record: ((reply: ShapedReply, connection: Connection) => Promise<void>) | null;
  /**
   * The body part by part, for an operation that takes none as a whole; undefined if there is no
   * request over HTTP.
   */
  readonly bodyParts?: (maxBytes: number) => BodyParts;
}

/** The body of a request that is read part by part. */
export interface BodyParts {
  /** Each is received when the next one is asked for. */
  readonly parts: AsyncIterable<Uint8Array>;
  /** What a body may have that is read as a whole. */
  readonly maxPartBytes: number;
}

/**
 * Stores the reply of an operation in its transaction, which must not be committed when this
 * throws.
 */
export type RecordReply = (reply: Reply, connection: Connection) => Promise<void>;

/** The name of an operation in descriptions. */
export type OperationName =
  | "list"
  | "export"
  | "get"
  | "count"
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

/** The grants of an operation's request beside the one for its own access. */
export interface RelatedGrants {
  /** For {@link Operation.alsoAccess}; null if the operation has none. */
  readonly also: Grant | null;
  /** For reading other resources; a resource that the user may not read is absent. */
  readonly related: ReadonlyMap<Resource, Grant>;
  /** For writing rows beside those of its own access: each that {@link Operation.relatedWrites} names. */
  readonly written: WriteGrants;
}

/** Grants to write rows of resources, by their access. */
export type WriteGrants = ReadonlyMap<Access, ReadonlyMap<Resource, Grant>>;

/** Rows that an operation writes beside those of its own access and resource. */
export interface RelatedWrite {
  readonly resource: Resource;
  readonly access: "create" | "update" | "delete";
  /** How many: each is debited as one of its own resource. */
  readonly count: number;
  /** Where the first of them stands. */
  readonly bodyPath: BodyPath;
}

/** The call of any operation: one request of a user to one resource. */
export interface ResourceCall {
  readonly resource: Resource;
  readonly request: ResourceRequest;
  /** Null if the request is anonymous. */
  readonly user: User | null;
}

/** The call of an operation whose reply may have to be stored with its outcome. */
export interface OperationCall<Outcome> extends ResourceCall {
  /** Stores the reply to an outcome in the transaction of the write; null for most requests. */
  readonly record: ((outcome: Outcome, connection: Connection) => Promise<void>) | null;
}

/** The call of an operation that writes, and the grant that it writes under. */
export interface WriteCall extends ResourceCall {
  readonly grant: Grant;
}

/** What an operation answers: data, or a reply without JSON. */
export type ShapedReply = DataReply | Reply;

/**
 * The interface of every operation of a resource, as stages. `parse`, `plan` and `shape` are pure;
 * only `execute` waits.
 */
export interface Operation<Intent, Plan, Outcome> {
  readonly name: OperationName;
  readonly access: Access;
  /** A second access that it needs: an upsert also updates rows. */
  readonly alsoAccess?: Access;
  readonly takesBody: boolean;
  /** The query parameters that no other operation takes; undefined for none. */
  ownParameters?(resource: Resource): ReadonlySet<string> | undefined;
  /** Throws a 403 where the caller may not read columns that the operation cannot do without. */
  requireFields?(resource: Resource): void;
  /** Parses the strings of the request, once. Fails with 400, 413, 415 or 422. */
  parse(request: ResourceRequest, resource: Resource): Intent;
  /** How many rows the body holds, of operations that take several: each is debited. */
  items?(intent: Intent): number;
  /** The other resources whose rows it reads: included ones, and those that a filter walks to. */
  readsFrom?(intent: Intent): ReadonlySet<Resource>;
  /** What it writes beside those items, under rights of their own. */
  relatedWrites?(intent: Intent): readonly RelatedWrite[];
  /** What will be done, as data. Cannot be called without a grant. */
  plan(intent: Intent, grant: Grant, resource: Resource, related: RelatedGrants): Plan;
  /** Fails with 404, 409, 412 or 503, or with the error that a hook throws. */
  execute(plan: Plan, call: OperationCall<Outcome>): MaybePromise<Outcome>;
  /** Projects and masks the outcome into a reply, whose JSON is written later, for requests. */
  shape(outcome: Outcome, intent: Intent, resource: Resource): ShapedReply;
}

/** The path of a position in a request body, for error messages. */
export interface BodyPath {
  /** Like `items.3.title`; empty for the body itself. */
  readonly path: string;
  /** What the details of a problem at this position hold. */
  readonly details: Readonly<Record<string, unknown>>;
}
