import type { Observer } from "../../runtime/observation.ts";
import type { BalancerName } from "../serve_arguments.ts";
import type { Balancer } from "./balancer.ts";
import { kernelBalancer } from "./kernel_balancer.ts";
import { proxyBalancer } from "./proxy_balancer.ts";
import type { ReportOf } from "./worker_messages.ts";

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
