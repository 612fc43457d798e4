import type { Guard } from "../guard/guard.ts";
import type { Resource } from "../resource/model/resource.ts";
import type { ResolvedConfig } from "./resolve_config.ts";
import type { LiveHubs } from "../resource/live/live_hubs.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { SearchOutbox } from "../search/outbox/search_outbox.ts";
import type { ProblemLog } from "../service/dashboard/problem_log.ts";
import type { Report } from "../service/dashboard/report.ts";
import { createBudgetsReport } from "../service/dashboard/reports/budgets_report.ts";
import { createRowHistoryReport } from "../service/dashboard/reports/row_history_report.ts";
import {
  createOutboxReplayAction,
  createOutboxReport,
} from "../service/dashboard/reports/outbox_report.ts";
import { createProblemsReport } from "../service/dashboard/reports/problems_report.ts";
import { createCreditsReport } from "../service/dashboard/reports/credits_report.ts";
import { createServiceReport } from "../service/dashboard/reports/service_report.ts";
import { createStreamsReport } from "../service/dashboard/reports/streams_report.ts";
import { createWebhooksReport } from "../service/dashboard/reports/webhooks_report.ts";

export interface DashboardReportsDependencies {
  readonly resolved: ResolvedConfig;
  readonly resources: readonly Resource[];
  readonly hubs: LiveHubs;
  readonly outbox: SearchOutbox | null;
  readonly problems: ProblemLog | null;
  readonly guard: Guard;
  readonly runtime: Runtime;
}

export function createDashboardReports(parts: DashboardReportsDependencies): readonly Report[] {
  const { resources, hubs, problems, outbox, guard, resolved: { basePath }, runtime: { clock } } =
    parts;
  const { credits = null, billing = null } = parts.resolved.dashboard ?? {};
  return [
    serviceReport(parts),
    createStreamsReport({ hubs, resources, clock }),
    ...(problems === null ? [] : [createProblemsReport(problems)]),
    ...(guard.limits().length === 0 ? [] : [createBudgetsReport(guard)]),
    ...(credits === null ? [] : [createCreditsReport(credits)]),
    ...(billing === null ? [] : [createWebhooksReport(billing)]),
    ...(outbox === null ? [] : [createOutboxReport(outbox), createOutboxReplayAction(outbox)]),
    createRowHistoryReport({
      ...{ resources, basePath },
      recordingOf: (table) => hubs.recordingOf(table),
    }),
  ];
}

function serviceReport(
  { resolved, resources, hubs, outbox }: DashboardReportsDependencies,
): Report {
  const { title, version } = resolved.openapi.info;
  const { credits = null, billing = null } = resolved.dashboard ?? {};
  return createServiceReport({
    name: title,
    version,
    environment: resolved.isProduction ? "production" : "development",
    isReadOnly: resolved.dashboard?.readOnly ?? false,
    features: {
      search: resolved.search !== null,
      outbox: outbox !== null,
      credits: credits !== null,
      webhooks: billing !== null,
      budgets: resolved.abuse.budget !== null,
      metrics: resolved.observability.metrics !== null,
      changes: hubs.all().length > 0,
    },
    resources,
    basePath: resolved.basePath,
    prefix: resolved.mountedAt,
  });
}
