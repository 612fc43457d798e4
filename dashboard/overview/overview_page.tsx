import { Page } from "../parts/report_view.tsx";

/** Stub. */
export function OverviewPage() {
  return <Page title="Overview">…</Page>;
}
