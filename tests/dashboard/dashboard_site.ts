import { type DashboardApp, openDashboardApp } from "./dashboard_service.ts";

/** A service with its dashboard, in this process. */
export interface DashboardSite extends AsyncDisposable, DashboardApp {
  /** Of the dashboard. */
  readonly url: string;
  /** Sends a request of the operator; `path` is below the dashboard. */
  send(method: string, path: string, body?: unknown): Promise<Response>;
}

/** Starts a service with its dashboard over a database in memory. */
export async function startDashboardSite(numberOfRows = 1_000): Promise<DashboardSite> {
  const service = await openDashboardApp(numberOfRows);
  const { app, db } = service;
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    (request, info) => app.fetch(request, info),
  );
  const url = `http://127.0.0.1:${server.addr.port}/__service/ui`;
  return {
    ...{ ...service, url },
    send: (method, path, body) =>
      fetch(url + path, {
        method,
        headers: { "content-type": "application/json" },
        ...body !== undefined && { body: JSON.stringify(body) },
      }),
    async [Symbol.asyncDispose]() {
      app.drain();
      await server.shutdown();
      await app.close();
      await db.close();
    },
  };
}
