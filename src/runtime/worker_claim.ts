import process from "node:process";
import { isDeno } from "./host.ts";
import type { Clock } from "./runtime.ts";

/** The claim of a worker, which other workers of its program can see while they start. */
export interface WorkerClaim {
  /** True if no other worker is present. */
  readonly isAlone: boolean;
  release(): void;
}

/**
 * Claims a worker's presence, and detects whether several workers of one process run this program,
 * as under `deno serve --parallel`. Each holds a lock (Web Locks) under its own name, and then
 * looks for locks of others: however close together two workers start, one sees the other. Apps
 * within one worker share a name, another program in the process has a different one, and a worker
 * that has ended holds no lock.
 */
export async function claimWorker(clock: Clock): Promise<WorkerClaim> {
  const locks = webLocks();
  if (locks === null) return { isAlone: true, release() {} };
  const program = `@svc/resource-api ${isDeno ? Deno.mainModule : process.argv[1]} `;
  const name = program + performance.timeOrigin;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  void locks.request(name, { mode: "shared" }, () => {
    held.resolve();
    return released;
  });
  await held.promise;
  // Released after a while: a held lock keeps the process alive, and workers start together.
  const cancel = clock.after(maxStartMs, release);
  const { held: all = [] } = await locks.query();
  return {
    isAlone: all.every((lock) => lock.name === name || lock.name?.startsWith(program) !== true),
    release() {
      cancel();
      release();
    },
  };
}

const maxStartMs = 10_000;

/** The part of the Web Locks API that is used here. */
interface WebLocks {
  request(name: string, options: { mode: "shared" }, hold: () => Promise<void>): Promise<void>;
  query(): Promise<{ readonly held?: readonly { readonly name?: string }[] }>;
}

/** Null if they are missing, as in older versions of Deno. */
function webLocks(): WebLocks | null {
  // The types of Deno do not include them yet.
  return (navigator as { readonly locks?: WebLocks }).locks ?? null;
}
