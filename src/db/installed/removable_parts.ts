export interface RemovablePart {
  readonly kind: "trigger" | "function" | "table";
  readonly name: string;
  readonly drop: string;
}

/** A new name for SQLite's `sqlite_sequence`, which cannot be dropped under its own name. */
export const temporarySequenceTable = "_service_sequence";

export const ownTables: readonly string[] = [
  ...["_service_changes", "_service_meta", "_service_replaced", "_service_epoch"],
  ...["_service_search", "_service_idempotency", "_service_migrations", "_service_kv"],
  ...["_service_history", "_service_actor"],
  temporarySequenceTable,
];

export function describePartCounts(parts: readonly RemovablePart[]): string {
  const byKind = Map.groupBy(parts, ({ kind }) => kind);
  return [...byKind].map(([kind, { length }]) => `${length} ${kind}${length === 1 ? "" : "s"}`)
    .join(", ");
}
