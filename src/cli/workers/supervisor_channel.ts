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
  /** Resolves when the supervisor has ended, however that was. */
  readonly lost: Promise<void>;
  /** Takes all later orders. */
  onOrder(take: (order: WorkerOrder) => void): void;
  report(report: WorkerReport): void;
}

/** Opens the channel that this process has been started with. */
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
      // Without a callback, the report to a supervisor that is killed at that moment is an error of the process.
      if (process.connected) process.send?.(enveloped(report), () => {});
    },
  };
}
