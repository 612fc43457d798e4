import type { AbuseProtectionOptions } from "../../exports/options.ts";
import {
  all,
  type App,
  type AppConfig,
  createApp,
  type Database,
  integer,
  openDatabase,
  resource,
  type ResourceOptions,
  table,
  text,
} from "../../mod.ts";
import type { Observation } from "../../exports/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { solve } from "../../exports/proof_of_work.ts";
import { powHeaders } from "../../src/protocol/pow_protocol.ts";

export const notes = table("notes", {
  id: integer().primaryKey(),
  title: text().notNull(),
});
export type Note = typeof notes.$inferSelect;

export const open = {
  public: true,
  create: () => all(),
  update: () => all(),
  delete: () => all(),
} as const;

/** Budgets of these tests: without refill, so that no test depends on time. */
export function budget(
  anonymous: number,
  authenticated = anonymous,
): AbuseProtectionOptions["budget"] {
  return {
    classes: {
      anonymous: { capacity: anonymous, refillPerMinute: 0 },
      authenticated: { capacity: authenticated, refillPerMinute: 0 },
    },
  };
}

export interface GuardedService {
  readonly app: App;
  readonly observations: readonly Observation[];
  /** Sends a request of `user` from `address`. */
  send(method: string, path: string, options?: SendOptions): Promise<Response>;
}

export interface SendOptions {
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
  /** Null for an anonymous caller; unless set, writes are ann's. */
  readonly user?: string | null;
  readonly address?: string;
}

/** A service of notes with a guard. Bodies of answers are read before they are returned. */
export async function withGuard(
  config: Partial<AppConfig>,
  options: Partial<ResourceOptions<Note>>,
  work: (service: GuardedService) => Promise<void>,
): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  const observations: Observation[] = [];
  const app = await appOver(db, {
    kv: ":memory:",
    secret: "a secret for the tests only",
    runtime: systemRuntime((observation) => observations.push(observation)),
    auth: {
      middleware: async (context, next) => {
        const id = context.req.header("x-user");
        if (id !== undefined) context.set("user", { id });
        await next();
      },
    },
    resources: [resource(notes, { id: notes.id, auth: open, ...options })],
    ...config,
  });
  try {
    await work({
      app,
      observations,
      async send(method, path, options = {}) {
        const { body, headers = {}, address = "192.0.2.1" } = options;
        const { user = method === "GET" || method === "HEAD" ? null : "ann" } = options;
        const request = new Request(`http://test${path}`, {
          method,
          headers: {
            ...(body === undefined ? {} : { "content-type": "application/json" }),
            ...(user === null ? {} : { "x-user": user }),
            ...headers,
          },
          body: body === undefined ? null : JSON.stringify(body),
        });
        const answer = await app.fetch(request, { remoteAddr: { hostname: address } });
        const text = await answer.text();
        return new Response([204, 304].includes(answer.status) ? null : text, answer);
      },
    });
  } finally {
    await app.close();
  }
}

/** A start that fails leaves no database open. */
async function appOver(db: Database, config: Omit<AppConfig, "db">): Promise<App> {
  try {
    return await createApp({ db, ...config });
  } catch (error) {
    await db.close();
    throw error;
  }
}

/** How often each status was answered. */
export function statusCounts(answers: readonly Response[]): Readonly<Record<number, number>> {
  const counts: Record<number, number> = {};
  for (const { status } of answers) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}

/** The headers that answer a challenge. */
export async function solved(challenge: Response): Promise<Record<string, string>> {
  const token = challenge.headers.get(powHeaders.challenge) ?? "";
  const difficulty = Number(challenge.headers.get(powHeaders.difficulty));
  const nonce = await solve({ token, difficulty });
  return { [powHeaders.challenge]: token, [powHeaders.nonce]: nonce };
}
