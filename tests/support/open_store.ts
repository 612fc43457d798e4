import { openPostgresKeyValue } from "../../src/engines/postgres/kv/open_postgres_key_value.ts";
import { createDenoKeyValue } from "../../src/kv/deno_key_value.ts";
import type { KeyValue } from "../../src/kv/key_value.ts";
import type { RetryingKvOptions } from "../../src/kv/retrying_kv.ts";

/** Opens a store that several processes share: in a file, or by the URL of a database. */
export async function openSharedStore(
  place: string,
  options: RetryingKvOptions,
): Promise<KeyValue> {
  return place.startsWith("postgres:")
    ? await openPostgresKeyValue(place)
    : createDenoKeyValue(await Deno.openKv(place), options);
}
