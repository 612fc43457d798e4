import { textFormatType } from "../../metrics/text_format.ts";
import type { RouteDescription } from "../../protocol/route_description.ts";
import { requirePageAccess } from "../own_machine.ts";
import type { PageRequest, ServicePage } from "../service_pages.ts";
import type { ResolvedMetrics } from "./observability_options.ts";

const path = "/__service/metrics";

export function createMetricsPages(
  metrics: ResolvedMetrics | null,
  isProduction: boolean,
): readonly ServicePage[] {
  if (metrics === null || (isProduction && metrics.authorize === null)) return [];
  return [{
    path,
    description,
    isOpen: false,
    // `authorize` may accept a token that no authenticator of the app knows.
    toleratesStrangers: true,
    at: (requested) => requested === path ? (request) => answer(request, metrics) : null,
  }];
}

async function answer(request: PageRequest, { registry, authorize }: ResolvedMetrics) {
  const option = "observability.metrics.authorize";
  await requirePageAccess(request, { authorize, option, cannot: "Cannot read the metrics" });
  const headers = { "content-type": textFormatType, "cache-control": "no-store" };
  return { status: 200, headers, body: await registry.text() };
}

const description: RouteDescription = {
  id: "readMetrics",
  tag: "Service",
  summary: "The metrics of this process, as Prometheus text",
  answers: { 200: { type: "text/plain", schema: { type: "string" } } },
  problems: ["invalid-parameter", "unauthorized", "forbidden", "internal-error"],
  needsUser: false,
};
