import { listenError } from "../../listen/listener.ts";
import type { ListenOrder } from "./worker_messages.ts";
import type { WorkerProcess } from "./worker_process.ts";

/**
 * Distributes the connections of one port to the workers. The workers share the port, and the
 * kernel chooses a worker for each connection. A retiring worker first excludes itself, so that its
 * queue is empty when its socket closes.
 */
export class KernelBalancer {
  readonly #host: string;
  #port: number;
  /** The sockets in kernel order (socket(7)). The last socket gets the index of a closed socket. */
  readonly #sockets: WorkerProcess[] = [];
  #leftOut: WorkerProcess | null = null;

  /** Throws a one-sentence Error if the port is taken. */
  constructor(host: string, port: number) {
    if (port !== 0) requireFree(host, port);
    this.#host = host;
    this.#port = port;
  }

  /** Returns the `listen` order for the next worker. Only one worker at a time starts to listen. */
  listenOrder(): ListenOrder {
    return { kind: "listen", host: this.#host, port: this.#port };
  }

  /** Adds a worker that listens at this port. A worker may be added again after it was removed. */
  add(worker: WorkerProcess, port: number): void {
    this.#port = port;
    // The worker may already have an entry, if it listened before and ran out of descriptors.
    this.#drop(worker);
    this.#sockets.push(worker);
  }

  /** Sends no new connections to the worker, and orders it to retire. */
  retire(worker: WorkerProcess): void {
    this.#leftOut = worker;
    const filter = { without: this.#sockets.indexOf(worker), of: this.#sockets.length };
    worker.send({ kind: "retire", filter });
  }

  /** Removes a worker that no longer accepts connections. A second call has no effect. */
  remove(worker: WorkerProcess): void {
    this.#drop(worker);
    if (worker !== this.#leftOut) return;
    this.#leftOut = null;
    this.#sockets[0]?.send({ kind: "unfilter" });
  }

  #drop(worker: WorkerProcess): void {
    const index = this.#sockets.indexOf(worker);
    const last = this.#sockets.at(-1);
    if (index < 0 || last === undefined) return;
    this.#sockets[index] = last;
    this.#sockets.pop();
  }
}

/** Requires a free port. Another service on this port would receive half of the connections. */
function requireFree(hostname: string, port: number): void {
  try {
    Deno.listen({ hostname, port }).close();
  } catch (cause) {
    throw listenError({ hostname, port }, cause);
  }
}
