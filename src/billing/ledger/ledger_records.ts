import type { KeyValueKey, KeyValueMutation } from "../../kv/key_value.ts";
import type { OperationRecord, ReservationRecord } from "./ledger_operations.ts";

/** Returns the stored record of an operation with a key. */
export function asOperation(value: unknown): OperationRecord | undefined {
  // No other code writes these keys.
  return value as OperationRecord | undefined;
}

/** Returns the stored record of a reservation. */
export function asReservation(value: unknown): ReservationRecord | undefined {
  // No other code writes these keys.
  return value as ReservationRecord | undefined;
}

/** Returns the write of a record. Returns none if the record is null, because it did not change. */
export function setting(
  key: KeyValueKey,
  value: unknown,
  expireInMs?: number,
): readonly KeyValueMutation[] {
  return value === null ? [] : [{ kind: "set", key, value, expireInMs }];
}
