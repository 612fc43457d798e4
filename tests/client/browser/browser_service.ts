import {
  all,
  type App,
  type AppConfig,
  createApp,
  type Database,
  integer,
  openDatabase,
  resource,
  table,
  text,
} from "../../../mod.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  version: integer().notNull().default(1),
});

const proofs = table("proofs", { id: integer().primaryKey(), title: text().notNull() });

const asked = table("asked", { id: integer().primaryKey(), title: text().notNull() });

/** The service of the pages in a browser, over a database that it prepares. */
export async function openBrowserApp(
  url: string,
  page: Pick<AppConfig, "web"> = {},
): Promise<{ app: App; db: Database }> {
  const db = await openDatabase(url);
  await db.createTables([notes, proofs, asked]);
  const auth = { public: true, create: () => all(), update: () => all(), delete: () => all() };
  const app = await createApp({
    ...page,
    db,
    kv: ":memory:",
    secret: "a secret for the tests only",
    // Requests that the end of a page has broken are nothing to report.
    runtime: systemRuntime(() => {}),
    idempotency: { storage: "db" },
    cors: { origin: "*" },
    abuseProtection: {
      pow: { secret: "a secret for the tests only", difficulty: 21 },
      captcha: {
        verifier: { provider: "own", siteKey: "the-site", verify: ({ token }) => token === "good" },
      },
    },
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [
      resource(notes, {
        id: notes.id,
        auth,
        etag: { versionField: notes.version },
        capabilities: { enableExport: true, enableImport: true },
      }),
      resource(proofs, { id: proofs.id, auth, pow: { operations: ["create"] } }),
      resource(asked, {
        id: asked.id,
        auth,
        captcha: { operations: ["create"], action: "post" },
      }),
    ],
  });
  return { app, db };
}

const page = readFile("page.html");
const html = { "content-type": "text/html" };

/** The files of the page, which the service has beside its own paths. */
const files: Readonly<Record<string, () => Response>> = {
  "/": () => new Response(page, { headers: html }),
  // Without an origin, so that it may have neither locks nor databases.
  "/sandboxed": () =>
    new Response(page, {
      headers: { ...html, "content-security-policy": "sandbox allow-scripts" },
    }),
  "/service_worker.js": () =>
    new Response(readFile("service_worker.js"), { headers: { "content-type": "text/javascript" } }),
};

function readFile(name: string): string {
  return Deno.readTextFileSync(new URL(name, import.meta.url));
}

/** Answers with the files of the page, and with the service everywhere else. */
export function withPage(app: App): Deno.ServeHandler {
  return (request, info) => files[new URL(request.url).pathname]?.() ?? app.fetch(request, info);
}
