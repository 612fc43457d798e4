import { validatePage } from "./validate_commit.ts";
import type { DenoKv } from "./deno_kv.ts";
import type { KeyValue } from "./key_value.ts";
import { commitToDenoKv } from "./deno_kv_commit.ts";
import { RetryingKv, type RetryingKvOptions } from "./retrying_kv.ts";

/**
 * Creates a {@link KeyValue} from a Deno KV, and adds guarantees that Deno KV lacks: operations
 * have timeouts, and are retried after two processes have collided at one file. Records disappear
 * at their expiry, not up to a minute later. If the acknowledgement of a commit is lost, its
 * outcome is determined. `release` is called when the store is closed.
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
