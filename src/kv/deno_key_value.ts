import { validatePage } from "./validate_commit.ts";
import type { DenoKv } from "./deno_kv.ts";
import type { KeyValue } from "./key_value.ts";
import { commitToDenoKv } from "./deno_kv_commit.ts";
import { RetryingKv, type RetryingKvOptions } from "./retrying_kv.ts";

/**
 * A {@link KeyValue} in a Deno KV. What that does not promise is added here: an end to waiting,
 * another try where two processes met at one file, records that are gone when their time is over
 * (it shows them for up to a minute more), and the knowledge that a commit was done although its
 * acknowledgement was lost.
 */
export function createDenoKeyValue(kv: DenoKv, options: RetryingKvOptions): KeyValue {
  const patient = new RetryingKv(kv, options);
  return {
    async get(key) {
      return (await patient.readOne(key, patient.startDeadline())).entry;
    },
    async getMany(keys) {
      return (await patient.readAll(keys, patient.startDeadline())).map(({ entry }) => entry);
    },
    async list(page) {
      validatePage(page);
      return await patient.list(page, patient.startDeadline());
    },
    async commit(commit) {
      return await commitToDenoKv(patient, commit, options);
    },
    close() {
      patient.close();
      return Promise.resolve();
    },
  };
}
