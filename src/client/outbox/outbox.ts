import type { NewRow } from "../live/live_list_state.ts";
import type { Store } from "../live/store.ts";
import type { ServiceError } from "../request/service_error.ts";
import type { ApiResource } from "../../api/api.ts";
import type { ResourceClient } from "../../api/resource_client.ts";
import type { OnConflict } from "./conflict.ts";
import type { Job, JobRow, JobStorage } from "./job.ts";
import type { OutboxState } from "./job_book.ts";

/** The options of an outbox. */
export interface OutboxOptions {
  /**
   * The identity of the user. Each identity has its own outbox. With the empty string nothing is
   * stored, and every page has a separate outbox. A write is then discarded if the client's token
   * changes while the write waits.
   */
  readonly identity: string;
  /** Stores the jobs. Default: IndexedDB, or memory if IndexedDB is missing. */
  readonly storage?: JobStorage | undefined;
  /** Resolves conflicts. Without this function, a write in conflict becomes a dead letter. */
  readonly onConflict?: OnConflict | undefined;
  /** Called in each tab when the service has refused a write. */
  readonly onDead?: ((job: Job, error: ServiceError) => void) | undefined;
  /**
   * Maximum age of a write when it is sent, in milliseconds. Older writes expire. Default: 23
   * hours, because the service remembers idempotency keys for 24 hours.
   */
  readonly maxAgeMs?: number | undefined;
}

/** A write that was added to an outbox. */
export interface Write<Row> {
  /** The id of the job, which is also its `Service-Optimistic-Id` header. */
  readonly id: string;
  /**
   * Resolves once live lists show the effect of the write. The value is the row of the response.
   * The value is null after a delete, or if the tab that received the response was closed. Rejects
   * with a `ServiceError` if the write is refused, discarded, or cannot be stored.
   */
  readonly done: Promise<(Row & WithTag) | null>;
}

/** A row from the service with its tag, if the resource has tags. */
export interface WithTag {
  /** The tag of the row, which an option `base` may contain. */
  readonly _etag?: string;
}

/** A reference to a row: its key, the write that creates the row, or `_new` of a listed row. */
export type Target<R extends ApiResource> = R["key"] | Write<R["row"]> | NewRow;

/** The options of a write to a row. */
export interface OutboxWriteOptions<R extends ApiResource> {
  /** The row that the user saw, with its `_etag`. Default: the row that a live list shows. */
  readonly base?: (Partial<R["row"]> & WithTag) | undefined;
}

/** An outbox shows writes immediately, stores them, and sends them once the service responds. */
export interface Outbox extends Store<OutboxState> {
  /** Creates a row. */
  create<R extends ApiResource>(resource: ResourceClient<R>, body: R["create"]): Write<R["row"]>;
  /** Changes the fields that the patch contains. */
  update<R extends ApiResource>(
    resource: ResourceClient<R>,
    target: Target<R>,
    patch: R["update"],
    options?: OutboxWriteOptions<R>,
  ): Write<R["row"]>;
  /** Replaces the row. Fields that the body omits get their defaults. */
  replace<R extends ApiResource>(
    resource: ResourceClient<R>,
    target: Target<R>,
    body: R["create"],
    options?: OutboxWriteOptions<R>,
  ): Write<R["row"]>;
  /** Deletes the row. */
  delete<R extends ApiResource>(
    resource: ResourceClient<R>,
    target: Target<R>,
    options?: OutboxWriteOptions<R>,
  ): Write<R["row"]>;
  /**
   * Sends a dead letter again, optionally with a new body. A request that may have been carried out
   * is repeated unchanged. Any other request becomes a new request for the current row. Resolves
   * when the job is stored.
   */
  revive(id: string, body?: JobRow): Promise<void>;
  /** Discards a write. If the write creates a row, also discards the later writes to that row. */
  discard(id: string): Promise<void>;
  /** Closes the outbox. Waiting writes stay stored, but live lists no longer show them. */
  close(): void;
}
