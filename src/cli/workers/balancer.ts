import type { ListenOrder } from "./worker_messages.ts";
import type { WorkerProcess } from "./worker_process.ts";

/** What hands the connections of one port to the workers. */
export interface Balancer {
  /** The order by which the next worker listens. One at a time does. */
  listenOrder(): ListenOrder;
  /** The worker listens at this port, for the first time or again. */
  add(worker: WorkerProcess, port: number): void;
  /** Returns the worker no new connection any more, and orders it to retire. */
  retire(worker: WorkerProcess): void;
  /** The worker accepts none any more; nothing where that is known. */
  remove(worker: WorkerProcess): void;
  /** The service stops: a listener of its own closes with that of the last worker. */
  finish(): void;
}
