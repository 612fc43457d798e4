import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  all,
  bigint,
  DatabaseError,
  date,
  decimal,
  gt,
  integer,
  lt,
  real,
  resource,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import type { Answer, Service } from "../support/http.ts";
import { testOnDialects, withService } from "../support/http.ts";

const ada = { "x-user": "ada" };

const rooms = table("rooms", { id: integer().primaryKey() });

const bookings = table("bookings", {
  id: integer().primaryKey(),
  roomId: integer().references(() => rooms.id),
  seats: integer({ min: 1, max: 8 }),
  account: bigint({ min: "-9007199254740993", max: "9007199254740993" }),
  weight: real({ min: -0.5, max: 2.5 }),
  price: decimal({ precision: 8, scale: 2, min: "0", max: "99.90" }),
  day: date({ min: "2026-01-01", max: "2026-12-31" }),
  at: timestamp({ min: "2026-01-01T00:00:00Z", max: "2026-12-31T23:59:59.5+00:00" }),
  code: text({ minLength: 2, maxLength: 4, pattern: /^[A-Z👍]+$/u }),
  email: text({ email: true }),
});

const open = { public: { read: true }, create: () => all(), update: () => all() };
const capabilities = { enableBatch: true, enableImport: true };
const config = () => ({
  resources: [
    resource(bookings, { id: bookings.id, auth: open, capabilities }),
    resource(rooms, {
      id: rooms.id,
      auth: open,
      capabilities,
      nestedWrites: true,
      relations: {
        bookings: { type: "hasMany", resource: "bookings", foreignKey: bookings.roomId },
      },
    }),
  ],
});

/** A field, what it takes, and what it refuses with which message. */
const cases: readonly (readonly [string, readonly unknown[], Readonly<Record<string, string>>])[] =
  [
    ["seats", [1, 8, null], { 0: "must be at least 1", 9: "must be at most 8" }],
    ["account", ["-9007199254740993", "9007199254740993"], {
      '"-9007199254740994"': "must be at least -9007199254740993",
      9007199254740994: "must be at most 9007199254740993",
    }],
    ["weight", [-0.5, 0, 2.5], { "-0.51": "must be at least -0.5", 2.51: "must be at most 2.5" }],
    ["price", ["0.00", "99.90"], {
      '"-0.01"': "must be at least 0.00",
      99.91: "must be at most 99.90",
    }],
    ["day", ["2026-01-01", "2026-12-31"], {
      '"2025-12-31"': "must be at least 2026-01-01",
      '"2027-01-01"': "must be at most 2026-12-31",
    }],
    ["at", ["2026-01-01T00:00:00Z", "2026-12-31T23:59:59.500000Z"], {
      '"2025-12-31T23:59:59.999999Z"': "must be at least 2026-01-01T00:00:00.000Z",
      '"2026-12-31T23:59:59.500001Z"': "must be at most 2026-12-31T23:59:59.500Z",
    }],
    ["code", ["AB", "👍👍👍👍"], {
      '"👍"': "must have at least 2 characters",
      '"ABCDE"': "must have at most 4 characters",
      '"AbC"': "must match ^[A-Z👍]+$",
    }],
    ["email", ["a.b+c@example.org", "x@localhost"], {
      '"a b@example.org"': "must be an e-mail address",
      '"@example.org"': "must be an e-mail address",
      '"a@-example.org"': "must be an e-mail address",
    }],
  ];

function errorsOf({ status, body }: Answer): unknown {
  return [
    status,
    body.details?.errors?.map(({ path, message }: { path: string; message: string }) =>
      `${path} ${message}`
    ),
  ];
}

testOnDialects("values beyond the rules of their column are 422 with the path", async (engine) => {
  await withService(engine, [rooms, bookings], config, async ({ send: sendAs, ...others }) => {
    const send: Service["send"] = (method, path, body) => {
      const type = path.endsWith("/import") ? { "content-type": "application/x-ndjson" } : {};
      return sendAs(method, path, body, { ...ada, ...type });
    };
    const service = { ...others, send };
    for (const [field, taken, refused] of cases) {
      for (const value of taken) {
        const created = await send("POST", "/api/bookings", { [field]: value });
        assertEquals(created.status, 201, `${field} ${value}`);
      }
      for (const [value, message] of Object.entries(refused)) {
        const answer = await send("POST", "/api/bookings", `{"${field}":${value}}`);
        assertEquals(errorsOf(answer), [422, [`${field} ${message}`]]);
      }
    }
    await checkEveryBody(service);
    await checkFilters(service);
    await checkDatabase(service);
  });
});

async function checkEveryBody({ send }: Service): Promise<void> {
  const seats = (path: string) => [422, [`${path} must be at most 8`]];
  const fault = { seats: 9 };
  const { body } = await send("POST", "/api/bookings", { seats: 2 });
  const path = `/api/bookings/${body.id}`;
  assertEquals(errorsOf(await send("PATCH", path, fault)), seats("seats"));
  assertEquals(errorsOf(await send("PUT", path, fault)), seats("seats"));
  const items = { items: [{ seats: 1 }, fault] };
  assertEquals(errorsOf(await send("POST", "/api/bookings/batch", items)), seats("items.1.seats"));
  const keyed = { items: [{ id: body.id, ...fault }] };
  const upserted = await send("POST", "/api/bookings/batch/upsert", keyed);
  assertEquals(errorsOf(upserted), seats("items.0.seats"));
  assertEquals(errorsOf(await send("PUT", "/api/bookings/batch", keyed)), seats("items.0.seats"));
  const patch = { filter: `id==${body.id}`, patch: fault };
  assertEquals(errorsOf(await send("PATCH", "/api/bookings/batch", patch)), seats("patch.seats"));
  const rows = await send("POST", "/api/bookings/import", `{"seats":1}\n{"seats":9}\n`);
  assertEquals(errorsOf(rows), seats("seats"));
  const nested = await send("POST", "/api/rooms", { bookings: [{ seats: 8 }, fault] });
  assertEquals(errorsOf(nested), seats("bookings.1.seats"));
}

/** A value that no row can have is one to compare with all the same. */
async function checkFilters({ get, db }: Service): Promise<void> {
  const countOf = async (filter: string) =>
    (await get(`/api/bookings/count?filter=${encodeURIComponent(filter)}`)).body.count;
  for (const filter of ["seats==99", "day==1999-01-01", "code==toolong", "email==none"]) {
    assertEquals(await countOf(filter), 0, filter);
  }
  const some = await countOf("seats=isnull=false");
  assertEquals(await countOf("seats>-5"), some);
  const { rows } = await db.sql`SELECT count(*) AS n FROM ${bookings} WHERE ${gt(bookings.seats, 0)}
    AND ${lt(bookings.seats, 1000)}`;
  assertEquals(Number(rows[0]?.["n"]), some);
}

/** The limits are the database's as well, for programs that write past the service. */
async function checkDatabase({ db }: Service): Promise<void> {
  const { driver } = db;
  const faulty = {
    seats: "0",
    price: "100",
    day: "'2025-01-01'",
    at: "'2027-01-01T00:00:00.000000Z'",
    code: "'A'",
  };
  for (const [column, value] of Object.entries(faulty)) {
    const text = `INSERT INTO bookings (${column}) VALUES (${value})`;
    const refused = await assertRejects(async () => await driver.query({ text, values: [] }));
    assertEquals(refused instanceof DatabaseError && refused.kind, "check", column);
  }
  await db.sql`INSERT INTO bookings (seats, code) VALUES (NULL, 'ab')`;
}

testOnDialects("the rules of columns are described", async (engine) => {
  await withService(engine, [rooms, bookings], config, async ({ get, app }) => {
    const fields = app.schema().resources.find(({ name }) => name === "bookings")?.fields ?? [];
    const field = (wanted: string) => fields.find(({ name }) => name === wanted);
    const common = { nullable: true, required: false };
    assertEquals(field("seats"), { name: "seats", type: "integer", ...common, min: 1, max: 8 });
    assertEquals(field("price"), {
      ...{ name: "price", type: "decimal", ...common, min: "0.00", max: "99.90" },
    });
    assertEquals(field("code"), {
      ...{ name: "code", type: "text", ...common },
      ...{ minLength: 2, maxLength: 4, pattern: "^[A-Z👍]+$" },
    });
    assertEquals(field("email"), { name: "email", type: "text", ...common, format: "email" });
    const { body } = await get("/__service/openapi.json");
    const schemas = Object.entries<{ properties?: Record<string, unknown> }>(
      body.components.schemas,
    );
    const sent = schemas.find(([name, { properties }]) =>
      /create/i.test(name) && properties?.["seats"] !== undefined
    )?.[1].properties ?? {};
    assertEquals(sent["seats"], {
      ...{ type: "integer", format: "int64", minimum: 1, maximum: 8, nullable: true },
    });
    assertEquals(sent["code"], {
      ...{ type: "string", minLength: 2, maxLength: 4, pattern: "^[A-Z👍]+$", nullable: true },
    });
    assertEquals(sent["email"], { type: "string", format: "email", nullable: true });
    assertEquals(sent["day"], {
      ...{ type: "string", format: "date", nullable: true },
      description: "Must be at least 2026-01-01 and at most 2026-12-31.",
    });
  });
});

Deno.test("rules that no value meets are refused where they are declared", () => {
  const faulty: readonly (readonly [() => unknown, string])[] = [
    [
      () => integer({ min: 2, max: 1 }),
      "Cannot declare an integer column: its min is above its max",
    ],
    [() => decimal({ scale: 1, min: "0.55" }), "its min must have at most 1 digits"],
    [() => date({ min: "2026-13-01" }), "Cannot declare a date column: its min must be a date"],
    [() => text({ minLength: 3, maxLength: 2 }), "minLength is above maxLength"],
    [() => text({ pattern: "(" }), "Cannot declare a text column: its pattern Invalid regular"],
    [() => text({ pattern: "(a)\\1" }), "its pattern refers to a group"],
    [() => text({ pattern: /a/i }), "pattern must be a regular expression without flags"],
    [
      () => table("t", { id: integer({ min: 1 }).primaryKey().default(0) }),
      "Cannot declare t.id: its default must be at least 1",
    ],
  ];
  for (const [declare, message] of faulty) assertThrows(declare, Error, message);
});
