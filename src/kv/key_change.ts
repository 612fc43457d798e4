import { encodeKey } from "./key_encoding.ts";
import type { KeyValueKey, KeyValueMutation } from "./key_value.ts";

export interface KeyChange<Result> {
  readonly result: Result;
  /** The new record. Null deletes the record; undefined keeps it. */
  readonly record?:
    | { readonly value: unknown; readonly expireInMs?: number | undefined }
    | null
    | undefined;
  /**
   * Related records to write in the same commit. A change that reads or writes related records must
   * also set the hot key's record, because the commit checks only this record for conflicts. No
   * other commit may overwrite the first related record: if the acknowledgement is lost, the store
   * reads this record to find out if the commit happened.
   */
  readonly relatedMutations?: readonly KeyValueMutation[] | undefined;
}

export type ComputeChange<Result> = (
  value: unknown,
  relatedValues: readonly unknown[],
) => KeyChange<Result>;

export interface PendingUpdate {
  readonly enqueuedAt: number;
  readonly reads: readonly KeyValueKey[];
  readonly run: (value: unknown, relatedValues: readonly unknown[]) =>
    & Pick<KeyChange<unknown>, "record">
    & { readonly relatedMutations: readonly KeyValueMutation[]; resolve(): void };
  readonly reject: (error: unknown) => void;
}

export interface KeyQueue {
  readonly key: KeyValueKey;
  readonly code: string;
  updates: PendingUpdate[];
  readySince: number;
}

export interface QueueDraft {
  readonly queue: KeyQueue;
  readonly versionstamp: string | null;
  readonly mutation: KeyValueMutation | null;
  readonly relatedMutations: readonly KeyValueMutation[];
  readonly resolvers: readonly (() => void)[];
}

export interface QueueState {
  readonly value: unknown;
  readonly versionstamp: string | null;
  readonly relatedValues: Map<string, unknown>;
}

export function draftChanges(
  queue: KeyQueue,
  updates: readonly PendingUpdate[],
  state: QueueState | undefined,
): QueueDraft {
  const { versionstamp = null, relatedValues: values = new Map<string, unknown>() } = state ?? {};
  const resolvers: (() => void)[] = [];
  const relatedMutations: KeyValueMutation[] = [];
  let current = state?.value;
  let mutation: KeyValueMutation | null = null;
  for (const update of updates) {
    try {
      const found = update.reads.map((key) => values.get(encodeKey(key)));
      const { record, relatedMutations: further, resolve } = update.run(current, found);
      resolvers.push(resolve);
      if (record === undefined) continue;
      current = record?.value;
      mutation = record === null
        ? { kind: "delete", key: queue.key }
        : { kind: "set", key: queue.key, ...record };
      for (const one of further) {
        values.set(encodeKey(one.key), one.kind === "set" ? one.value : undefined);
        relatedMutations.push(one);
      }
    } catch (error) {
      resolvers.push(() => update.reject(error));
    }
  }
  return { queue, versionstamp, mutation, relatedMutations, resolvers };
}
