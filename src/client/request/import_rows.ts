import type { ImportOptionsOf } from "../../api/resource_client.ts";
import type { CallOptions } from "./call.ts";
import type { ServiceError } from "./service_error.ts";

export type ImportOptions = CallOptions & ImportOptionsOf;

export interface ImportDependencies {
  createBatch(rows: readonly unknown[], options: CallOptions): Promise<unknown>;
  upsertBatch(rows: readonly unknown[], options: CallOptions): Promise<unknown>;
  randomId(): string;
}

/** Sends rows in batches. A batch that exceeds a limit of the service is divided. */
export async function importRows(
  rows: Iterable<unknown> | AsyncIterable<unknown>,
  { createBatch, upsertBatch, randomId }: ImportDependencies,
  { upsert, size = 100, onProgress, idempotencyKey = randomId(), ...options }: ImportOptions = {},
): Promise<number> {
  const send = upsert ? upsertBatch : createBatch;
  let waiting: unknown[] = [];
  let count = 0;

  async function sendPart(): Promise<void> {
    const part = waiting.slice(0, size);
    try {
      // Equal parts get equal idempotency keys, so a repeated import inserts no row twice.
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

function smallerSize(error: unknown, size: number): number | null {
  // Only a `ServiceError` has a slug, so this code does not need to import the class.
  const { slug, problem } = error as Partial<ServiceError>;
  const limit = slug === "batch-limit-exceeded"
    ? Number(problem?.details?.limit)
    : slug === "payload-too-large"
    ? Math.floor(size / 2)
    : 0;
  return limit > 0 && limit < size ? limit : null;
}
