import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import {
  all,
  and,
  bigint,
  boolean,
  check,
  date,
  decimal,
  eq,
  foreignKey,
  gt,
  gte,
  index,
  inList,
  integer,
  isNull,
  like,
  lt,
  lte,
  ne,
  openDatabase,
  or,
  real,
  resource,
  table,
  text,
  timestamp,
  unique,
  uuid,
} from "../../mod.ts";
import { constraintName } from "../../src/schema/constraint_name.ts";
import type { TablePart } from "../../exports/schema.ts";
import type { EventStream } from "../support/event_stream.ts";
import { type Answer, type Service, testOnDialects, withService } from "../support/http.ts";

const ada = { "x-user": "ada" };

const teams = table("teams", {
  id: integer().primaryKey(),
  slug: text().notNull().unique(),
});

const members = table("members", {
  id: integer().primaryKey(),
  teamId: integer().notNull().as("team_id").references(() => teams.id, { onDelete: "cascade" }),
  email: text().notNull(),
  rank: integer(),
  leftAt: timestamp().as("left_at"),
}, (members) => [
  unique(members.teamId, members.email),
  unique(members.email).where(isNull(members.leftAt)),
  check(gt(members.rank, 0)),
  check("length(email) > 2 AND rank < 100").as("long_email"),
]);

const tasks = table("tasks", {
  id: integer().primaryKey(),
  memberId: integer().as("member_id").references(() => members.id, { onDelete: "set null" }),
  teamSlug: text().as("team_slug").references(() => teams.slug, { onUpdate: "cascade" }),
  state: text().notNull().default("open"),
}, (tasks) => [
  index(tasks.teamSlug, tasks.state),
  check(inList(tasks.state, ["open", "done"])),
]);

const shifts = table("shifts", {
  id: integer().primaryKey(),
  teamId: integer(),
  email: text(),
}, (shifts) => [
  foreignKey([shifts.teamId, shifts.email], () => [members.teamId, members.email]),
]);

const tables = [teams, members, tasks, shifts];
const open = {
  public: { read: true, subscribe: true },
  create: () => all(),
  update: () => all(),
  delete: () => all(),
} as const;

function service(mode: "triggers" | "service") {
  return () => ({
    changes: { mode },
    resources: [
      resource(teams, { id: teams.id, auth: open }),
      resource(members, { id: members.id, auth: open }),
      resource(tasks, { id: tasks.id, auth: open }),
      resource(shifts, { id: shifts.id, auth: open }),
    ],
  });
}

/** The fields that a refusal names, in a line. */
function refusal({ status, body }: Answer): string {
  const errors: readonly { path: string; message: string }[] = body.details?.errors ?? [];
  return [status, ...errors.map(({ path, message }) => `${path} ${message}`)].join(", ");
}

testOnDialects("refused rows name the fields of the constraint", async (engine) => {
  await withService(engine, tables, service("triggers"), async ({ send: sendAs, db }) => {
    const send: Service["send"] = (method, path, body) => sendAs(method, path, body, ada);
    const create = async (path: string, body: unknown) =>
      refusal(await send("POST", `/api/${path}`, body));
    await send("POST", "/api/teams", { id: 1, slug: "red" });
    await send("POST", "/api/teams", { id: 2, slug: "blue" });
    const email = "ada@x";
    assertEquals(await create("members", { teamId: 1, email, rank: 1 }), "201");
    assertEquals(
      await create("members", { teamId: 1, email, leftAt: "2026-01-01T00:00:00Z" }),
      "409, teamId is taken by another row, together with email, " +
        "email is taken by another row, together with teamId",
    );
    assertEquals(
      await create("members", { teamId: 2, email }),
      "409, email is taken by another row",
    );
    assertEquals(
      await create("members", { teamId: 2, email, leftAt: "2026-01-01T00:00:00Z" }),
      "201",
    );
    assertEquals(
      await create("members", { teamId: 1, email: "bob@x", rank: 0 }),
      "422, rank does not pass a check of the database",
    );
    assertEquals(
      await create("members", { teamId: 1, email: "b@", rank: 1 }),
      "422, email does not pass a check of the database, together with rank, " +
        "rank does not pass a check of the database, together with email",
    );
    assertEquals(
      await create("tasks", { state: "lost" }),
      "422, state does not pass a check of the database",
    );
    assertEquals(
      refusal(await send("POST", "/api/shifts", { teamId: 1, email: "nobody@x" })),
      "409, teamId refers to no row, together with email, " +
        "email refers to no row, together with teamId",
    );
    // Both stay as they are, and so do their indexes.
    await db.createTables(tables);
    const { rows } = await db.driver.query({ text: db.driver.dialect.leadingColumns, values: [] });
    const leading = new Set(rows.map(([, table, column]) => `${table}.${column}`));
    for (const indexed of ["members.team_id", "tasks.member_id", "tasks.team_slug"]) {
      assertEquals(leading.has(indexed), true, indexed);
    }
    assertEquals(leading.has("members.email"), false, "a partial index leads no lookup");
  });
});

const things = table("things", {
  id: integer().primaryKey(),
  title: text(),
  size: integer(),
  large: bigint(),
  weight: real(),
  price: decimal({ precision: 8, scale: 2 }),
  isOpen: boolean().as("is open"),
  at: timestamp(),
  day: date(),
  mark: uuid(),
}, (things) => [
  check(ne(things.title, "it's")),
  check(lte(things.size, 5)),
  check(or(isNull(things.large), gt(things.large, "9007199254740993"))),
  check(gte(things.weight, 0.5)),
  check(inList(things.price, ["1.50", "2.00"])),
  check(eq(things.isOpen, true)),
  check(and(gte(things.at, "2026-01-01T00:00:00Z"), lt(things.at, "2027-01-01T00:00:00Z"))),
  check(lt(things.day, "2026-06-01")),
  check(ne(things.mark, "00000000-0000-0000-0000-000000000001")),
]);

/** Of each column a value that passes its check, and one that does not. */
const passing: Readonly<Record<string, readonly [unknown, unknown]>> = {
  title: ["its", "it's"],
  size: [5, 6],
  large: ["9007199254740994", "9007199254740993"],
  weight: [0.5, 0.25],
  price: ["1.50", "1.51"],
  isOpen: [true, false],
  at: ["2026-12-31T23:59:59.999999Z", "2027-01-01T00:00:00Z"],
  day: ["2026-05-31", "2026-06-01"],
  mark: ["00000000-0000-0000-0000-000000000002", "00000000-0000-0000-0000-000000000001"],
};

testOnDialects("a check by a filter means the same in the database", async (engine) => {
  const resources = () => ({ resources: [resource(things, { id: things.id, auth: open })] });
  await withService(engine, [things], resources, async ({ send }) => {
    for (const [field, values] of Object.entries(passing)) {
      const [taken, refused] = await Promise.all(
        values.map((value) => send("POST", "/api/things", { [field]: value }, ada)),
      );
      assertEquals([taken?.status, taken?.body[field]], [201, values[0]], field);
      assertEquals(refused && refusal(refused).startsWith(`422, ${field} does not`), true, field);
    }
    assertEquals((await send("POST", "/api/things", {}, ada)).status, 201, "NULL fails none");
  });
});

for (const mode of ["triggers", "service"] as const) {
  testOnDialects(`streams see the rows that cascades change, by ${mode}`, async (engine) => {
    await withService(engine, tables, service(mode), async ({ send: sendAs, subscribe }) => {
      const send: Service["send"] = (method, path, body) => sendAs(method, path, body, ada);
      await send("POST", "/api/teams", { id: 1, slug: "red" });
      await send("POST", "/api/members", { id: 1, teamId: 1, email: "ada@x" });
      await send("POST", "/api/tasks", { id: 1, memberId: 1 });
      const ofMembers = await subscribe("/api/members/subscribe");
      const ofTasks = await subscribe("/api/tasks/subscribe");
      await ofMembers.untilSynced();
      await ofTasks.untilSynced();
      assertEquals((await send("DELETE", "/api/teams/1")).status, 204);
      // Only the database knows which rows these are, and only triggers can record them.
      const isTold = mode === "triggers" || engine.name !== "postgres";
      assertEquals(await firstEvent(ofMembers), isTold ? "removed 1 -" : "invalidate undefined -");
      assertEquals(await firstEvent(ofTasks), isTold ? "changed 1 null" : "invalidate undefined -");
      await ofMembers.close();
      await ofTasks.close();
    });
  });
}

/** Of a task, the member that it has then. */
async function firstEvent(stream: EventStream): Promise<string> {
  // Nothing else keeps the process alive while the stream catches up.
  const timer = setInterval(() => {}, 1_000);
  using _ = { [Symbol.dispose]: () => clearInterval(timer) };
  const [event] = await stream.take(1);
  const { item, id } = event?.data ?? {};
  return `${event?.type} ${id} ${item === undefined ? "-" : item.memberId}`;
}

Deno.test("parts of a table that mean nothing are refused where they are declared", async () => {
  const declare = (parts: (table: typeof tasks) => readonly TablePart[]) => () =>
    table("tasks", { id: integer().primaryKey(), state: text() }, parts as never);
  const faulty: readonly (readonly [() => unknown, string])[] = [
    [declare(() => [index(teams.slug)]), '"slug" is a column of "teams"'],
    [declare(() => [index()]), "Cannot declare an index without columns"],
    [declare((one) => [check(eq(one.state, undefined))]), "the same for all rows"],
    [declare((one) => [check(like(one.state, "a%"))]), ": write it in SQL"],
    [declare(() => [check(" ")]), "Cannot declare a condition without SQL"],
    [declare(() => index(teams.slug) as never), "its third argument must return a list"],
    [
      () =>
        table("t", {
          id: integer().primaryKey(),
          other: integer().notNull().references(() => teams.id, { onDelete: "set null" }),
        }),
      'Cannot declare t.other: "set null" needs a column that may be NULL',
    ],
    [
      () => integer().references(() => teams.id, { onDelete: "erase" as never }),
      "Cannot declare a foreign key: onDelete must be",
    ],
    [
      () => table("t", { id: integer().primaryKey().generatedAs("1") }),
      "Cannot declare t.id: a generated column is no key and has no default",
    ],
  ];
  for (const [work, message] of faulty) assertThrows(work, Error, message);
  const uneven = table(
    "uneven",
    { id: integer().primaryKey(), a: integer() },
    (one) => [foreignKey([one.a], () => [teams.id, teams.slug])],
  );
  const db = await openDatabase("sqlite::memory:");
  await assertRejects(
    () => db.createTables([uneven]),
    Error,
    "must refer to 1 columns of one table",
  );
  const [first, second] = [
    table("a_b", { id: integer().primaryKey(), c: text() }, (one) => [index(one.c)]),
    table("a", { id: integer().primaryKey(), b_c: text() }, (one) => [index(one.b_c)]),
  ];
  await assertRejects(() => db.createTables([first, second]), Error, 'one of "a_b" has this name');
  await db.close();
});

Deno.test("names of constraints fit into what Postgres keeps", () => {
  assertEquals(constraintName(["notes", "title"], "idx"), "notes_title_idx");
  const long = ["é".repeat(20), "x".repeat(40)];
  const name = constraintName(long, "key");
  assertEquals(new TextEncoder().encode(name).length <= 63, true);
  assertEquals(name === constraintName([long[0]!, `${long[1]}x`], "key"), false);
  assertEquals(name, constraintName(long, "key"));
});
