import type { Driver } from "../db/driver.ts";
import type { AppStore } from "../kv/open_key_value_store.ts";
import type { OpenapiInput } from "../openapi/openapi_input.ts";
import type { ResolvedConfig } from "./resolve_config.ts";
import type { RouteTable } from "../resource/routes/route_table.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { SearchIndexes } from "../search/search_indexes.ts";
import { createClientPages } from "../service/client/client_pages.ts";
import { createDescriptionPages } from "../service/describe/description_pages.ts";
import { createMetricsPages } from "../service/observability/metrics_page.ts";
import {
  createServicePages,
  requireFreePagePaths,
  type ServicePage,
  worksWithoutStore,
} from "../service/service_pages.ts";

export interface AppPagesDependencies {
  readonly table: RouteTable;
  readonly databases: ReadonlySet<Driver>;
  readonly facts: OpenapiInput;
  readonly isDraining: () => boolean;
  readonly searchIndexes: Pick<SearchIndexes, "check">;
  readonly resolved: ResolvedConfig;
  readonly runtime: Runtime;
  readonly store: AppStore;
}

/** Returns pages such as health checks. Throws a plain Error if a resource has such a path. */
export function createAppPages(
  { table, databases, facts, isDraining, searchIndexes, resolved, runtime, store }:
    AppPagesDependencies,
): readonly ServicePage[] {
  const pages = [
    ...createServicePages({
      health: resolved.health,
      databases: [...databases],
      store: store.configured,
      isStoreDispensable: worksWithoutStore(table),
      search: searchIndexes.check,
      clock: runtime.clock,
      isDraining,
    }),
    ...createDescriptionPages(facts, resolved),
    ...createClientPages(),
    ...createMetricsPages(resolved.observability.metrics, resolved.isProduction),
  ];
  requireFreePagePaths(pages, table);
  return pages;
}
