import type * as Api from "./open_telemetry_api.ts";
import type { Driver } from "../../db/driver.ts";
import type { HonoApp } from "../hono_app.ts";
import type { FindRoute } from "../route_handlers.ts";
import type { DriverWatch } from "./watched_driver.ts";

export interface Tracing {
  statementsOf(driver: Driver): DriverWatch["statements"];
  around(fetch: HonoApp["fetch"], findRoute: FindRoute): HonoApp["fetch"];
}

/** Prepares an app's spans, by OpenTelemetry's conventions 1.37. Spans contain no bound values. */
export function openTracing(
  { context, SpanKind, SpanStatusCode, trace }: OpenTelemetryApi,
): Tracing {
  const tracer = trace.getTracer("resource-api");
  return {
    statementsOf: ({ dialect: { systemName } }) => () => {
      const parent = context.active();
      return ({ text }) => {
        const operation = /^\w+/.exec(text)?.[0] ?? "";
        const span = tracer.startSpan(operation, {
          kind: SpanKind.CLIENT,
          attributes: {
            "db.system.name": systemName,
            "db.operation.name": operation,
            "db.query.text": text,
          },
        }, parent);
        return (error) => {
          if (error !== undefined) {
            span.setStatus({ code: SpanStatusCode.ERROR });
            span.setAttribute("error.type", error instanceof Error ? error.name : "_OTHER");
          }
          span.end();
        };
      };
    },
    around: (fetch, findRoute) => (request, info) => {
      const span = trace.getActiveSpan();
      const route = span === undefined ? "" : findRoute(request);
      if (route !== "") {
        span?.setAttribute("http.route", route);
        span?.updateName(`${request.method} ${route}`);
      }
      return fetch(request, info);
    },
  };
}

export type OpenTelemetryApi = typeof Api;

/** Deno downloads the packages of literal imports at every start, so the paths are variables. */
const [apiModule, apiPackage] = ["./open_telemetry_api.ts", "@opentelemetry/api"];

/** Loads OpenTelemetry's API. A bundle has no module at the path, so the package is imported. */
export async function loadOpenTelemetry(): Promise<OpenTelemetryApi> {
  try {
    return await import(apiModule).catch(() => import(apiPackage));
  } catch (cause) {
    const advice = `add the package ${apiPackage} to the program`;
    throw new Error(`Cannot load observability.openTelemetry: ${advice}`, { cause });
  }
}
