import { cannotListen } from "../../listen/listener.ts";
import type { Balancer } from "./balancer.ts";
import type { WorkerProcess } from "./worker_process.ts";

/**
 * The balancer where the workers share the port itself, and the kernel chooses one for each
 * connection. A worker that retires leaves itself out, so that it closes an empty queue. Throws where
 * the port is taken.
 */
export function kernelBalancer(host: string, wanted: number): Balancer {
  if (wanted !== 0) requireFree(host, wanted);
  let port = wanted;
  /** In the order of the kernel (socket(7)): it moves the last one to the place of one that is closed. */
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
      // It may have listened before, and run out of descriptors.
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

/** Another service of this user that shares its ports, too, would be given half of the connections. */
function requireFree(hostname: string, port: number): void {
  try {
    Deno.listen({ hostname, port }).close();
  } catch (cause) {
    throw cannotListen({ hostname, port }, cause);
  }
}
