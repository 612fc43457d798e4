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
   * Of the user: the next user of the browser has another outbox. With the empty string nothing is
   * stored, every page has its own, and a write that waits is a dead letter, `expired`, once the
   * client has another token than the one that it was added with.
   */
  readonly identity: string;
  /** Where the jobs are; IndexedDB unless set, and the memory where there is none. */
  readonly storage?: JobStorage | undefined;
  /** Resolves conflicts. Without it a write in conflict is a dead letter. */
  readonly onConflict?: OnConflict | undefined;
  /** Called in each tab when a write was refused. */
  readonly onDead?: ((job: Job, error: ServiceError) => void) | undefined;
  /**
   * How old a write may be when it is sent; 23 hours unless set, because the service remembers for
   * 24 hours which writes it has carried out.
   */
  readonly maxAgeMs?: number | undefined;
}

/** A write that was added to an outbox. */
export interface Write<Row> {
  /** Of its job, and its `Service-Optimistic-Id`. */
  readonly id: string;
  /**
   * Resolves to the row of the answer once live lists show what the write did: null after a delete,
   * and where another tab has received the answer and was closed. Rejects with a `ServiceError` when
   * the write is refused, discarded, or cannot be stored.
   */
  readonly done: Promise<(Row & WithTag) | null>;
}

/** A row from the service has its tag, where the resource has tags. */
export interface WithTag {
  /** For `base`. */
  readonly _etag?: string;
}

/** What names a row: its key, or the write that creates it, which is `_new` of the row in a list. */
export type Target<R extends ApiResource> = R["key"] | Write<R["row"]> | NewRow;

/** The options of a write to a row. */
export interface OutboxWriteOptions<R extends ApiResource> {
  /**
   * The row that the user saw, with its `_etag`, as live lists have it. Unless set it is the one
   * that a live list of the client shows.
   */
  readonly base?: (Partial<R["row"]> & WithTag) | undefined;
}

/** Writes that are shown at once, stored, and sent as soon as the service can be reached. */
export interface Outbox extends Store<OutboxState> {
  /** Creates a row. */
  create<R extends ApiResource>(resource: ResourceClient<R>, body: R["create"]): Write<R["row"]>;
  /** Changes the fields of the patch. */
  update<R extends ApiResource>(
    resource: ResourceClient<R>,
    target: Target<R>,
    patch: R["update"],
    options?: OutboxWriteOptions<R>,
  ): Write<R["row"]>;
  /** Replaces the row: fields that the body omits get their defaults. */
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
   * Sends a dead letter once more, with another body where one is given: as a new request over the
   * row as it is now, or as the same one where it may have been carried out. Resolves when that is
   * stored.
   */
  revive(id: string, body?: JobRow): Promise<void>;
  /** Takes a write back, and with the creation of a row the writes to it. */
  discard(id: string): Promise<void>;
  /** Ends the outbox. What waits stays stored, and is no longer shown. */
  close(): void;
}
