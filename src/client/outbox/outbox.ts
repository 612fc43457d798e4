import type { NewRow } from "../live/live_list_state.ts";
import type { Store } from "../live/store.ts";
import type { ServiceError } from "../request/service_error.ts";
import type { ApiResource } from "../../api/rows.ts";
import type { ReplaceBody } from "../../api/resource_client.ts";
import type { Offers } from "../../api/checked_text.ts";
import type { OnConflict } from "./resolve_conflict.ts";
import type { Job, JobRow, JobStorage } from "./job.ts";
import type { OutboxState } from "./job_view.ts";

/** The options of an outbox. */
export interface OutboxOptions<Api = unknown> {
  /**
   * The identity of the user. Each user has one outbox. With an empty string, each page has its own
   * outbox, which stores nothing, and discards its writes if the client's token changes.
   */
  readonly identity: string;
  /** Where the jobs are stored. Default: in IndexedDB, or in memory without IndexedDB. */
  readonly storage?: JobStorage | undefined;
  /** Resolves conflicts. Without this function, a write with a conflict is refused (dead). */
  readonly onConflict?: OnConflict<Api> | undefined;
  /** Returns computed fields of an unconfirmed row. `resource` is a path such as `/api/posts`. */
  readonly computed?: ((row: JobRow, resource: string) => JobRow | undefined) | undefined;
  /** Called in each tab when the service has refused a write. */
  readonly onDead?: ((job: Job, error: ServiceError) => void) | undefined;
  /** Maximum age of a write to send, in ms. Default: 23 hours (idempotency keys last for 24). */
  readonly maxAgeMs?: number | undefined;
}

/** A write that was added to an outbox. */
export interface Write<Row> {
  /** The id of the job, sent as the header `Service-Optimistic-Id`. */
  readonly id: string;
  /** Like `done`, but resolves when the service has executed the write, before lists show it. */
  readonly acknowledged: Promise<(Row & WithTag) | null>;
  /**
   * Resolves with the response's row when live lists show the write; null after a delete, or if the
   * tab that received the response was closed. Rejects if the write is refused or cannot be stored.
   */
  readonly done: Promise<(Row & WithTag) | null>;
}

/** A row from the service. `_etag` is present if the resource has ETags. */
export interface WithTag {
  /** The row's ETag. If `base` contains it, a later write does not overwrite other changes. */
  readonly _etag?: string;
}

/** The row to write to: its key, the write that creates it, or the `_new` of a row in a list. */
export type Target<R extends ApiResource> = R["key"] | Write<R["row"]> | NewRow;

/** The options of a write to a row. */
export interface OutboxWriteOptions<R extends ApiResource> {
  /** The row as the user saw it, with its `_etag`. Default: the row in a live list. */
  readonly base?: (Partial<R["row"]> & WithTag) | undefined;
}

/** Shows writes immediately, stores them, and sends them when the service is reachable. */
export interface Outbox extends Store<OutboxState> {
  /** Creates a row. */
  create<R extends ApiResource>(resource: Offers<R, "create">, body: R["create"]): Write<R["row"]>;
  /** Changes the fields in the patch. */
  update<R extends ApiResource>(
    resource: Offers<R, "update">,
    target: Target<R>,
    patch: R["update"],
    options?: OutboxWriteOptions<R>,
  ): Write<R["row"]>;
  /** Replaces the row. Fields that the body omits get their defaults. */
  replace<R extends ApiResource>(
    resource: Offers<R, "update">,
    target: Target<R>,
    body: ReplaceBody<R>,
    options?: OutboxWriteOptions<R>,
  ): Write<R["row"]>;
  /** Deletes the row. */
  delete<R extends ApiResource>(
    resource: Offers<R, "delete">,
    target: Target<R>,
    options?: OutboxWriteOptions<R>,
  ): Write<R["row"]>;
  /**
   * Sends a dead (refused) write again, optionally with a new body, based on the current row. If
   * the service may have executed it, idempotency key and base stay. Resolves when the job is
   * stored.
   */
  revive(id: string, body?: JobRow): Promise<void>;
  /** Discards a write. If it creates a row, later writes to that row are discarded, too. */
  discard(id: string): Promise<void>;
  /** Closes the outbox. Waiting writes stay stored, but live lists no longer show them. */
  close(): void;
}
