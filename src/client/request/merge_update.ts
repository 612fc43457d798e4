import type { CallOptions, CallResult } from "./call.ts";
import type { KeyInput } from "./key_path.ts";
import type { ServiceError } from "./service_error.ts";

/** What an update takes beside its patch. */
export interface UpdateOptions extends CallOptions {
  /** The row that the patch was made for. */
  readonly base?: unknown;
  readonly onConflict?: ConflictCallback;
}

/** Merges a refused patch with the row as it is now; null gives the change up. */
export type ConflictCallback = (
  conflict: { readonly base: unknown; readonly mine: unknown; readonly theirs: unknown },
) => unknown;

/** A row with the requests to it, and what merges changes of it. */
export interface MergedRow {
  readonly key: KeyInput;
  get(key: KeyInput, options: CallOptions): Promise<CallResult>;
  patch(key: KeyInput, options: CallOptions, patch: unknown): Promise<CallResult>;
  readonly onConflict: ConflictCallback;
}

/**
 * Changes a row. Where it has changed since `ifMatch` was read, the handler merges, and its patch is
 * sent with the tag of the row that it has seen, at most five times. Throws the ConflictError where
 * the handler gives null, or the row has no tag.
 */
export async function mergeUpdate(
  { key, get, patch, onConflict }: MergedRow,
  { base = null, mine }: { readonly base?: unknown; readonly mine: unknown },
  options: CallOptions,
): Promise<CallResult> {
  const { signal, timeoutMs, idempotencyKey } = options;
  for (let attempt = 1;; attempt++) {
    try {
      return await patch(key, options, mine);
    } catch (error) {
      // Whatever else was thrown has no such slug. The class itself would be loaded a second time.
      const { slug } = error as Partial<ServiceError>;
      if (slug !== "precondition-failed" || attempt > maxMerges) throw error;
      const { value: theirs, etag } = await get(key, { signal, timeoutMs });
      const next = await onConflict({ base, mine, theirs });
      // Without a tag the patch would be written whatever has changed since.
      if (next === null || etag === null) throw error;
      mine = next;
      base = theirs;
      // Another body is another request, and needs a key of its own.
      const nextKey = idempotencyKey && `${idempotencyKey}.${attempt}`;
      options = { ...options, ifMatch: etag, idempotencyKey: nextKey };
    }
  }
}

const maxMerges = 5;
