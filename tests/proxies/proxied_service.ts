/** A service for the tests of proxies, which can stop and start again on its port. */
import { all } from "../../src/filter/builders.ts";
import { type App, createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { listen } from "../../src/listen/listener.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import type { InferApi } from "../../src/app/infer_api.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";
import { freePort } from "../support/ports.ts";

/** How many streams one address may have open. */
export const streamsPerAddress = 6;

export interface ProxiedService extends AsyncDisposable {
  readonly port: number;
  stop(): Promise<void>;
  start(): Promise<void>;
}

/** Serves notes with weak ETags, papers with strong ETags, and names with keys of any characters. */
export async function proxiedService(
  { mountedAt, trustProxy }: { readonly mountedAt?: string; readonly trustProxy?: number } = {},
): Promise<ProxiedService> {
  const port = freePort();
  const runtime = systemRuntime(() => {});
  const open = async () => {
    const app = await openApp(mountedAt ?? "", trustProxy ?? 1);
    return listen(app, { port, stopDeadlineMs: 1_000 }, runtime);
  };
  let server: Awaited<ReturnType<typeof open>> | null = await open();
  const stop = async () => {
    await server?.stop();
    server = null;
  };
  return {
    port,
    stop,
    async start() {
      server = await open();
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** The API of the service, for the typed client. */
export type ProxiedApi = InferApi<
  { readonly resources: ReturnType<typeof definitions>["resources"] }
>;

function definitions() {
  const columns = () => ({
    id: integer().primaryKey(),
    title: text(),
    version: integer().notNull().default(1),
  });
  const notes = table("notes", columns());
  const papers = table("papers", columns());
  const names = table("names", { id: text().primaryKey(), title: text() });
  const auth = { public: true, create: () => all(), update: () => all(), delete: () => all() };
  return {
    tables: [notes, papers, names],
    resources: [
      resource(notes, {
        id: notes.id,
        auth,
        capabilities: { enableExport: true },
        batch: { delete: 1_000 },
        etag: { versionField: notes.version },
      }),
      resource(papers, {
        id: papers.id,
        auth,
        etag: { versionField: papers.version, algorithm: "strong" },
      }),
      resource(names, { id: names.id, auth, etag: {} }),
    ],
  } as const;
}

async function openApp(mountedAt: string, trustProxy: number): Promise<App> {
  const { tables, resources } = definitions();
  const db = await openDatabase("sqlite::memory:");
  await db.createTables(tables);
  const app = await createApp({
    db,
    mountedAt,
    resources,
    runtime: systemRuntime(() => {}),
    secret: "a secret for the tests only",
    subscribe: { maxPerAddress: streamsPerAddress },
    abuseProtection: { trustProxy },
    auth: {
      middleware: async (context, next) => {
        if (context.req.method !== "GET") context.set("user", { id: "ada" });
        await next();
      },
    },
  });
  app.hono.get("/seen", (context) => {
    const { url, headers } = context.req.raw;
    return context.json({ url, ...Object.fromEntries(headers) });
  });
  return app;
}
