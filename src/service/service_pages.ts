import type { Connection, Driver } from "../db/driver.ts";
import {
  problemCode,
  problemCodes,
  type ProblemSlug,
  problemTypeBase,
} from "../protocol/problem_codes.ts";
import { jsonContentType, type Reply } from "../protocol/reply.ts";
import { objectSchema, type RouteDescription } from "../protocol/route_description.ts";
import type { KeyValue } from "../kv/key_value.ts";
import type { RouteTable } from "../resource/routes/route_table.ts";
import type { MaybePromise } from "../runtime/maybe_promise.ts";
import type { Clock } from "../runtime/runtime.ts";
import type { User } from "../auth/authorize.ts";
import { htmlPage, pageSecurityPolicy } from "../protocol/html_page.ts";
import { futureProblems, problemExplanations } from "../protocol/problem_explanations.ts";
import { escapeHtml } from "../protocol/escape_html.ts";

/** Returns the page about a problem type, or null for an unknown slug. `prefix`: the mount path. */
export function problemPage(slug: string, prefix = ""): string | null {
  if (!isProblemSlug(slug)) return null;
  const { status, title } = problemCodes[slug];
  const note = futureProblems.has(slug) ? "\n<p>Not answered by this version yet.</p>" : "";
  return htmlPage(
    title,
    `<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(problemExplanations[slug])}</p>${note}
<dl>
<dt>Status</dt><dd>${status}</dd>
<dt>Code</dt><dd><code>${problemCode(slug)}</code></dd>
<dt>Type</dt><dd><code>${escapeHtml(prefix + problemTypeBase)}${slug}</code></dd>
</dl>
<p><a href="${escapeHtml(prefix + problemTypeBase)}">All problems</a></p>`,
  );
}

export function problemIndexPage(prefix = ""): string {
  const rows = Object.entries(problemCodes).map(([slug, { status, title }]) =>
    `<tr><td>${status}</td><td><a href="${escapeHtml(prefix + problemTypeBase)}${slug}">` +
    `${escapeHtml(title)}</a></td><td><code>${slug}</code></td></tr>`
  );
  return htmlPage(
    "Problems",
    `<h1>Problems</h1>
<p>An answer that is an error has the media type <code>application/problem+json</code> and one of
these types.</p>
<table>
<thead><tr><th>Status</th><th>Title</th><th>Type</th></tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>`,
  );
}

function isProblemSlug(slug: string): slug is ProblemSlug {
  return Object.hasOwn(problemCodes, slug);
}

export interface ServicePage {
  /** The path in the syntax of Hono routes. */
  readonly path: string;
  /** True if the page needs no authentication. */
  readonly isOpen: boolean;
  /** True if a caller with a refused credential is anonymous here, instead of receiving a 401. */
  readonly toleratesStrangers?: true;
  readonly description: RouteDescription;
  /** True if a route of the deployer at this path takes precedence over the page. */
  readonly yields?: true;
  /** Returns the GET handler for a raw path, or null for other paths. `prefix`: the mount path. */
  at(path: string, prefix: string): ((request: PageRequest) => MaybePromise<Reply>) | null;
}

export interface PageRequest {
  readonly raw: Request;
  user(): User | null;
  address(): string | null;
}

interface ServicePagesOptions {
  readonly health: boolean;
  readonly databases: readonly Driver[];
  readonly store: KeyValue | null;
  readonly isStoreDispensable: boolean;
  readonly search: (() => Promise<void>) | null;
  readonly clock: Clock;
  readonly isDraining: () => boolean;
}

export function createServicePages(options: ServicePagesOptions): readonly ServicePage[] {
  const problems = createProblemPages();
  return options.health ? [...healthPages(options), ...problems] : problems;
}

export function createProblemPages(): readonly ServicePage[] {
  return [
    {
      path: problemTypeBase,
      description: describePage({
        ...{ id: "describeProblems", summary: "All problem types", answers: htmlAnswers },
        isOpen: true,
      }),
      isOpen: true,
      at: (path, prefix) =>
        path === problemTypeBase || `${path}/` === problemTypeBase
          ? () => html(problemIndexPage(prefix))
          : null,
    },
    {
      path: `${problemTypeBase}:slug`,
      description: {
        ...{ id: "describeProblem", tag: "Service", summary: "What a problem type means" },
        ...{ answers: htmlAnswers, needsUser: false },
        parameters: { slug: "The last segment of the `type`." },
        problems: ["not-found", "invalid-parameter", "internal-error"],
      },
      isOpen: true,
      at(path, prefix) {
        if (!path.startsWith(problemTypeBase)) return null;
        const page = problemPage(path.slice(problemTypeBase.length), prefix);
        return page === null ? null : () => html(page);
      },
    },
  ];
}

export function requireFreePagePaths(pages: readonly ServicePage[], { routes }: RouteTable): void {
  for (const { resource: { name, url } } of routes) {
    const page = pages.find(({ path, at }) => at(url, "") !== null || path.startsWith(`${url}/`));
    if (page === undefined) continue;
    throw new Error(
      `Cannot serve "${name}" at ${url}: the page ${page.path} is there, so give it another path`,
    );
  }
}

function healthPages(options: ServicePagesOptions): readonly ServicePage[] {
  const { databases, store, isStoreDispensable, search, clock, isDraining } = options;
  const checks: HealthCheck[] = databases.map((driver, index) => ({
    ...databaseCheck(driver),
    name: index === 0 ? "database" : `database ${index + 1}`,
  }));
  const replicas = databases.flatMap(({ replicas = [] }) => replicas);
  if (replicas.length > 0) {
    const run = async () => await Promise.all(replicas.map((replica) => replica.check()));
    checks.push({ name: "replicas", isDispensable: true, run });
  }
  if (store !== null) checks.push(storeCheck(store, isStoreDispensable));
  // All requests except searches work without the search index.
  if (search !== null) checks.push({ name: "search", isDispensable: true, run: search });
  return [
    healthPage(
      "/healthz",
      livenessDescription,
      () => json({ status: 200, body: { status: "ok" } }),
    ),
    healthPage(
      "/readyz",
      readinessDescription,
      async () => json(await readiness(checks, { clock, draining: isDraining() })),
    ),
  ];
}

/** Returns a page's description. Every page that is not open can respond with a 401. */
export function describePage(
  { isOpen = false, ...facts }: Pick<RouteDescription, "id" | "summary" | "answers"> & {
    readonly isOpen?: boolean;
  },
): RouteDescription {
  const refusals = isOpen ? [] : ["unauthorized"] as const;
  const problems = ["invalid-parameter", ...refusals, "internal-error"] as const;
  return { ...facts, tag: "Service", problems, needsUser: false };
}

const htmlAnswers = { 200: { type: "text/html", schema: { type: "string" } } };

const livenessDescription: RouteDescription = {
  ...{ id: "liveness", tag: "Health", summary: "Whether the process answers", needsUser: false },
  answers: { 200: { schema: objectSchema({ status: { type: "string", enum: ["ok"] } }) } },
  problems: ["invalid-parameter", "internal-error"],
};

const readyAnswer = {
  schema: objectSchema({
    status: { type: "string", enum: ["ready", "unavailable"] },
    checks: {
      type: "object",
      additionalProperties: objectSchema({
        status: { type: "string", enum: ["ok", "degraded", "unavailable"] },
        latencyMs: { type: "number" },
      }),
    },
  }),
};

const readinessDescription: RouteDescription = {
  ...{ id: "readiness", tag: "Health", summary: "Whether requests succeed", needsUser: false },
  answers: { 200: readyAnswer, 503: readyAnswer },
  problems: ["invalid-parameter", "internal-error"],
};

function healthPage(
  path: string,
  description: RouteDescription,
  answer: () => MaybePromise<Reply>,
): ServicePage {
  return { path, description, isOpen: true, at: (requested) => requested === path ? answer : null };
}

function json({ status, body }: { readonly status: number; readonly body: unknown }): Reply {
  const headers = { "content-type": jsonContentType, "cache-control": "no-store" };
  return { status, headers, body: JSON.stringify(body) };
}

function html(body: string): Reply {
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "public, max-age=3600",
    "content-security-policy": pageSecurityPolicy,
  };
  return { status: 200, headers, body };
}

export interface HealthCheck {
  readonly name: string;
  readonly isDispensable?: boolean | undefined;
  run(): Promise<unknown>;
}

/**
 * Responds with 503 if a required check fails or the process stops (`draining`), so that a load
 * balancer sends no requests. A shared store must not be required: its failure would stop all
 * instances.
 */
export async function readiness(
  checks: readonly HealthCheck[],
  { clock, draining, deadlineMs = 1_000 }: {
    readonly clock: Clock;
    readonly draining: boolean;
    readonly deadlineMs?: number | undefined;
  },
) {
  const results = await Promise.all(checks.map((check) => runCheck(check, clock, deadlineMs)));
  const ready = !draining && results.every(([, result]) => result.status !== "unavailable");
  return {
    status: ready ? 200 : 503,
    body: { status: ready ? "ready" : "unavailable", checks: Object.fromEntries(results) },
  };
}

export function databaseCheck(connection: Connection): HealthCheck {
  return {
    name: "database",
    run: async () => await connection.query({ text: "SELECT 1", values: [] }),
  };
}

function storeCheck(store: KeyValue, isDispensable: boolean): HealthCheck {
  return { name: "store", isDispensable, run: () => store.get(["service", "health"]) };
}

/** Returns true if some route needs no store. Streams, proof of work and CAPTCHAs need a store. */
export function worksWithoutStore({ routes }: RouteTable): boolean {
  return !routes.every(({ endpoint, resource }) => {
    const { pow = null, captcha = null } = endpoint.protection(resource) ?? {};
    return endpoint.name.startsWith("subscribe") || pow !== null || captcha !== null;
  });
}

async function runCheck(check: HealthCheck, clock: Clock, deadlineMs: number) {
  const startedAt = clock.elapsedMs();
  const failed = check.isDispensable === true ? "degraded" : "unavailable";
  const outcome = Promise.withResolvers<"ok" | "degraded" | "unavailable">();
  const cancel = clock.after(deadlineMs, () => outcome.resolve(failed));
  Promise.try(() => check.run()).then(
    () => outcome.resolve("ok"),
    // The response does not contain the reason for a failure, because any caller can read it.
    () => outcome.resolve(failed),
  );
  const status = await outcome.promise;
  cancel();
  const latencyMs = Math.round((clock.elapsedMs() - startedAt) * 10) / 10;
  return [check.name, { status, latencyMs }] as const;
}
