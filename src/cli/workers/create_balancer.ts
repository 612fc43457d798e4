import type { Observer } from "../../runtime/observation.ts";
import type { BalancerName } from "../serve_arguments.ts";
import type { Balancer } from "./balancer.ts";
import { kernelBalancer } from "./kernel_balancer.ts";
import { proxyBalancer } from "./proxy_balancer.ts";
import type { ReportOf } from "./worker_messages.ts";

/**
 * Creates the balancer for the service that the first worker has prepared. Throws an Error with a
 * one-sentence message if the port is taken, or if the kernel was requested and cannot balance.
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
