import { textFormatType } from "../../metrics/text_format.ts";
import { Problem } from "../../problem/problem.ts";
import type { RouteDescription } from "../../protocol/route_description.ts";
import { requireOwnMachine } from "../own_machine.ts";
import type { PageRequest, ServicePage } from "../service_pages.ts";
import type { ResolvedMetrics } from "./observability_options.ts";

const path = "/__service/metrics";

/** Creates the page of the metrics. In production, the page exists only with `authorize`. */
export function createMetricsPages(
  metrics: ResolvedMetrics | null,
  isProduction: boolean,
): readonly ServicePage[] {
  if (metrics === null || (isProduction && metrics.authorize === null)) return [];
  return [{
    path,
    description,
    isOpen: false,
    // Programs that read metrics may have a separate token, which no authenticator recognizes.
    toleratesStrangers: true,
    at: (requested) => requested === path ? (request) => answer(request, metrics) : null,
  }];
}

async function answer(request: PageRequest, { registry, authorize }: ResolvedMetrics) {
  if (authorize === null) requireOwnMachine(request, cannot);
  else {
    const user = request.user();
    // Only `true` allows the request. Any other value may be a mistake in the function.
    if (await authorize(request.raw, user) !== true) throw refusal(user !== null);
  }
  const headers = { "content-type": textFormatType, "cache-control": "no-store" };
  return { status: 200, headers, body: await registry.text() };
}

const cannot = "Cannot read the metrics from here: only this machine may, until " +
  "observability.metrics.authorize decides";

function refusal(isKnown: boolean): Problem {
  return isKnown
    ? new Problem("forbidden", "Cannot read the metrics: observability.metrics.authorize refuses")
    : new Problem("unauthorized", "Cannot read the metrics without a credential that may");
}

const description: RouteDescription = {
  id: "readMetrics",
  tag: "Service",
  summary: "The metrics of this process, as Prometheus text",
  answers: { 200: { type: "text/plain", schema: { type: "string" } } },
  problems: ["invalid-parameter", "unauthorized", "forbidden", "internal-error"],
  needsUser: false,
};
