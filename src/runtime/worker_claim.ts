import type { Clock } from "./runtime.ts";

/** That a worker is there, said to the others of its program for as long as they may be starting. */
export interface WorkerClaim {
  /** Whether no other worker says so. */
  readonly isAlone: boolean;
  release(): void;
}

/**
 * Finds out whether several workers of one process run this program, as under
 * `deno serve --parallel`. Each holds a lock (Web Locks) in its own name, and then looks for locks
 * of others: however close together two of them start, one sees the other. Apps within one worker
 * share a name, another program in the process has another, and what has ended holds no lock.
 */
export async function claimWorker(clock: Clock): Promise<WorkerClaim> {
  const locks = webLocks();
  if (locks === null) return { isAlone: true, release() {} };
  const program = `@svc/resource-api ${Deno.mainModule} `;
  const name = program + performance.timeOrigin;
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  void locks.request(name, { mode: "shared" }, () => {
    held.resolve();
    return released;
  });
  await held.promise;
  // A held lock keeps the process alive, and workers start together or not at all.
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

/** As much of the Web Locks API as is used here. */
interface WebLocks {
  request(name: string, options: { mode: "shared" }, hold: () => Promise<void>): Promise<void>;
  query(): Promise<{ readonly held?: readonly { readonly name?: string }[] }>;
}

/** Null where they are missing, as in versions of Deno before this one. */
function webLocks(): WebLocks | null {
  // Deno's own types do not name them yet.
  return (navigator as { readonly locks?: WebLocks }).locks ?? null;
}
