import type { ListenOrder } from "./worker_messages.ts";
import type { WorkerProcess } from "./worker_process.ts";

/** Distributes the connections of one port to the workers. */
export interface Balancer {
  /** Returns the `listen` order for the next worker. Only one worker at a time starts to listen. */
  listenOrder(): ListenOrder;
  /** Adds a worker that listens at this port. A worker may be added again after it was removed. */
  add(worker: WorkerProcess, port: number): void;
  /** Sends no new connections to the worker, and orders it to retire. */
  retire(worker: WorkerProcess): void;
  /** Removes a worker that no longer accepts connections. A second call has no effect. */
  remove(worker: WorkerProcess): void;
  /** Stops the service. The balancer's own listener, if any, closes when the last worker closes. */
  finish(): void;
}
