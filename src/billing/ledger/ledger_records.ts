import type { KeyValueKey, KeyValueMutation } from "../../kv/key_value.ts";
import type { OperationRecord, ReservationRecord } from "./ledger_operations.ts";

export function asOperation(value: unknown): OperationRecord | undefined {
  // The cast is safe, because no other code writes these keys.
  return value as OperationRecord | undefined;
}

export function asReservation(value: unknown): ReservationRecord | undefined {
  // The cast is safe, because no other code writes these keys.
  return value as ReservationRecord | undefined;
}

/** Returns the mutations that store a record: one, or none if the key is null. */
export function recordMutations(
  key: KeyValueKey,
  value: unknown,
  expireInMs?: number,
): readonly KeyValueMutation[] {
  return value === null ? [] : [{ kind: "set", key, value, expireInMs }];
}
