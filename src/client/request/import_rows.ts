import type { CallOptions } from "./call.ts";
import type { ServiceError } from "./service_error.ts";

/** What an import takes beside its rows. */
export interface ImportOptions extends CallOptions {
  readonly upsert?: boolean | undefined;
  readonly size?: number | undefined;
  readonly onProgress?: ((count: number) => void) | undefined;
}

/** Where the rows of an import are sent, and where its key comes from. */
export interface ImportTarget {
  createBatch(rows: readonly unknown[], options: CallOptions): Promise<unknown>;
  upsertBatch(rows: readonly unknown[], options: CallOptions): Promise<unknown>;
  uuid(): string;
}

/**
 * Sends rows in parts, each of which is one batch with an Idempotency-Key of its own, and gives
 * their number. A part that is larger than the service takes is divided.
 */
export async function importRows(
  rows: Iterable<unknown> | AsyncIterable<unknown>,
  { createBatch, upsertBatch, uuid }: ImportTarget,
  { upsert, size = 100, onProgress, idempotencyKey = uuid(), ...options }: ImportOptions = {},
): Promise<number> {
  const send = upsert ? upsertBatch : createBatch;
  let waiting: unknown[] = [];
  let count = 0;

  async function sendPart(): Promise<void> {
    const part = waiting.slice(0, size);
    try {
      // The same rows have the same key again when an import is repeated.
      await send(part, { ...options, idempotencyKey: `${idempotencyKey}.${count}.${part.length}` });
    } catch (error) {
      const limit = smallerSize(error, part.length);
      if (limit === null) throw error;
      size = limit;
      return;
    }
    waiting = waiting.slice(part.length);
    count += part.length;
    onProgress?.(count);
  }

  for await (const row of rows) {
    waiting.push(row);
    while (waiting.length >= size) await sendPart();
  }
  while (waiting.length > 0) await sendPart();
  return count;
}

/** The size of parts that the service takes; null if the refusal has another reason. */
function smallerSize(error: unknown, size: number): number | null {
  // Whatever else was thrown has no slug. The class itself would be loaded a second time here.
  const { slug, problem } = error as Partial<ServiceError>;
  const limit = slug === "batch-limit-exceeded"
    ? Number(problem?.details?.limit)
    : slug === "payload-too-large"
    ? Math.floor(size / 2)
    : 0;
  return limit > 0 && limit < size ? limit : null;
}
