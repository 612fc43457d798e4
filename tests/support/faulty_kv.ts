import type { DenoKv, DenoKvAtomic } from "../../src/kv/deno_kv.ts";

/** What goes wrong with an operation of a store. */
export type KvFault =
  /** Another process holds the file; nothing is done. */
  | "locked"
  /** A commit is done, and then says that a check failed: it was sent twice. */
  | "lost acknowledgement"
  /** It is done, and then throws. */
  | "thrown after"
  /** Nothing is done, and the error does not say so. */
  | "thrown before"
  /** It never answers. */
  | "hanging"
  /** It is done, but the answer does not come. */
  | "silent";

/** A Deno KV of which `faultOf` says what goes wrong with the n-th operation, from 1 on. */
export function faultyKv(kv: DenoKv, faultOf: (n: number) => KvFault | null): DenoKv {
  let operations = 0;

  async function run<T>(work: () => Promise<T>): Promise<T> {
    const fault = faultOf(++operations);
    if (fault === "locked") throw new TypeError("database is locked");
    if (fault === "thrown before") throw new Error("the connection is gone");
    if (fault === "hanging") return await new Promise(() => {});
    const result = await work();
    if (fault === "thrown after") throw new Error("the connection is gone");
    if (fault === "silent") return await new Promise(() => {});
    return result;
  }

  function commitOf(operation: DenoKvAtomic): DenoKvAtomic {
    return {
      check: (...checks) => commitOf(operation.check(...checks)),
      set: (key, value, options) => commitOf(operation.set(key, value, options)),
      delete: (key) => commitOf(operation.delete(key)),
      commit: () => {
        const next = faultOf(operations + 1);
        return run(async () => {
          const result = await operation.commit();
          return next === "lost acknowledgement" ? { ok: false } : result;
        });
      },
    };
  }

  return {
    get: (key) => run(() => kv.get(key)),
    getMany: (keys) => run(() => kv.getMany(keys)),
    async *list(selector, options) {
      await run(() => Promise.resolve());
      yield* kv.list(selector, options);
    },
    atomic: () => commitOf(kv.atomic()),
    close: () => kv.close(),
  };
}
