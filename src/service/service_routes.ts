import type { Driver } from "../db/driver.ts";
import { Problem } from "../problem/problem.ts";
import { problemTypeBase } from "../protocol/problem_codes.ts";
import { jsonType, type Reply } from "../protocol/reply.ts";
import type { RequestTarget } from "../resource/http/request_target.ts";
import type { KeyValue } from "../kv/key_value.ts";
import type { Clock } from "../runtime/runtime.ts";
import { databaseCheck, liveness, readiness, storeCheck } from "./health.ts";
import { problemIndexPage, problemPage, problemPageSecurityPolicy } from "./problem_page.ts";

/** Answers requests at the service's own routes, which lead to no resource. Throws a 404 or 405. */
export type ServiceRoutes = (method: string, target: RequestTarget) => Promise<Reply>;

/** What the service's own routes report on. */
export interface ServiceRoutesOptions {
  readonly health: boolean;
  readonly databases: readonly Driver[];
  /** Null where the configuration names none. */
  readonly store: KeyValue | null;
  readonly clock: Clock;
  readonly isDraining: () => boolean;
}

/**
 * Makes the service's own routes beside the resources: health, and the page of every problem type.
 */
export function serviceRoutes(options: ServiceRoutesOptions): ServiceRoutes {
  const checks = options.databases.map((driver, index) => ({
    ...databaseCheck(driver),
    name: index === 0 ? "database" : `database ${index + 1}`,
  }));
  if (options.store !== null) checks.push(storeCheck(options.store));

  return async function serve(method, { path }) {
    const reply = await find(path);
    if (reply === null) throw new Problem("not-found", "There is nothing at this path");
    if (method !== "GET" && method !== "HEAD") {
      throw new Problem("method-not-allowed", `Cannot ${method.slice(0, 20)} here`, {
        headers: { allow: "GET, HEAD" },
      });
    }
    return reply;
  };

  async function find(path: string): Promise<Reply | null> {
    if (options.health && path === "/healthz") return json(liveness());
    if (options.health && path === "/readyz") {
      const { clock, isDraining } = options;
      return json(await readiness(checks, { clock, draining: isDraining() }));
    }
    if (!path.startsWith(problemTypeBase)) return null;
    const slug = path.slice(problemTypeBase.length);
    const page = slug === "" ? problemIndexPage() : problemPage(slug);
    return page === null ? null : html(page);
  }
}

function json({ status, body }: { readonly status: number; readonly body: unknown }): Reply {
  const headers = { "content-type": jsonType, "cache-control": "no-store" };
  return { status, headers, body: JSON.stringify(body) };
}

function html(body: string): Reply {
  const headers = {
    "content-type": "text/html; charset=utf-8",
    "cache-control": "public, max-age=3600",
    "content-security-policy": problemPageSecurityPolicy,
  };
  return { status: 200, headers, body };
}
