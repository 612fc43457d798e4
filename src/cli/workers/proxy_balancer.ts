import { listenError } from "../../listen/listener.ts";
import { sleep } from "../../runtime/event_loop.ts";
import type { Observer } from "../../runtime/observation.ts";
import type { Balancer } from "./balancer.ts";
import { passBytes } from "./pass_bytes.ts";
import type { WorkerProcess } from "./worker_process.ts";

/**
 * Creates a balancer whose process accepts all connections. The balancer passes the bytes of each
 * connection to the worker with the fewest connections. The worker learns the client's address
 * before the bytes arrive. Throws if the port is taken.
 */
export function proxyBalancer(host: string, port: number, observe: Observer): Balancer {
  const listener = listenOn(host, port);
  const shown = { host, port: listener.addr.port };
  const targets = new Map<WorkerProcess, Target>();
  let isFinishing = false;
  let isClosed = false;

  async function acceptAll(): Promise<void> {
    while (!isClosed) {
      try {
        const client = await listener.accept();
        // If one side has disconnected, only this connection ends.
        serve(client).catch(() => null).finally(() => client.close());
      } catch (error) {
        if (isClosed) return;
        // Without a free file descriptor in this process, clients wait in the kernel's queue.
        observe({ kind: "listener_failed", error, retryInMs });
        await sleep(retryInMs);
      }
    }
  }

  async function serve(client: Deno.TcpConn): Promise<void> {
    for (const target of [...targets.values()].sort((left, right) => left.open - right.open)) {
      target.open++;
      try {
        using connection = await connectTo(target.port);
        if (connection === null) continue;
        const { hostname } = client.remoteAddr;
        await target.worker.note(connection.localAddr.port, hostname);
        return await passBytes(client, connection);
      } finally {
        target.open--;
      }
    }
  }

  function closeAfterLast(): void {
    if (!isFinishing || isClosed || targets.size > 0) return;
    isClosed = true;
    listener.close();
  }

  void acceptAll();
  return {
    listenOrder: () => ({ kind: "listen", host: loopback, port: 0, reusePort: false, shown }),
    add(worker, port) {
      targets.set(worker, { worker, port, open: 0 });
    },
    retire(worker) {
      targets.delete(worker);
      worker.send({ kind: "retire", filter: null });
    },
    remove(worker) {
      targets.delete(worker);
      closeAfterLast();
    },
    finish() {
      isFinishing = true;
      closeAfterLast();
    },
  };
}

interface Target {
  readonly worker: WorkerProcess;
  /** The worker's port on the loopback address. */
  readonly port: number;
  open: number;
}

const loopback = "127.0.0.1";
const retryInMs = 200;

function listenOn(hostname: string, port: number): Deno.TcpListener {
  try {
    return Deno.listen({ hostname, port });
  } catch (cause) {
    throw listenError({ hostname, port }, cause);
  }
}

/** Connects to a worker. Returns null if nothing listens, because the worker is about to end. */
async function connectTo(port: number): Promise<Deno.TcpConn | null> {
  try {
    return await Deno.connect({ hostname: loopback, port });
  } catch (error) {
    if (error instanceof Deno.errors.ConnectionRefused) return null;
    throw error;
  }
}
