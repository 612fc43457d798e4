import { apiKeyAuth, jwtAuth, passwordAuth } from "../../exports/auth.ts";
import { openBilling, paddle } from "../../exports/billing.ts";
import { memorySearch } from "../../exports/search.ts";
import { turnstile } from "../../exports/captcha.ts";
import {
  all,
  type App,
  createApp,
  decimal,
  integer,
  openDatabase,
  resource,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { describedResources, describedTables } from "./described_service.ts";

const things = table("order things", {
  order: integer().primaryKey(),
  line: text().primaryKey(),
  name: text(),
  price: decimal({ precision: 8, scale: 2, min: "0.5" }).notNull().default("9.00"),
  zqsecretCode: text().notNull().default("zqsecret-default"),
  deletedAt: timestamp(),
  updatedAt: timestamp().notNull(),
});

const granted = {
  read: () => all(),
  create: () => all(),
  update: () => all(),
  delete: () => all(),
};

/** Runs `work` with an app that has every option whose routes or answers a document describes. */
export async function withEverything(work: (app: App) => Promise<void>): Promise<void> {
  const runtime = systemRuntime(() => {});
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([...describedTables, things]);
  const billing = await openBilling({
    kv: ":memory:",
    provider: paddle({ apiKey: "pdl_key", webhookSecret: "pdl_ntfset_test" }),
    plans: [{ key: "starter", priceId: "pri_starter", type: "one_time", credits: 5 }],
  });
  const app = await createApp({
    db,
    runtime,
    kv: ":memory:",
    secret: "a secret for the tests only",
    cors: true,
    search: memorySearch(),
    openapi: {
      ui: true,
      info: {
        title: "Everything",
        version: "2.1.0",
        description: "Every option.",
        license: { name: "MIT", url: "https://opensource.org/license/mit" },
      },
      servers: [{ url: "https://api.test/v2", description: "The tests" }],
    },
    auth: {
      use: [
        jwtAuth({ secret: "a secret of thirty-two characters" }),
        apiKeyAuth({ header: "X-Key" }),
        passwordAuth({ users: "kv", signup: { verify: true }, sendMail: () => {}, links }),
      ],
    },
    abuseProtection: {
      budget: { classes: { anonymous: { capacity: 100, refillPerMinute: 10 } } },
      pow: {},
      captcha: { verifier: turnstile({ siteKey: "site", secret: "secret" }) },
    },
    resources: [
      ...describedResources(),
      resource(things, {
        id: [things.order, things.line],
        auth: { ...granted, public: { subscribe: true } },
        fields: {
          readable: [things.order, things.line, things.name, things.price, things.updatedAt],
        },
        strictInput: true,
        etag: { updatedAtField: things.updatedAt, require: true, algorithm: "strong" },
        generatedFields: [things.updatedAt],
        softDelete: { field: things.deletedAt },
        capabilities: { enableExport: true },
        rateLimit: { windowMs: 60_000, maxRequests: 1_000 },
        pow: { operations: ["create"] },
        captcha: { operations: ["delete"], action: "delete" },
        overflow: "captcha",
        customOperators: {
          "=near=": {
            toSql: () => {
              throw new Error("not called");
            },
            matches: () => false,
          },
        },
      }),
    ],
  });
  app.hono.route("/api/billing", billing.routes);
  try {
    await work(app);
  } finally {
    await app.close();
    await billing.close();
  }
}

const links = { verify: "https://app.test/verify", reset: "https://app.test/reset" };
