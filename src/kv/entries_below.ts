import type { KeyValue, KeyValueEntry, KeyValueKey } from "./key_value.ts";

export async function* entriesBelow(
  store: KeyValue,
  prefix: KeyValueKey,
): AsyncGenerator<KeyValueEntry> {
  let after: KeyValueKey | undefined;
  for (;;) {
    const page = await store.list({ prefix, after, limit: pageSize });
    yield* page;
    if (page.length < pageSize) return;
    after = page.at(-1)?.key;
  }
}

const pageSize = 500;
