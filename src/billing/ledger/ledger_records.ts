import type { KeyValueKey, KeyValueMutation } from "../../kv/key_value.ts";
import type { OperationRecord, ReservationRecord } from "./ledger_operations.ts";

/** Casts a stored value to the record of an operation with an idempotency key. */
export function asOperation(value: unknown): OperationRecord | undefined {
  // No other code writes these keys, so the value has this type.
  return value as OperationRecord | undefined;
}

/** Casts a stored value to the record of a reservation. */
export function asReservation(value: unknown): ReservationRecord | undefined {
  // No other code writes these keys, so the value has this type.
  return value as ReservationRecord | undefined;
}

/** Returns the write of a record. Returns none if the record is null, which means unchanged. */
export function setting(
  key: KeyValueKey,
  value: unknown,
  expireInMs?: number,
): readonly KeyValueMutation[] {
  return value === null ? [] : [{ kind: "set", key, value, expireInMs }];
}
