import { assertEquals, assertRejects } from "@std/assert";
import { solve, solveOptionRules } from "../../src/client/pow/solve.ts";
import { createApp } from "../../src/app/app.ts";
import { type AppConfig, serviceOptionRules } from "../../src/app/config.ts";
import { introspectOptionRules } from "../../src/db/introspection.ts";
import {
  billingOptionRules,
  creditsLedgerOptionRules,
  openBilling,
  openCreditsLedger,
} from "../../src/billing/open_billing.ts";
import {
  lemonSqueezy,
  lemonSqueezyOptionRules,
} from "../../src/billing/providers/lemon_squeezy/lemon_squeezy.ts";
import { paddle, paddleOptionRules } from "../../src/billing/providers/paddle/paddle.ts";
import { polar, polarOptionRules } from "../../src/billing/providers/polar/polar.ts";
import { stripeOptionRules } from "../../src/billing/providers/stripe/stripe_options.ts";
import { stripe } from "../../src/billing/providers/stripe/stripe_provider.ts";
import { flag, whole } from "../../src/options/option_kinds.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { openDatabaseOptionRules } from "../../src/engines/open_driver.ts";
import { openPglite } from "../../src/engines/postgres/driver/pglite_driver.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { postgresOptionRules } from "../../src/engines/postgres/driver/postgres_options.ts";
import { openBetterSqlite3 } from "../../src/engines/sqlite/driver/better_sqlite3_driver.ts";
import { openNodeSqlite } from "../../src/engines/sqlite/driver/node_sqlite_driver.ts";
import { sqliteOptionRules } from "../../src/db/driver_options.ts";
import {
  hcaptcha,
  recaptcha,
  recaptchaOptionRules,
  siteVerifyOptionRules,
  turnstile,
} from "../../src/guard/captcha/siteverify_protocol.ts";
import { passwordAuth } from "../../src/identity/accounts/password_auth.ts";
import { passwordAuthOptionRules } from "../../src/identity/accounts/password_auth_options.ts";
import { usersTable } from "../../src/identity/accounts/users_table.ts";
import { jwtAuth } from "../../src/identity/jwt/jwt_auth.ts";
import { jwtAuthOptionRules } from "../../src/identity/jwt/jwt_auth_options.ts";
import { apiKeyAuth, apiKeyAuthOptionRules } from "../../src/identity/keys/api_keys.ts";
import { group, groupOf, type Option } from "../../src/options/option.ts";
import { resourceOptionRules } from "../../src/resource/define/check_resource_definition.ts";
import { consoleObserver, consoleObserverOptionRules } from "../../src/runtime/console_observer.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { openSearch } from "../../src/search/opensearch/open_search.ts";
import { openSearchOptionRules } from "../../src/search/opensearch/open_search_options.ts";
import {
  postgresSearch,
  postgresSearchOptionRules,
} from "../../src/engines/postgres/search/postgres_search.ts";
import {
  sqliteSearch,
  sqliteSearchOptionRules,
} from "../../src/engines/sqlite/search/sqlite_search.ts";
import { bigint, date, decimal, integer, real, text, timestamp } from "../../mod.ts";
import {
  decimalColumnOptionRules,
  referenceOptionRules,
  textColumnOptionRules,
  valueLimitOptionRules,
} from "../../src/schema/column_options.ts";
import { table } from "../../src/schema/table.ts";
import { emptyGroups, everyGroup, everyOption, misspelt, wrongValues } from "./wrong_values.ts";

const people = table("people", { id: integer().primaryKey() });
const notes = table("notes", {
  id: integer().primaryKey(),
  title: text(),
  authorId: integer().as("author_id"),
  deletedAt: timestamp().as("deleted_at"),
});
const schema = {
  "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }) },
};

/** The values that options need which have none of their own. */
const resourceBase = {
  id: [notes.id],
  fields: {
    readable: { all: [notes.id], by: () => [notes.id] },
    writable: { all: [notes.title], by: () => [notes.title] },
    immutable: { all: [], by: () => [] },
    filterable: { all: [notes.id], by: () => [notes.id] },
    sortable: { all: [notes.id], by: () => [notes.id] },
  },
  generatedFields: [notes.id],
  pow: { operations: ["create"] },
  captcha: { operations: ["create"] },
  softDelete: { field: notes.deletedAt },
  relations: { author: { type: "belongsTo", resource: people, foreignKey: notes.authorId } },
  rateLimit: { windowMs: 1_000, maxRequests: 10 },
  procedures: { publish: { input: schema, output: schema, handler: () => null } },
  computed: { headline: () => "" },
  customOperators: { "=near=": { toSql: () => {}, matches: () => true } },
};
const system = systemRuntime(() => {});
/** The apps that start share a database, so that no test closes them. */
const withoutTimers = { ...system, clock: { ...system.clock, after: () => () => {} } };
const serviceBase = {
  secret: "sixteen or more characters",
  kv: ":memory:",
  cors: { origin: "*" },
  web: { folder: new URL("../../docs/pictures", import.meta.url).pathname, spa: "get.svg" },
  mcp: { hosts: ["api.example.com"] },
  openapi: {
    info: { license: { name: "MIT", url: "https://opensource.org/license/mit" } },
    servers: [{ url: "/v1" }],
  },
  middleware: [(_context: unknown, next: () => Promise<void>) => next()],
  changes: { exclude: [notes.title] },
  runtime: withoutTimers,
  abuseProtection: {
    budget: { classes: { anonymous: { capacity: 10, refillPerMinute: 10 } } },
    pow: { secret: "sixteen or more characters" },
    captcha: { verifier: { provider: "own", siteKey: "key", verify: () => true } },
  },
};

interface Subject {
  /** Begins the messages. */
  readonly name: string;
  /** The path of all options together; empty unless given. */
  readonly root?: string;
  readonly description: Option<unknown>;
  readonly base: Readonly<Record<string, unknown>>;
  readonly start: (options: unknown) => Promise<unknown>;
}

// A database that has written would keep a timer for a while, which a test would be blamed for.
const folder = await Deno.makeTempDir({ prefix: "resource-api-options-" });
addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
const created = await openDatabase(`sqlite:${folder}/options.db`);
await created.createTables([people, notes]);
await created.close();
const { clock } = withoutTimers;
const db = await openDatabase(`sqlite:${folder}/options.db`, { clock });
const start = (service: object, options: unknown) =>
  // Wrong on purpose.
  createApp({ db, resources: [{ table: notes, options }], ...service } as unknown as AppConfig);

const subjects: readonly Subject[] = [
  {
    name: "Cannot start",
    description: serviceOptionRules,
    base: {
      db,
      resources: [{ table: notes, options: { id: notes.id } }],
      actAs: { roles: ["anon"], as: () => ({ role: "anon" }) },
      adminUI: { roles: { edit: ["operator"] } },
      ...serviceBase,
    },
    start: (options) => start(Object(options), { id: notes.id }),
  },
  {
    name: 'Cannot serve "notes"',
    description: resourceOptionRules,
    base: { ...resourceBase, auth: { public: {} } },
    start: (options) => start(serviceBase, options),
  },
];

// Their options are read before anything is opened.
const opened: readonly Subject[] = [
  {
    description: openDatabaseOptionRules,
    start: (options: unknown) => openDatabase("sqlite::memory:", Object(options)),
  },
  {
    description: sqliteOptionRules,
    start: (options: unknown) => openBetterSqlite3(":memory:", Object(options)),
  },
  {
    description: sqliteOptionRules,
    start: (options: unknown) => openNodeSqlite(":memory:", Object(options)),
  },
  {
    description: postgresOptionRules,
    start: (options: unknown) => openPostgres("postgres://127.0.0.1:1/none", Object(options)),
  },
  {
    description: sqliteOptionRules,
    start: (options: unknown) => openPglite(":memory:", Object(options)),
  },
].map((one) => ({ ...one, name: "Cannot open the database", base: {} }));

const verifiers: readonly Subject[] = Object.entries({ turnstile, hcaptcha, recaptcha }).map(
  ([root, verifier]) => ({
    name: "Cannot start",
    root,
    description: group(
      root === "recaptcha" ? recaptchaOptionRules : siteVerifyOptionRules,
    ),
    base: { siteKey: "key", secret: "key", hostnames: ["example.com"] },
    start: (options) => Promise.try(() => verifier(Object(options))),
  }),
);

const authenticators: readonly Subject[] = [
  {
    name: "Cannot start",
    root: "jwtAuth",
    description: jwtAuthOptionRules,
    base: { secret: "sixteen or more characters", algorithms: ["HS256"] },
    start: (options) => Promise.try(() => jwtAuth(Object(options))),
  },
  {
    name: "Cannot start",
    root: "apiKeyAuth",
    description: apiKeyAuthOptionRules,
    base: {},
    start: (options) => Promise.try(() => apiKeyAuth(Object(options))),
  },
  {
    name: "Cannot start",
    root: "passwordAuth",
    description: passwordAuthOptionRules,
    base: {
      users: { table: usersTable, db },
      signup: { roles: ["reader"] },
      passwords: { scrypt: { N: 16_384, r: 8, p: 5 } },
      links: { verify: "https://example.com/verify", reset: "https://example.com/reset" },
    },
    start: (options) => Promise.try(() => passwordAuth(Object(options))),
  },
];

for (const { name, description, base, start } of subjects) {
  Deno.test(`${name}: all options together start`, async () => {
    // Only a Postgres has roles: `tests/acting` starts services with this option.
    const { actAs: _actAs, ...options } = Object(emptyGroups(description, base));
    const app = await start(options);
    // The database stays open for the next test: closing it twice does nothing.
    assertEquals(typeof app, "object");
  });
}

const secretOfWebhook = { webhookSecret: ["secret"] };
const billing: readonly Subject[] = [
  {
    name: "Cannot open billing",
    description: billingOptionRules,
    base: {
      kv: ":memory:",
      provider: paddle({ apiKey: "key", ...secretOfWebhook }),
      plans: [{ key: "pro", priceId: "pri_1", metadata: { a: "b" } }],
      returnOrigins: ["https://example.com"],
      rateLimit: { windowMs: 1_000, maxRequests: 10 },
    },
    start: (options) => openBilling(Object(options)),
  },
  {
    name: "Cannot open the ledger",
    description: creditsLedgerOptionRules,
    base: { kv: ":memory:" },
    start: (options) => openCreditsLedger(Object(options)),
  },
  {
    name: "Cannot start",
    root: "stripe",
    description: stripeOptionRules,
    base: { apiKey: "sk_test_1", ...secretOfWebhook },
    start: (options) => Promise.try(() => stripe(Object(options))),
  },
  {
    name: "Cannot start",
    root: "lemonSqueezy",
    description: lemonSqueezyOptionRules,
    base: { apiKey: "key", storeId: "1", ...secretOfWebhook },
    start: (options) => Promise.try(() => lemonSqueezy(Object(options))),
  },
  {
    name: "Cannot start",
    root: "paddle",
    description: paddleOptionRules,
    base: { apiKey: "key", ...secretOfWebhook },
    start: (options) => Promise.try(() => paddle(Object(options))),
  },
  {
    name: "Cannot start",
    root: "polar",
    description: polarOptionRules,
    base: { accessToken: "token", ...secretOfWebhook },
    start: (options) => Promise.try(() => polar(Object(options))),
  },
];

const all: readonly Subject[] = [
  ...subjects,
  ...opened,
  ...verifiers,
  ...billing,
  ...authenticators,
  {
    name: "Cannot search by SQLite",
    description: sqliteSearchOptionRules,
    base: { columns: ["title"] },
    start: (options) => Promise.try(() => sqliteSearch(Object(options))),
  },
  {
    name: "Cannot search by OpenSearch",
    description: openSearchOptionRules,
    base: {
      node: ["http://127.0.0.1:1"],
      auth: { username: "a", password: "b" },
      ssl: { ca: "-----BEGIN CERTIFICATE-----" },
    },
    start: (options) => Promise.try(() => openSearch(Object(options))),
  },
  {
    name: "Cannot search by Postgres",
    description: postgresSearchOptionRules,
    base: { columns: ["title"] },
    start: (options) => Promise.try(() => postgresSearch(Object(options))),
  },
  {
    name: "Cannot introspect the database",
    description: introspectOptionRules,
    base: { schemas: ["public"] },
    start: (options) => db.introspect(Object(options)),
  },
  {
    name: "Cannot declare a text column",
    description: textColumnOptionRules,
    base: { enum: ["draft"] },
    start: (options) => Promise.try(() => text(Object(options))),
  },
  {
    name: "Cannot declare a decimal column",
    description: decimalColumnOptionRules,
    base: {},
    start: (options) => Promise.try(() => decimal(Object(options))),
  },
  {
    name: "Cannot declare an integer column",
    description: valueLimitOptionRules.integer,
    base: {},
    start: (options) => Promise.try(() => integer(Object(options))),
  },
  {
    name: "Cannot declare a bigint column",
    description: valueLimitOptionRules.bigint,
    base: {},
    start: (options) => Promise.try(() => bigint(Object(options))),
  },
  {
    name: "Cannot declare a real column",
    description: valueLimitOptionRules.real,
    base: {},
    start: (options) => Promise.try(() => real(Object(options))),
  },
  {
    name: "Cannot declare a date column",
    description: valueLimitOptionRules.date,
    base: {},
    start: (options) => Promise.try(() => date(Object(options))),
  },
  {
    name: "Cannot declare a timestamp column",
    description: valueLimitOptionRules.timestamp,
    base: {},
    start: (options) => Promise.try(() => timestamp(Object(options))),
  },
  {
    name: "Cannot declare a foreign key",
    description: referenceOptionRules,
    base: {},
    start: (options) => Promise.try(() => integer().references(() => people.id, Object(options))),
  },
  {
    name: "Cannot observe",
    description: consoleObserverOptionRules,
    base: {},
    start: (options) => Promise.try(() => consoleObserver(Object(options))),
  },
  {
    name: "Cannot solve the challenge",
    description: solveOptionRules,
    base: {},
    start: (options) => solve({ token: "x", difficulty: 0 }, Object(options)),
  },
];

for (const { name, root = "", description, base, start } of all) {
  const full = emptyGroups(description, base);
  const shownPath = (path: readonly string[]) =>
    (root === "" ? path : [root, ...path]).join(".").replaceAll(/\.(\d+)/g, "[$1]");

  for (const { path, option } of everyOption(description, full)) {
    const shown = shownPath(path);
    Deno.test(`${name}: a wrong value of ${shown} fails the start, and is named`, async () => {
      for (const wrong of wrongValues(option)) {
        const message = await complaint(start, full, path, wrong);
        // Of a list, the message may name the element.
        const names = [" ", "[0] "].some((end) => message.startsWith(`${name}: ${shown}${end}`));
        assertEquals(names, true, `${shown}: ${Deno.inspect(wrong)}: ${message}`);
      }
    });
  }

  for (const { path, names } of everyGroup(description, full)) {
    const shown = shownPath(path);
    const owner = shown === "" ? "there is" : `${shown} has`;
    Deno.test(`${name}: a misspelt option of ${shown} fails the start, with the right name`, async () => {
      for (const known of names) {
        const message = await complaint(start, full, [...path, misspelt(known)], 1);
        const expected = `${owner} no option "${misspelt(known)}": did you mean "${known}"?`;
        assertEquals(message, `${name}: ${expected}`);
      }
      for (const inherited of ["__proto__", "toString", "constructor"]) {
        const message = await complaint(start, full, [...path, inherited], {});
        assertEquals(message.startsWith(`${name}: ${owner} no option "${inherited}"`), true);
      }
    });
  }
}

/** The message of the start with this value at the path. */
async function complaint(
  start: Subject["start"],
  base: unknown,
  path: readonly string[],
  value: unknown,
): Promise<string> {
  const error = await assertRejects(
    () => start(withValue(base, path, value)),
    Error,
    undefined,
    `${path.join(".")}: ${Deno.inspect(value)} starts`,
  );
  assertEquals(error.constructor, Error, String(error.stack));
  return error.message;
}

function withValue(base: unknown, [name, ...rest]: readonly string[], value: unknown): unknown {
  if (name === undefined) return value;
  const inner = withValue(Reflect.get(Object(base), name), rest, value);
  if (Array.isArray(base)) return base.with(Number(name), inner);
  // Not an object literal, in which __proto__ would be the prototype.
  return Object.defineProperty({ ...Object(base) }, name, { value: inner, enumerable: true });
}

Deno.test("the compiler reports an option that is not described, or described with another type", () => {
  interface Options {
    readonly on?: boolean | undefined;
  }
  const described = groupOf<Options>()({ on: flag() });
  // @ts-expect-error -- the option is missing
  groupOf<Options>()({});
  // @ts-expect-error -- there is no such option
  groupOf<Options>()({ on: flag(), off: flag() });
  // @ts-expect-error -- the option has another type
  groupOf<Options>()({ on: whole({ from: 0 }) });
  assertEquals(described.read({ on: true }, { subject: "Cannot", path: "" }), { on: true });
});
