/** The tables and indexes of a file of Deno KV, each with a column that its statement names. */
const parts: ReadonlyMap<string, string> = new Map([
  ["migration_state", "version"],
  ["data_version", "version"],
  ["kv", "v_encoding"],
  ["kv_expiration_ms_idx", "expiration_ms"],
  ["queue", "keys_if_undelivered"],
  ["queue_running", "keys_if_undelivered"],
]);

/** A table or an index of a SQLite file, with its SQL statement. */
export interface SchemaPart {
  readonly name: string;
  readonly sql: string;
}

/**
 * Returns the tables and indexes of Deno KV among those of a SQLite file; empty if Deno KV keeps no
 * records there.
 */
export function denoKvParts(schema: readonly SchemaPart[]): ReadonlySet<string> {
  const found = schema.filter(({ name, sql }) => {
    const column = parts.get(name);
    return column !== undefined && sql.includes(column);
  });
  const names = new Set(found.map(({ name }) => name));
  // Deno KV creates this table first. Another program may have a table of one of the other names.
  return names.has("migration_state") ? names : new Set();
}
