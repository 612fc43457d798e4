import type { BalancerName } from "../arguments.ts";
import type { Observer } from "../../runtime/observation.ts";
import { kernelBalancer } from "./kernel_balancer.ts";
import { proxyBalancer } from "./proxy_balancer.ts";
import type { ListenOrder, ReportOf } from "./worker_messages.ts";
import type { WorkerProcess } from "./worker_process.ts";

/** What hands the connections of one port to the workers. */
export interface Balancer {
  /** The order by which the next worker listens. One at a time does. */
  listenOrder(): ListenOrder;
  /** The worker listens at this port. */
  add(worker: WorkerProcess, port: number): void;
  /** Gives the worker no new connection any more, and orders it to retire. */
  retire(worker: WorkerProcess): void;
  /** The worker has ended. */
  remove(worker: WorkerProcess): void;
  /** The service stops: its own listener, where it has one, closes once the workers refuse. */
  finish(): void;
  /** All workers have ended. */
  close(): void;
}

/**
 * Makes the balancer for what the first worker is prepared to serve. Throws an Error of one sentence
 * where the port is taken, or where the kernel was asked for and cannot.
 */
export function createBalancer(
  wanted: BalancerName | null,
  { host, port, unbalanced }: ReportOf<"prepared">,
  observe: Observer,
): Balancer {
  if (wanted === "kernel" && unbalanced !== null) {
    throw new Error(`Cannot balance by the kernel: ${unbalanced} (leave out --balancer)`);
  }
  const isByKernel = wanted !== "proxy" && unbalanced === null;
  return isByKernel ? kernelBalancer(host, port) : proxyBalancer(host, port, observe);
}
