import { type App, type AppConfig, createApp, eq, openDatabase, resource } from "../../mod.ts";
import { type Database, integer, table, text, type User } from "../../mod.ts";
import { type Mail, passwordAuth } from "../../exports/auth.ts";
import type { PasswordAuthOptions } from "../../exports/auth.ts";
import type { Observation, Runtime } from "../../exports/runtime.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import type { Answer } from "../support/http.ts";
import { handClock } from "../db/hand_clock.ts";

export const notes = table("notes", {
  id: integer().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text().notNull(),
});

/** Takes ten milliseconds: most tests are not about the cost. */
export const cheapHash = { scrypt: { N: 4_096, r: 8, p: 1 } } as const;

export const links = {
  verify: "https://page.test/verify",
  reset: "https://page.test/reset",
} as const;

export const password = "correct horse battery staple";
export const ada = { email: "ada@example.com", password } as const;

/** What a request of these tests has beside its body. */
export interface SendOptions {
  readonly headers?: Record<string, string>;
  readonly address?: string;
  readonly host?: string;
}

/** An app with accounts under test, called in process. */
export interface AccountsUnderTest {
  readonly app: App;
  readonly db: Database;
  readonly mails: Mail[];
  readonly observations: readonly Observation[];
  /** Moves the clock. */
  advance(ms: number): void;
  send(method: string, path: string, body?: unknown, options?: SendOptions): Promise<Answer>;
  post(path: string, body?: unknown, options?: SendOptions): Promise<Answer>;
  /** Signs up and follows the link. */
  signUp(who?: { readonly email: string; readonly password: string }): Promise<void>;
  /** Logs in, and gives the cookie of the session. */
  logIn(who?: { readonly email: string; readonly password: string }): Promise<string>;
  /** The token of the last mail. */
  token(): string;
}

/** The headers of a page of the service itself, with its cookie. */
export function ownPage(cookie: string): Record<string, string> {
  return { cookie, "sec-fetch-site": "same-origin", origin: "http://localhost" };
}

export interface AccountsOptions {
  readonly config?: Partial<AppConfig>;
  readonly db?: Database;
  /** Without it the clock of the machine. */
  readonly movesClock?: boolean;
}

/** Runs `work` against an app with accounts. */
export async function withAccounts(
  options: PasswordAuthOptions,
  work: (service: AccountsUnderTest) => Promise<void>,
  { config = {}, db: given, movesClock = false }: AccountsOptions = {},
): Promise<void> {
  const db = given ?? await openDatabase("sqlite::memory:");
  const observations: Observation[] = [];
  const mails: Mail[] = [];
  const hand = handClock();
  const system = systemRuntime((observation) => observations.push(observation));
  // From 2026 on, and without the timers of the app, which no test waits for.
  const clock = { ...hand.clock, now: () => 1_800_000_000_000 + hand.clock.now() };
  const runtime: Runtime = movesClock ? { ...system, clock } : system;
  let app: App | null = null;
  try {
    await db.createTables([notes]);
    const own = (user: User) => eq(notes.ownerId, user.id);
    app = await createApp({
      db,
      runtime,
      kv: ":memory:",
      secret: "a secret for the tests only",
      resources: [
        resource(notes, {
          id: notes.id,
          auth: { read: own, create: own, update: own, delete: own, subscribe: own },
          generatedFields: [notes.ownerId],
        }),
      ],
      ...config,
      auth: {
        use: [
          passwordAuth({
            passwords: cheapHash,
            sendMail: (mail) => void mails.push(mail),
            links,
            ...options,
          }),
        ],
        ...config.auth,
      },
    });
    await work(underTest({ app, db, mails, observations, advance: hand.advance }));
  } finally {
    await app?.close();
    await db.close();
  }
}

function underTest(
  parts: Pick<AccountsUnderTest, "app" | "db" | "mails" | "observations" | "advance">,
): AccountsUnderTest {
  const { app, mails } = parts;
  const send: AccountsUnderTest["send"] = async (method, path, body, options = {}) => {
    const { headers = {}, address = "192.0.2.1", host = "localhost" } = options;
    const request = new Request(`http://${host}${path}`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      body: body === undefined ? null : typeof body === "string" ? body : JSON.stringify(body),
    });
    const response = await app.fetch(request, { remoteAddr: { hostname: address } });
    const text = await response.text();
    const isJson = /[/+]json\b/.test(response.headers.get("content-type") ?? "") && text !== "";
    return {
      status: response.status,
      headers: response.headers,
      body: isJson ? JSON.parse(text) : text,
    };
  };
  const post: AccountsUnderTest["post"] = (path, body, options) =>
    send("POST", path, body, options);
  const token = () => mails.at(-1)?.link?.replace(/.*#token=/, "") ?? "";
  const logIn: AccountsUnderTest["logIn"] = async (who = ada) => {
    const answer = await post("/api/auth/login", who);
    if (answer.status !== 200) throw new Error(`${answer.status}: ${JSON.stringify(answer.body)}`);
    return answer.headers.get("set-cookie")?.split(";")[0] ?? "";
  };
  return {
    ...parts,
    send,
    post,
    token,
    logIn,
    async signUp(who = ada) {
      const before = mails.length;
      await post("/api/auth/signup", who);
      await untilMailed(mails, before + 1);
      const { status } = await post("/api/auth/verify", { token: token(), password: who.password });
      if (status !== 200) throw new Error(`Not verified: ${status}`);
    },
  };
}

/** Mails are sent after the answer. */
export async function untilMailed(mails: readonly Mail[], count: number): Promise<void> {
  for (let turns = 0; mails.length < count; turns++) {
    if (turns === 2_000) throw new Error(`There are ${mails.length} mails, not ${count}`);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

/** Enough turns for what is done after an answer: for tests that nothing is. */
export async function afterBackgroundTasks(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setTimeout(resolve, 1));
}
