/** What a file of Deno KV has, each with a column that its statement names. */
const parts: ReadonlyMap<string, string> = new Map([
  ["migration_state", "version"],
  ["data_version", "version"],
  ["kv", "v_encoding"],
  ["kv_expiration_ms_idx", "expiration_ms"],
  ["queue", "keys_if_undelivered"],
  ["queue_running", "keys_if_undelivered"],
]);

/** A table or an index of a SQLite file, with the statement that has made it. */
export interface SchemaPart {
  readonly name: string;
  readonly sql: string;
}

/** The tables and indexes of Deno KV among those of a SQLite file; empty where it keeps no records. */
export function denoKvParts(schema: readonly SchemaPart[]): ReadonlySet<string> {
  const found = schema.filter(({ name, sql }) => {
    const column = parts.get(name);
    return column !== undefined && sql.includes(column);
  });
  const names = new Set(found.map(({ name }) => name));
  // The first that it makes; others may have a table of one of these names, too.
  return names.has("migration_state") ? names : new Set();
}
