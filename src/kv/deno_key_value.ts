import { validatePage } from "./validate_commit.ts";
import type { DenoKv } from "./deno_kv.ts";
import type { KeyValue } from "./key_value.ts";
import { commitToDenoKv } from "./deno_kv_commit.ts";
import { RetryingKv, type RetryingKvOptions } from "./retrying_kv.ts";

/**
 * Creates a {@link KeyValue} that uses a Deno KV. The result adds guarantees that Deno KV lacks.
 * Operations have timeouts, and are retried when two processes collide at one file. Records
 * disappear at their expiry, whereas Deno KV returns them for up to a minute longer. If the
 * acknowledgement of a commit was lost, the outcome is determined. `release` is called when the
 * store is closed.
 */
export function createDenoKeyValue(
  kv: DenoKv,
  options: RetryingKvOptions,
  release?: () => void,
): KeyValue {
  const retrying = new RetryingKv(kv, options);
  return {
    async get(key) {
      return (await retrying.readOne(key, retrying.startDeadline())).entry;
    },
    async getMany(keys) {
      return (await retrying.readAll(keys, retrying.startDeadline())).map(({ entry }) => entry);
    },
    async list(page) {
      validatePage(page);
      return await retrying.list(page, retrying.startDeadline());
    },
    async commit(commit) {
      return await commitToDenoKv(retrying, commit, options);
    },
    close() {
      retrying.close();
      release?.();
      return Promise.resolve();
    },
  };
}
