import { validatePage } from "./validate_commit.ts";
import type { DenoKv } from "./deno_kv.ts";
import type { KeyValue } from "./key_value.ts";
import { commitToDenoKv } from "./deno_kv_commit.ts";
import { RetryingKv, type RetryingKvOptions } from "./retrying_kv.ts";

/**
 * Creates a {@link KeyValue} over a Deno KV. It adds guarantees that Deno KV lacks: timeouts,
 * retries when two processes collide at one file, records that disappear at their expiry (Deno KV
 * returns them for up to a minute longer), and the outcome of a commit whose acknowledgement was
 * lost. `release` is called when it is closed.
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
