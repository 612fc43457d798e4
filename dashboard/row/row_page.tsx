import type { ResourceFacts } from "../service/facts.ts";
import { Page } from "../parts/report_view.tsx";

/** Stub. */
export function RowPage(
  { resource }: { readonly resource: ResourceFacts; readonly rowKey: readonly string[] | null },
) {
  return <Page title={resource.path}>…</Page>;
}
