import { listenError } from "../../listen/listener.ts";
import type { ListenOrder, WorkerProcess } from "./worker_process.ts";

/**
 * Workers share one port, and the kernel chooses a worker for each connection. A retiring worker
 * gets no new connections for a while, so that the queue of its socket is empty when it closes.
 */
export class KernelBalancer {
  readonly #host: string;
  #port: number;
  /** The workers in the kernel's order: when a socket closes, the last socket takes its place. */
  readonly #sockets: WorkerProcess[] = [];
  #leftOut: WorkerProcess | null = null;

  constructor(host: string, port: number) {
    if (port !== 0) requireFree(host, port);
    this.#host = host;
    this.#port = port;
  }

  /** Returns the message that makes a worker listen. Only one worker at a time may receive it. */
  listenOrder(): ListenOrder {
    return { kind: "listen", host: this.#host, port: this.#port };
  }

  /** Adds a worker that has begun to listen at this port, perhaps again after a failure. */
  add(worker: WorkerProcess, port: number): void {
    this.#port = port;
    // A worker that stopped listening for lack of file descriptors is still in the list.
    this.#drop(worker);
    this.#sockets.push(worker);
  }

  retire(worker: WorkerProcess): void {
    this.#leftOut = worker;
    const filter = { without: this.#sockets.indexOf(worker), of: this.#sockets.length };
    worker.send({ kind: "retire", filter });
  }

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

/** Throws if another program listens at the port: it would receive half of the connections. */
function requireFree(hostname: string, port: number): void {
  try {
    Deno.listen({ hostname, port }).close();
  } catch (cause) {
    throw listenError({ hostname, port }, cause);
  }
}
