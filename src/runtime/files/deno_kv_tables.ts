/** The tables and indexes of Deno KV, each with a word that its CREATE statement contains. */
const parts: ReadonlyMap<string, string> = new Map([
  ["migration_state", "version"],
  ["data_version", "version"],
  ["kv", "v_encoding"],
  ["kv_expiration_ms_idx", "expiration_ms"],
  ["queue", "keys_if_undelivered"],
  ["queue_running", "keys_if_undelivered"],
]);

export interface SchemaObject {
  readonly name: string;
  readonly sql: string;
}

export function denoKvObjectNames(schema: readonly SchemaObject[]): ReadonlySet<string> {
  const found = schema.filter(({ name, sql }) => {
    const column = parts.get(name);
    return column !== undefined && sql.includes(column);
  });
  const names = new Set(found.map(({ name }) => name));
  // Other programs can have tables with the other names, but only Deno KV creates this table.
  return names.has("migration_state") ? names : new Set();
}
