import { assert, assertEquals, assertMatch, assertRejects, assertThrows } from "@std/assert";
import { createApp } from "../../src/app/app.ts";
import type { AppConfig } from "../../src/app/config.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { all } from "../../src/filter/builders.ts";
import { hcaptcha, recaptcha, turnstile } from "../../src/guard/captcha/siteverify_protocol.ts";
import {
  resource,
  type ResourceDefinition,
} from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { boolean, decimal, integer, text, timestamp } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";

const notes = table("notes", {
  id: integer().primaryKey(),
  title: text(),
  gone: boolean().notNull(),
  hidden: boolean().notNull().default(false),
  removedAt: timestamp().notNull().as("removed_at"),
});
const counts = table("counts", { id: integer().primaryKey() });
const secret = "sixteen or more characters";

/** The error of a start, whose types are wrong on purpose; null where it starts. */
async function errorOf(
  config: object,
  { options = {}, environment = {} }: {
    readonly options?: object;
    readonly environment?: Readonly<Record<string, string>>;
  } = {},
): Promise<string | null> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes, counts]);
  const runtime = {
    ...systemRuntime(() => {}),
    environment: (name: string) => environment[name],
  };
  const resources = [{ table: notes, options: { id: notes.id, ...options } }];
  const given: unknown = { db, runtime, resources, ...config };
  try {
    const app = await createApp(given as AppConfig);
    await app.close();
    return null;
  } catch (error) {
    await db.close();
    assert(error instanceof Error && error.constructor === Error, String(error));
    return error.message;
  }
}

const services: readonly (readonly [fault: string, config: object, message: string])[] = [
  [
    'env: "prod" was development',
    { env: "prod" },
    'Cannot start: env must be "development" or "production", not "prod"',
  ],
  [
    "securityHeaders: { hst } sent no header",
    { secret, securityHeaders: { hst: true } },
    'Cannot start: securityHeaders has no option "hst": did you mean "hsts"?',
  ],
  [
    'securityHeaders: "off" threw a TypeError at the first answer',
    { secret, securityHeaders: "off" },
    'Cannot start: securityHeaders must be true, false or an object, not "off"',
  ],
  [
    "cors: { origins } allowed none",
    { secret, cors: { origins: ["https://example.com"] } },
    'Cannot start: cors has no option "origins": did you mean "origin"?',
  ],
  [
    "an origin with a slash at the end allowed none",
    { secret, cors: { origin: "https://example.com/" } },
    'Cannot start: cors.origin is "https://example.com/", and an origin has no path, not even a ' +
    'slash at its end: write "https://example.com"',
  ],
  [
    "a list of origins was refused without the entry that is wrong",
    { secret, cors: { origin: ["https://a.example", "https://b.example/"] } },
    'Cannot start: cors.origin[1] is "https://b.example/", and an origin has no path, not even a ' +
    'slash at its end: write "https://b.example"',
  ],
  [
    "a pattern of origins was refused as no list",
    { secret, cors: { origin: ["*.example"] } },
    'Cannot start: cors.origin[0] is "*.example", and patterns are not supported: name each ' +
    'origin, or allow "*"',
  ],
  [
    "an origin with the port of its scheme was refused as no list",
    { secret, cors: { origin: ["https://a.example:443"] } },
    'Cannot start: cors.origin[0] is "https://a.example:443", and browsers send it in lower case, ' +
    'without the port that its scheme has anyway: write "https://a.example"',
  ],
  [
    "a host in place of an origin was refused as no list",
    { secret, cors: { origin: ["a.example"] } },
    'Cannot start: cors.origin[0] is "a.example", which is no origin: it must be a scheme and a ' +
    'host, like "https://a.example"',
  ],
  [
    "a host with a port in place of an origin was refused as no list",
    { secret, cors: { origin: "localhost:3000" } },
    'Cannot start: cors.origin is "localhost:3000", which is no origin: it must be a scheme and a ' +
    'host, like "https://localhost:3000"',
  ],
  [
    "an origin with a password was refused as no list, and is not shown",
    { secret, cors: { origin: ["https://ada:hidden@a.example"] } },
    "Cannot start: cors.origin[0] has a user, and an origin has none: like " +
    '"https://example.com"',
  ],
  [
    "an empty list of origins allows none",
    { secret, cors: { origin: [] } },
    'Cannot start: cors.origin must be an origin like "https://example.com", "*" or a list of ' +
    "origins, not a list",
  ],
  [
    'health: "no" left the routes on',
    { secret, health: "no" },
    'Cannot start: health must be true or false, not "no"',
  ],
  [
    "an empty list of secrets was a random secret",
    { secret: [] },
    "Cannot start: secret must be a string of 16 characters or more, or a list of such strings, not " +
    "a list",
  ],
  [
    "a time beyond what a timer can wait was 1 ms",
    { secret, bodyTimeoutMs: 2 ** 31 },
    "Cannot start: bodyTimeoutMs must be a whole number from 1 to 2147483647, not 2147483648",
  ],
  [
    "a base path of dots was out of reach",
    { secret, basePath: "/.." },
    'Cannot start: basePath must be "" or a path like "/api", with no slash at the end, not "/.."',
  ],
];

for (const [fault, config, message] of services) {
  Deno.test(`${fault}: it fails the start`, async () => {
    assertEquals(await errorOf(config), message);
  });
}

const resources: readonly (readonly [fault: string, options: object, message: string])[] = [
  [
    'auth.public: { read: "no" } opened reads',
    { auth: { public: { read: "no" } } },
    'auth.public.read must be true, false or a function that gives a filter, not "no"',
  ],
  [
    "auth.public: { create: true } was said to be a misspelt read",
    { auth: { public: { create: true } } },
    "auth.public cannot open create: only read and subscribe can be public",
  ],
  [
    "auth.public: { list: true } was said to be a misspelt read",
    { auth: { public: { list: true } } },
    'auth.public has no option "list"; known are read, subscribe',
  ],
  [
    'etag.algorithm: "Strong" was weak',
    { etag: { algorithm: "Strong" } },
    'etag.algorithm must be "weak" or "strong", not "Strong"',
  ],
  [
    "a hook that is no function failed each write",
    { hooks: { onBeforeCreate: "audit" } },
    "hooks.onBeforeCreate must be a function, not a string",
  ],
  [
    "a hook that is a generator never ran",
    { hooks: { *onBeforeCreate() {} } },
    "hooks.onBeforeCreate is a generator, which never runs: it must be a function",
  ],
  [
    "a hook with no time failed each write",
    { hooks: { timeoutMs: 0 } },
    "hooks.timeoutMs must be a whole number from 1 to 2147483647, not 0",
  ],
  [
    "a custom operator that is no function failed each filter",
    { customOperators: { "=near=": { toSql: true, matches: () => true } } },
    "customOperators.=near=.toSql must be a synchronous function, not true",
  ],
  [
    "a custom operator that is asynchronous matched every row",
    { customOperators: { "=near=": { toSql: () => {}, matches: async () => await false } } },
    "customOperators.=near=.matches is asynchronous: it must be a synchronous function",
  ],
  [
    "an asynchronous computed field was {}",
    { computed: { price: async () => await 1 } },
    "computed.price is asynchronous: it must be a synchronous function",
  ],
  [
    "softDelete on the key changed it",
    { softDelete: { field: notes.id } },
    'softDelete.field must be no part of the primary key, and "id" is',
  ],
  [
    "softDelete on a column without a default failed each POST",
    { auth: { create: () => all() }, softDelete: { field: notes.gone } },
    'softDelete.field: nothing can fill "gone" of a new row: make it writable or generated, give ' +
    "it a default, or set it in onBeforeCreate",
  ],
  [
    "softDelete on a timestamp that is never NULL hid every row",
    { softDelete: { field: notes.removedAt } },
    'softDelete.field must be nullable: NULL is a live row of "removedAt"',
  ],
  [
    "etag.versionField of another table was taken for its own",
    { etag: { versionField: counts.id } },
    'etag.versionField names "id" of another table, "counts"',
  ],
  [
    "a path in a spelling that no request has was out of reach",
    { path: "%6eotes" },
    'path must be like "notes", with no slash at an end and what a URL cannot hold ' +
    'percent-encoded, not "%6eotes"',
  ],
];

for (const [fault, options, message] of resources) {
  Deno.test(`${fault}: it fails the start`, async () => {
    assertEquals(await errorOf({ secret }, { options }), `Cannot serve "notes": ${message}`);
  });
}

Deno.test("softDelete on a column that is filled by a default, a body or a hook starts", async () => {
  const create = { create: () => all() };
  for (
    const options of [
      { auth: create, softDelete: { field: notes.hidden } },
      {
        auth: create,
        softDelete: { field: notes.gone },
        fields: { writable: [notes.gone, notes.removedAt] },
      },
      { auth: create, softDelete: { field: notes.gone }, hooks: { onBeforeCreate: () => {} } },
      { softDelete: { field: notes.gone } },
    ]
  ) {
    assertEquals(await errorOf({ secret }, { options }), null);
  }
});

Deno.test("SERVICE_ENV=prod was development, and a short SERVICE_SECRET named the option: both fail the start", async () => {
  assertEquals(
    await errorOf({ secret }, { environment: { SERVICE_ENV: "prod" } }),
    'Cannot start: SERVICE_ENV must be "development" or "production", not "prod"',
  );
  assertEquals(
    await errorOf({}, { environment: { SERVICE_SECRET: "short" } }),
    "Cannot start: SERVICE_SECRET is shorter than 16 characters",
  );
  assertEquals(
    await errorOf({ secret }, { environment: { SERVICE_ENV: "" } }),
    null,
  );
});

const keys = { siteKey: "key", secret: "the-secret-of-the-site" };

Deno.test("turnstile({ hostname }) let every host pass, recaptcha({ minscore }) every score: both are refused", () => {
  // Wrong on purpose.
  const misspelt = { hostname: "example.com", minscore: 0.5 } as object;
  const verifiers = { turnstile, hcaptcha, recaptcha };
  for (const [name, verifier] of Object.entries(verifiers)) {
    assertThrows(
      () => verifier({ ...keys, ...misspelt }),
      Error,
      `Cannot start: ${name} has no option "hostname": did you mean "hostnames"?`,
    );
    const hosts = { hostnames: "example.com" } as object;
    const error = assertThrows(() => verifier({ ...keys, ...hosts }), Error);
    assertMatch(error.message, RegExp(`^Cannot start: ${name}.hostnames must be a list of hosts`));
    const secret = assertThrows(() => verifier({ ...keys, secret: "the key of Ada\n" }), Error);
    assertMatch(secret.message, RegExp(`^Cannot start: ${name}.secret must be .*, not a string$`));
  }
  const { minscore } = { minscore: 0.5 };
  assertThrows(
    () => recaptcha({ ...keys, ...{ minscore } as object }),
    Error,
    'Cannot start: recaptcha has no option "minscore": did you mean "minScore"?',
  );
});

Deno.test('readOnly: "yes" opened for writing, waitLimitMs: "5s" never ended: both are refused', async () => {
  // Wrong on purpose.
  const wrong = { readOnly: "yes", waitLimitMs: "5s" } as object;
  for (const url of ["sqlite::memory:", "node-sqlite::memory:", "postgres://127.0.0.1:1/none"]) {
    await assertRejects(
      () => openDatabase(url, wrong),
      Error,
      'Cannot open the database: readOnly must be true or false, not "yes"',
    );
    await assertRejects(
      () => openDatabase(url, { ...wrong, readOnly: true }),
      Error,
      'Cannot open the database: waitLimitMs must be a whole number from 1 to 2147483647, not "5s"',
    );
  }
});

Deno.test("decimal({ precison }) had any number of digits, and text({ maxlength }) any length: both are refused", () => {
  // Wrong on purpose.
  assertThrows(
    () => decimal({ precison: 10 } as object),
    Error,
    'Cannot declare a decimal column: there is no option "precison": did you mean "precision"?',
  );
  assertThrows(
    () => text({ maxlength: 10 } as object),
    Error,
    'Cannot declare a text column: there is no option "maxlength": did you mean "maxLength"?',
  );
});

Deno.test("a key in changes.exclude is refused, whether changes are recorded or not", async () => {
  assertEquals(
    await errorOf({ secret, changes: { exclude: [notes.title, notes.id] } }),
    "Cannot start: changes.exclude[1] must not be notes.id: without the key a row cannot be " +
      "identified",
  );
});

const shadows: readonly (readonly [path: string, config: object])[] = [
  ["notes/count", {}],
  ["notes/aggregate", {}],
  ["notes/batch", {}],
  ["notes/rpc", {}],
  ["notes/rpc/publish", {}],
  ["auth", { auth: { routes: { fetch: () => new Response() } } }],
  ["auth/keys", { auth: { routes: { fetch: () => new Response() } } }],
  ["healthz", { basePath: "" }],
  ["readyz", { basePath: "" }],
  ["__service", { basePath: "" }],
  ["__service/problems", { basePath: "" }],
  ["__service/problems/not-found", { basePath: "" }],
];

const schema = {
  "~standard": { version: 1 as const, vendor: "test", validate: (value: unknown) => ({ value }) },
};

for (const [path, config] of shadows) {
  Deno.test(`a resource at ${path} took the place of another route: it fails the start`, async () => {
    const publish = { input: schema, output: schema, handler: () => null };
    const message = await errorOf({
      secret,
      ...config,
      resources: [
        resource(notes, { id: notes.id, procedures: { publish } }),
        resource(counts, { id: counts.id, path }),
      ],
    });
    assertMatch(message ?? "it starts", RegExp(`^Cannot serve .* at (/api)?/${path}: `));
  });
}

Deno.test("a resource below another one, at no route of it, starts", async () => {
  for (const path of ["notes/archive", "notes/batches/count", "healthz"]) {
    const resources = [
      resource(notes, { id: notes.id }),
      resource(counts, { id: counts.id, path }),
    ];
    assertEquals(await errorOf({ secret, resources }), null, path);
  }
});

Deno.test("a getter is read once, so that what was checked is what is used", async () => {
  let reads = 0;
  const getter = {
    get public() {
      return reads++ === 0 ? { read: false } : { read: "yes" };
    },
  };
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  // Wrong on purpose.
  const given: unknown = { table: notes, options: { id: notes.id, auth: getter } };
  const app = await createApp({ db, secret, resources: [given as ResourceDefinition] });
  assertEquals((await app.fetch(new Request("http://localhost/api/notes"))).status, 401);
  assertEquals(reads, 1);
  await app.close();
});

Deno.test("hooks that are methods of an object keep their object", async () => {
  class Audit {
    readonly #ids: unknown[] = [];
    onBeforeCreate(_context: unknown, data: { readonly id?: number | undefined }): void {
      this.#ids.push(data.id);
    }
    count(): number {
      return this.#ids.length;
    }
  }
  const hooks = new Audit();
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([counts]);
  const app = await createApp({
    db,
    secret,
    auth: {
      middleware: async (c, next) => {
        c.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [resource(counts, { id: counts.id, auth: { create: () => all() }, hooks })],
  });
  const created = await app.fetch(
    new Request("http://localhost/api/counts", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{}",
    }),
  );
  assertEquals([created.status, hooks.count()], [201, 1]);
  await app.close();
});
