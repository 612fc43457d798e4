import { validatePage } from "./validate_commit.ts";
import type { DenoKv } from "./deno_kv.ts";
import type { KeyValue } from "./key_value.ts";
import { commitToDenoKv } from "./deno_kv_commit.ts";
import { RetryingKv, type RetryingKvOptions } from "./retrying_kv.ts";

/**
 * Makes a {@link KeyValue} of a Deno KV. It adds what Deno KV does not promise: timeouts, retries
 * where two processes collide at one file, records that are gone when they expire (Deno KV returns
 * them for up to a minute more), and the outcome of a commit whose acknowledgement was lost.
 * `release` is called when it is closed.
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
