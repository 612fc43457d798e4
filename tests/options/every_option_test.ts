import { assertEquals, assertRejects } from "@std/assert";
import { createApp } from "../../src/app.ts";
import type { AppConfig } from "../../src/config.ts";
import { serviceOptions } from "../../src/config_options.ts";
import { openDatabase } from "../../src/db/open_database.ts";
import type { Option } from "../../src/options/option.ts";
import { resourceOptions } from "../../src/resource/define/read_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { integer, text, timestamp } from "../../src/schema/column_builder.ts";
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
  fields: { readable: [notes.id], writable: [notes.title], filterable: [notes.id] },
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
const serviceBase = {
  secret: "sixteen or more characters",
  kv: ":memory:",
  cors: { origin: "*" },
  middleware: [(_context: unknown, next: () => Promise<void>) => next()],
  changes: { exclude: [notes.title] },
  runtime: systemRuntime(() => {}),
  abuseProtection: {
    budget: { classes: { anonymous: { capacity: 10, refillPerMinute: 10 } } },
    pow: { secret: "sixteen or more characters" },
    captcha: { verifier: { provider: "own", siteKey: "key", verify: () => true } },
  },
};

interface Subject {
  readonly name: string;
  readonly description: Option<unknown>;
  readonly base: Readonly<Record<string, unknown>>;
  readonly start: (options: unknown) => Promise<unknown>;
}

const db = await openDatabase("sqlite::memory:");
await db.createTables([people, notes]);
const start = (service: object, options: unknown) =>
  // Wrong on purpose.
  createApp({ db, resources: [{ table: notes, options }], ...service } as unknown as AppConfig);

const subjects: readonly Subject[] = [
  {
    name: "Cannot start",
    description: serviceOptions,
    base: { db, resources: [{ table: notes, options: { id: notes.id } }], ...serviceBase },
    start: (options) => start(Object(options), { id: notes.id }),
  },
  {
    name: 'Cannot serve "notes"',
    description: resourceOptions,
    base: { ...resourceBase, auth: { public: {} } },
    start: (options) => start(serviceBase, options),
  },
];

for (const { name, description, base, start } of subjects) {
  const full = emptyGroups(description, base);

  Deno.test(`${name}: all options together start`, async () => {
    const app = await start(full);
    // The database stays open for the next test: closing it twice does nothing.
    assertEquals(typeof app, "object");
  });

  for (const { path, option } of everyOption(description, full)) {
    const shown = path.join(".").replaceAll(/\.(\d+)/g, "[$1]");
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
    const shown = path.length === 0 ? "the configuration" : path.join(".");
    Deno.test(`${name}: a misspelt option of ${shown} fails the start, with the right name`, async () => {
      for (const known of names) {
        const message = await complaint(start, full, [...path, misspelt(known)], 1);
        const expected = `${shown} has no option "${misspelt(known)}": did you mean "${known}"?`;
        assertEquals(message, `${name}: ${expected}`);
      }
      for (const inherited of ["__proto__", "toString", "constructor"]) {
        const message = await complaint(start, full, [...path, inherited], {});
        assertEquals(message.startsWith(`${name}: ${shown} has no option "${inherited}"`), true);
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
