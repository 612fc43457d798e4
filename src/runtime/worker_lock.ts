import process from "node:process";
import { isDeno } from "./host.ts";
import type { Clock } from "./runtime.ts";

/** The lock by which other workers of this program detect this worker while they start. */
export interface WorkerLock {
  readonly isAlone: boolean;
  release(): void;
}

/**
 * Detects if several workers of one process run this program, as under `deno serve --parallel`.
 * Each worker holds a Web Lock with its own name, and then looks for locks of other workers. If two
 * workers start together, at least one sees the lock of the other.
 */
export async function claimWorker(clock: Clock): Promise<WorkerLock> {
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
  // The lock keeps the process alive. It is released when all workers have had time to start.
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

interface WebLocks {
  request(name: string, options: { mode: "shared" }, hold: () => Promise<void>): Promise<void>;
  query(): Promise<{ readonly held?: readonly { readonly name?: string }[] }>;
}

function webLocks(): WebLocks | null {
  // The types of Deno do not declare Web Locks yet.
  return (navigator as { readonly locks?: WebLocks }).locks ?? null;
}
