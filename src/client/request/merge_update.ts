import type { CallOptions, CallResult } from "./call.ts";
import type { KeyInput } from "./key_path.ts";
import type { ServiceError } from "./service_error.ts";

export interface UpdateOptions extends CallOptions {
  readonly base?: unknown;
  readonly onConflict?: ConflictCallback;
}

/** Merges a refused patch with the current row. Returns another patch, or null to stop. */
export type ConflictCallback = (
  conflict: { readonly base: unknown; readonly mine: unknown; readonly theirs: unknown },
) => unknown;

export interface MergeDependencies {
  readonly key: KeyInput;
  get(key: KeyInput, options: CallOptions): Promise<CallResult>;
  patch(key: KeyInput, options: CallOptions, patch: unknown): Promise<CallResult>;
  readonly onConflict: ConflictCallback;
}

/**
 * Patches a row. If the row has changed, `onConflict` merges the patch with the current row, at
 * most five times. Throws the ConflictError if `onConflict` returns null or the row has no ETag.
 */
export async function mergeUpdate(
  { key, get, patch, onConflict }: MergeDependencies,
  { base = null, mine }: { readonly base?: unknown; readonly mine: unknown },
  options: CallOptions,
): Promise<CallResult> {
  const { signal, timeoutMs, idempotencyKey } = options;
  for (let attempt = 1;; attempt++) {
    try {
      return await patch(key, options, mine);
    } catch (error) {
      // Only a `ConflictError` has this slug, so this code does not need to import the class.
      const { slug } = error as Partial<ServiceError>;
      if (slug !== "precondition-failed" || attempt > maxMerges) throw error;
      const { value: theirs, etag } = await get(key, { signal, timeoutMs });
      const next = await onConflict({ base, mine, theirs });
      // Without an ETag, the patch could overwrite a later change.
      if (next === null || etag === null) throw error;
      mine = next;
      base = theirs;
      // A request with another body needs another idempotency key.
      const nextKey = idempotencyKey && `${idempotencyKey}.${attempt}`;
      options = { ...options, ifMatch: etag, idempotencyKey: nextKey };
    }
  }
}

const maxMerges = 5;
