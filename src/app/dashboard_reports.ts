import type { Authenticator } from "../auth/authenticator.ts";
import { administrationOf, createAccountReports } from "./account_reports.ts";
import type { Guard } from "../guard/guard.ts";
import type { Resource } from "../resource/model/resource.ts";
import type { ResolvedConfig } from "./resolve_config.ts";
import type { LiveHubs } from "../resource/live/live_hubs.ts";
import type { Clock, Runtime } from "../runtime/runtime.ts";
import type { SearchOutbox } from "../search/outbox/search_outbox.ts";
import { memberOf, type Report, requireParameter } from "../service/dashboard/report.ts";
import { describeResources } from "../service/dashboard/operator_resources.ts";
import type { Driver } from "../db/driver.ts";
import { packageVersion } from "../runtime/package_version.ts";
import type { DashboardOperator } from "../service/dashboard/report.ts";
import type { ServiceReport } from "../service/dashboard/reports/service_report.ts";
import { Problem } from "../problem/problem.ts";
import type { DocumentName } from "../search/outbox/outbox_entry.ts";
import type { RateLimiter } from "../guard/budget/request_budget.ts";
import type { CreditsLedger } from "../billing/ledger/credits_ledger.ts";
import type { Billing } from "../billing/open_billing.ts";
import { unknownAddressGroup } from "../guard/client_address.ts";
import type { LiveHub } from "../live/live_hub.ts";
import { noRowsShown } from "../live/live_view.ts";
import type { StreamSession } from "../live/stream/stream_session.ts";
import type { ColumnInfo, TableInfo } from "../schema/table_info.ts";
import { printMaskedFilter } from "../service/dashboard/print_masked_filter.ts";
import type { RequestLog } from "../service/request_log/request_log.ts";
import { createRequestLogReports } from "../service/request_log/request_log_reports.ts";

function createStreamsReport(
  hubs: { all(): readonly LiveHub[] },
  resources: readonly Resource[],
  clock: Clock,
): Report {
  const ids = new WeakMap<StreamSession, number>();
  let lastId = 0;

  function idOf(session: StreamSession): number {
    const id = ids.get(session) ?? ++lastId;
    ids.set(session, id);
    return id;
  }

  function isShown(column: ColumnInfo, table: TableInfo): boolean {
    return resources.some((one) => one.table === table && one.fields.readable.includes(column));
  }

  function describe(session: StreamSession) {
    const { stream, user, options: { openedAt, part } } = session;
    const { filter, table } = stream.query;
    const isAggregate = stream.query.view === noRowsShown;
    return {
      id: idOf(session),
      kind: isAggregate ? "aggregates" : "rows",
      resource: table.label,
      user: user?.id ?? null,
      address: addressOf(session),
      since: Math.round(clock.now() - (clock.elapsedMs() - openedAt)),
      filter: printMaskedFilter(filter, table, isShown),
      // True if the stream has sent all known changes. Null for aggregates: they send no changes.
      isLive: isAggregate ? null : stream.isLive,
      // True if a multiplexed stream (one response for several streams) carries the stream.
      isPart: part !== null,
    };
  }

  return {
    name: "streams",
    method: "GET",
    answer() {
      const open = hubs.all();
      const shown = open.flatMap((hub) => hub.sessions().take(maxStreams).toArray())
        .sort((left, right) => left.options.openedAt - right.options.openedAt).slice(0, maxStreams);
      const total = open.reduce((sum, { size }) => sum + size, 0);
      return { streams: shown.map(describe), total, isComplete: shown.length === total };
    },
  };
}

const maxStreams = 500;

function addressOf({ options: { quotaSlot: { counts } } }: StreamSession): string | null {
  const prefix = "address ";
  const key = counts.map(({ key }) => key).find((key) => key.startsWith(prefix));
  const address = key?.slice(prefix.length) ?? unknownAddressGroup;
  return address === unknownAddressGroup || address === "" ? null : address;
}

export interface DashboardReportsDependencies {
  readonly resolved: ResolvedConfig;
  readonly resources: readonly Resource[];
  /** The path of the routes for logins, such as `/api/auth`; null without sessions. */
  readonly sessionPath: string | null;
  readonly authenticators: readonly Authenticator[];
  readonly databases: Iterable<Driver>;
  readonly hubs: LiveHubs;
  readonly outbox: SearchOutbox | null;
  readonly requestLog: RequestLog | null;
  readonly guard: Guard;
  readonly runtime: Runtime;
}

export function createDashboardReports(parts: DashboardReportsDependencies): readonly Report[] {
  const { resources, hubs, requestLog, outbox, guard, runtime: { clock } } = parts;
  const { credits = null, billing = null } = parts.resolved.dashboard ?? {};
  return [
    serviceReport(parts),
    ...createAccountReports(administrationOf(parts.authenticators)),
    createStreamsReport(hubs, resources, clock),
    ...(requestLog === null
      ? []
      : createRequestLogReports(requestLog.store, parts.databases, clock)),
    ...(guard.limits().length === 0 ? [] : [createBudgetsReport(guard)]),
    ...(credits === null ? [] : [createCreditsReport(credits)]),
    ...(billing === null ? [] : [createWebhooksReport(billing)]),
    ...(outbox === null ? [] : [createOutboxReport(outbox), createOutboxReplayAction(outbox)]),
  ];
}

function serviceReport(
  { resolved, resources, hubs, outbox, requestLog, sessionPath, databases, authenticators }:
    DashboardReportsDependencies,
): Report {
  const { own, keys } = administrationOf(authenticators);
  const { title, version } = resolved.openapi.info;
  const { credits = null, billing = null } = resolved.dashboard ?? {};
  const { basePath, mountedAt: prefix } = resolved;
  const answer = (
    { operator: { user, isReadOnly, isViewer, isAdministrator } }: { operator: DashboardOperator },
  ): ServiceReport => ({
    name: title,
    version,
    build: packageVersion,
    databases: [...databases].map(({ label }) => label),
    environment: resolved.isProduction ? "production" : "development",
    operator: user === null ? null : user.email ?? user.id,
    logout: user === null || sessionPath === null ? null : `${sessionPath}/logout`,
    isReadOnly,
    features: {
      search: resolved.search !== null,
      outbox: outbox !== null,
      credits: credits !== null,
      webhooks: billing !== null,
      budgets: resolved.abuse.budget !== null,
      metrics: resolved.observability.metrics !== null,
      changes: hubs.all().length > 0,
      requests: requestLog !== null,
      statements: requestLog !== null && !isViewer,
      accounts: own !== null && isAdministrator,
      keys: keys !== null && isAdministrator,
    },
    basePath,
    resources: describeResources({ resources, basePath, prefix }),
  });
  return { name: "service", method: "GET", answer };
}

function createOutboxReport(outbox: SearchOutbox): Report {
  return {
    name: "outbox",
    method: "GET",
    async answer() {
      const [stats, dead] = await Promise.all([outbox.stats(), outbox.dead(200)]);
      return {
        stats,
        dead: dead.map(({ index, docId, attempts, reason, deadSince }) => ({
          // The action {@link createOutboxReplayAction} accepts these ids.
          ...{ id: `${encodeURIComponent(index)}/${docId}`, index, key: docId },
          ...{ attempts, lastError: reason, at: deadSince },
        })),
      };
    },
  };
}

/** Creates the action that retries failed outbox entries. Its body has `ids`: a list or `"all"`. */
function createOutboxReplayAction(outbox: SearchOutbox): Report {
  return {
    name: "outbox-replay",
    method: "POST",
    writes: true,
    async answer({ body }) {
      const ids = memberOf(body, "ids");
      if (ids === "all") return { replayed: await outbox.replayDead() };
      if (!Array.isArray(ids) || ids.length > 200) throw wrongIds();
      return { replayed: await outbox.replayDead(ids.map(nameOf)) };
    },
  };
}

function nameOf(id: unknown): DocumentName {
  const [, index, docId] = /^([^/]+)\/(.+)$/.exec(typeof id === "string" ? id : "") ?? [];
  if (index === undefined || docId === undefined) throw wrongIds();
  try {
    return { index: decodeURIComponent(index), docId };
  } catch {
    throw wrongIds();
  }
}

function wrongIds(): Problem {
  return new Problem(
    "invalid-body",
    'Cannot replay: "ids" must be "all", or up to 200 ids of the report',
  );
}

/** Creates the report of the 100 callers nearest to a limit, as counted by this process. */
function createBudgetsReport(guard: Pick<Guard, "limits">): Report {
  return {
    name: "budgets",
    method: "GET",
    answer() {
      const all = guard.limits().flatMap(spendersOf);
      all.sort((one, other) => other.spent / other.capacity - one.spent / one.capacity);
      return { identities: all.slice(0, 100), total: all.length };
    },
  };
}

function spendersOf(limiter: RateLimiter) {
  const { id, limit: { capacity, header } } = limiter;
  return Array.from(limiter.spenders(), ({ caller, left }) => ({
    limit: id.replace(/^(?:budget|rate) /, ""),
    identity: `${caller.startsWith("u") ? "user" : "address"} ${caller.slice(1)}`,
    spent: Math.round(100 * (capacity - left)) / 100,
    left: Math.round(100 * left) / 100,
    capacity,
    policy: header,
  }));
}

function createCreditsReport(ledger: Pick<CreditsLedger, "balance" | "history">): Report {
  return {
    name: "credits",
    method: "GET",
    async answer({ query }) {
      const account = requireParameter(query, "account");
      const [balance, entries] = await Promise.all([
        ledger.balance(account),
        ledger.history(account, 100),
      ]);
      return { balance, entries };
    },
  };
}

function createWebhooksReport(billing: Pick<Billing, "deliveries">): Report {
  return {
    name: "webhooks",
    method: "GET",
    answer: () => ({ deliveries: billing.deliveries() }),
  };
}
