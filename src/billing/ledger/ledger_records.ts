import type { KeyValueKey, KeyValueMutation } from "../../kv/key_value.ts";
import type { OperationRecord, ReservationRecord } from "./ledger_operations.ts";

/** The record of an operation with a key, as the store has it. */
export function asOperation(value: unknown): OperationRecord | undefined {
  // No other code writes these keys.
  return value as OperationRecord | undefined;
}

/** The record of a reservation, as the store has it. */
export function asReservation(value: unknown): ReservationRecord | undefined {
  // No other code writes these keys.
  return value as ReservationRecord | undefined;
}

/** Writes a record; nothing where it is null, because it did not change. */
export function setting(
  key: KeyValueKey,
  value: unknown,
  expireInMs?: number,
): readonly KeyValueMutation[] {
  return value === null ? [] : [{ kind: "set", key, value, expireInMs }];
}
