import process from "node:process";
import {
  enveloped,
  type ListenOrder,
  orderIn,
  type WorkerOrder,
  type WorkerReport,
} from "./worker_messages.ts";

/** The worker's end of the channel between a worker and its supervisor. */
export interface SupervisorChannel {
  /** Resolves with the first order of the supervisor, the order to listen. */
  readonly listenOrder: Promise<ListenOrder>;
  /** Resolves when the supervisor has ended for any reason. */
  readonly lost: Promise<void>;
  /** Calls `take` for each order after the first. */
  onOrder(take: (order: WorkerOrder) => void): void;
  report(report: WorkerReport): void;
}

/** Opens the channel that the supervisor created when it started this process. */
export function openSupervisorChannel(): SupervisorChannel {
  const listenOrder = Promise.withResolvers<ListenOrder>();
  const lost = Promise.withResolvers<void>();
  process.once("disconnect", lost.resolve);
  let take: (order: WorkerOrder) => void = () => {};
  process.on("message", (message: unknown) => {
    const order = orderIn(message);
    if (order?.kind === "listen") listenOrder.resolve(order);
    else if (order !== null) take(order);
  });
  return {
    listenOrder: listenOrder.promise,
    lost: lost.promise,
    onOrder(taking) {
      take = taking;
    },
    report(report) {
      // Without a callback, sending to a killed supervisor would cause an uncaught error.
      if (process.connected) process.send?.(enveloped(report), () => {});
    },
  };
}
