import {
  all,
  type App,
  type AppConfig,
  createApp,
  type Database,
  eq,
  integer,
  openDatabase,
  resource,
  table,
  text,
} from "../../../mod.ts";
import type { Metrics } from "../../../exports/observability.ts";

export const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
  owner: text(),
});

export interface ObservedService {
  readonly app: App;
  readonly metrics: Metrics;
  /** Sends a request of this machine, and reads its answer. */
  send(method: string, path: string, options?: SendOptions): Promise<Response>;
  /** The value of a series, by its name and labels as they stand in the text; 0 without one. */
  value(series: string): Promise<number>;
}

export interface SendOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly address?: string;
  /** Whether the body of the answer is left unread. */
  readonly isStream?: boolean;
}

/** An app with observability, whose callers say in a header who they are. */
export async function withObservedService(
  config: Omit<Partial<AppConfig>, "db"> & { readonly db?: Database },
  work: (service: ObservedService) => Promise<void>,
): Promise<void> {
  const db = config.db ?? await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const write = { create: () => all(), update: () => all(), delete: () => all() };
  const app = await createApp({
    secret: "a secret for the tests only",
    resources: [
      resource(notes, {
        id: notes.id,
        capabilities: { enableBatch: true },
        auth: {
          public: { read: true, subscribe: true },
          ...write,
          update: ({ id }) => eq(notes.owner, id),
        },
      }),
    ],
    auth: {
      async middleware(context, next) {
        const id = context.req.header("x-user");
        if (id === "wrong") return context.text("Who?", 401);
        if (id !== undefined) context.set("user", { id });
        return await next();
      },
    },
    observability: true,
    ...config,
    db,
  });
  const { metrics } = app;
  if (metrics === null) throw new Error("The app has no metrics");
  try {
    await work({
      app,
      metrics,
      async send(method, path, { body, headers = {}, address = "127.0.0.1", isStream } = {}) {
        const type = body === undefined ? {} : { "content-type": "application/json" };
        const request = new Request(`http://localhost${path}`, {
          method,
          headers: { ...type, ...headers },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        const answer = await app.fetch(request, { remoteAddr: { hostname: address } });
        if (isStream === true) return answer;
        return new Response(answer.body === null ? null : await answer.text(), answer);
      },
      async value(series) {
        const line = (await metrics.text()).split("\n")
          .find((one) => one.startsWith(`${series} `));
        return Number(line?.slice(series.length + 1) ?? 0);
      },
    });
  } finally {
    await app.close();
  }
}
