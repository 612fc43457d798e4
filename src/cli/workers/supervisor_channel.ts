import process from "node:process";
import {
  enveloped,
  type ListenOrder,
  orderIn,
  type WorkerOrder,
  type WorkerReport,
} from "./worker_messages.ts";

/** A worker's end of the channel to its supervisor. */
export interface SupervisorChannel {
  /** The first order. */
  readonly listenOrder: Promise<ListenOrder>;
  /** Resolves when the supervisor has ended for any reason. */
  readonly lost: Promise<void>;
  /** Handles all later orders. */
  onOrder(take: (order: WorkerOrder) => void): void;
  report(report: WorkerReport): void;
}

/** Opens the channel with which this process was started. */
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
      // Without a callback, a report to a killed supervisor would be an uncaught error.
      if (process.connected) process.send?.(enveloped(report), () => {});
    },
  };
}
