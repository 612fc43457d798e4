import { listenError } from "../../listen/listener.ts";
import type { Balancer } from "./balancer.ts";
import type { WorkerProcess } from "./worker_process.ts";

/**
 * Creates a balancer whose workers share the port. The kernel chooses a worker for each connection.
 * A retiring worker first excludes itself, so that its queue is empty when its socket closes.
 * Throws if the port is taken.
 */
export function kernelBalancer(host: string, wanted: number): Balancer {
  if (wanted !== 0) requireFree(host, wanted);
  let port = wanted;
  /** The sockets in kernel order (socket(7)). The last socket gets the index of a closed socket. */
  const sockets: WorkerProcess[] = [];
  let leftOut: WorkerProcess | null = null;

  function drop(worker: WorkerProcess): void {
    const index = sockets.indexOf(worker);
    const last = sockets.at(-1);
    if (index < 0 || last === undefined) return;
    sockets[index] = last;
    sockets.pop();
  }

  return {
    listenOrder: () => ({ kind: "listen", host, port, reusePort: true, shown: null }),
    add(worker, taken) {
      port = taken;
      // The worker may already have an entry, if it listened before and ran out of descriptors.
      drop(worker);
      sockets.push(worker);
    },
    retire(worker) {
      leftOut = worker;
      const filter = { without: sockets.indexOf(worker), of: sockets.length };
      worker.send({ kind: "retire", filter });
    },
    remove(worker) {
      drop(worker);
      if (worker !== leftOut) return;
      leftOut = null;
      sockets[0]?.send({ kind: "unfilter" });
    },
    finish() {},
  };
}

/** Requires a free port. Another service on this port would receive half of the connections. */
function requireFree(hostname: string, port: number): void {
  try {
    Deno.listen({ hostname, port }).close();
  } catch (cause) {
    throw listenError({ hostname, port }, cause);
  }
}
