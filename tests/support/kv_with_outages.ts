import type { DenoKv, DenoKvAtomic } from "../../src/kv/deno_kv.ts";
import { runAfterPendingIo } from "../../src/runtime/runtime.ts";

/** How the outage begins for what was just sent. */
export type KvOutage =
  /** It does not arrive. */
  | "unreachable"
  /** It is done, and the answer is lost. */
  | "answers lost";

/** A Deno KV across a network, as a process sees it. */
export interface KvWithOutages {
  readonly kv: DenoKv;
  /** Reads and commits that were sent so far. */
  readonly sent: { reads: number; commits: number };
  /** Whether it was closed. */
  isClosed(): boolean;
  /** From now on nothing is answered. */
  goDown(outage: KvOutage): void;
  /** From now on what is sent is answered. What was sent before is still to be sent again. */
  answer(): void;
  /** That is carried out now, too, also for callers who have gone. */
  comeBack(): Promise<void>;
}

/**
 * A Deno KV with outages, in which it does what Deno's client of KV Connect was seen to do: it sends
 * an operation again and again, and carries it out after the outage, whatever became of its caller,
 * and also where the store has been closed since. `kv` stays open, as that of other processes.
 */
export function kvWithOutages(kv: DenoKv): KvWithOutages {
  const sent = { reads: 0, commits: 0 };
  let outage: { readonly kind: KvOutage; readonly over: PromiseWithResolvers<void> } | null = null;
  const past: PromiseWithResolvers<void>[] = [];
  let isClosed = false;

  const open = new Set<Promise<unknown>>();

  function run<T>(work: () => Promise<T>): Promise<T> {
    const running = carryOut(work);
    open.add(running);
    const done = () => open.delete(running);
    running.then(done, done);
    return running;
  }

  async function carryOut<T>(work: () => Promise<T>): Promise<T> {
    const met = outage;
    if (met === null) return await work();
    if (met.kind === "answers lost") await work();
    await met.over.promise;
    return await work();
  }

  function atomic(): DenoKvAtomic {
    const steps: ((operation: DenoKvAtomic) => void)[] = [];
    const step = (work: (operation: DenoKvAtomic) => void): DenoKvAtomic => {
      steps.push(work);
      return building;
    };
    const building: DenoKvAtomic = {
      check: (...checks) => step((operation) => operation.check(...checks)),
      set: (key, value, options) => step((operation) => operation.set(key, value, options)),
      delete: (key) => step((operation) => operation.delete(key)),
      commit() {
        sent.commits++;
        return run(() => {
          const operation = kv.atomic();
          for (const work of steps) work(operation);
          return operation.commit();
        });
      },
    };
    return building;
  }

  function read<T>(work: () => Promise<T>): Promise<T> {
    sent.reads++;
    return run(work);
  }

  return {
    sent,
    isClosed: () => isClosed,
    goDown(kind) {
      outage = { kind, over: Promise.withResolvers() };
      past.push(outage.over);
    },
    answer() {
      outage = null;
    },
    async comeBack() {
      outage = null;
      for (const { resolve } of past.splice(0)) resolve();
      // What is carried out now may bring about more.
      for (let turn = 0; turn < 5; turn++) {
        await Promise.allSettled(open);
        await new Promise<void>(runAfterPendingIo);
      }
    },
    kv: {
      get: (key) => read(() => kv.get(key)),
      getMany: (keys) => read(() => kv.getMany(keys)),
      async *list(selector, options) {
        await read(() => Promise.resolve());
        yield* kv.list(selector, options);
      },
      atomic,
      close() {
        isClosed = true;
      },
    },
  };
}
