import type { ListenOrder } from "./worker_messages.ts";
import type { WorkerProcess } from "./worker_process.ts";

/** Distributes the connections of one port to the workers. */
export interface Balancer {
  /** Returns the order by which the next worker listens. One worker listens at a time. */
  listenOrder(): ListenOrder;
  /** Adds a worker that listens at this port, for the first time or again. */
  add(worker: WorkerProcess, port: number): void;
  /** Sends no new connections to the worker, and orders it to retire. */
  retire(worker: WorkerProcess): void;
  /** Removes a worker that no longer accepts connections. Has no effect the second time. */
  remove(worker: WorkerProcess): void;
  /** Stops the service. An own listener closes with that of the last worker. */
  finish(): void;
}
