import { assertEquals, assertRejects, assertStringIncludes } from "@std/assert";
import { all, integer, Problem, resource, table, text } from "../../mod.ts";
import type { FieldOptions } from "../../exports/options.ts";
import { writeApiTypes } from "../../src/openapi/api_types.ts";
import { type Engine, engines } from "../support/engines.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";

const staff = table("staff", {
  id: integer().primaryKey(),
  name: text().notNull(),
  team: text().notNull(),
  salary: integer().notNull(),
  note: text(),
});

type Staff = typeof staff.$inferSelect;

const chief = { "x-user": "chief" };
const clerk = { "x-user": "clerk" };

/** The chief sees the salaries, other users the teams, and callers without a user only names. */
const byRole: FieldOptions<Staff, "staff"> = {
  readable: {
    all: [staff.id, staff.name, staff.team, staff.salary],
    by: (user) => [
      ...[staff.id, staff.name],
      ...(user === null ? [] : [staff.team]),
      ...(user?.id === "chief" ? [staff.salary, staff.note] : []),
    ],
  },
  writable: (user) => user?.id === "chief" ? [staff.name, staff.salary] : [staff.name],
};

function withStaff(
  engine: Engine,
  fields: FieldOptions<Staff, "staff">,
  work: (service: Service) => Promise<void>,
  config: object = {},
  options: object = {},
): Promise<void> {
  return withService(engine, [staff], () => ({
    ...config,
    resources: [
      resource(staff, {
        id: staff.id,
        auth: { public: true, create: () => all(), update: () => all() },
        fields,
        ...options,
      }),
    ],
  }), async (service) => {
    await insertRows(service.db, staff, [
      { id: 1, name: "Ann", team: "red", salary: 10, note: "a" },
      { id: 2, name: "Ben", team: "blue", salary: 20, note: null },
    ]);
    await work(service);
  });
}

testOnEngines(
  "each user reads the fields that the function gives, within the fixed list",
  (engine) =>
    withStaff(engine, byRole, async ({ get }) => {
      const callers = [
        [{}, { id: 1, name: "Ann" }],
        [clerk, { id: 1, name: "Ann", team: "red" }],
        // `note` is not in the fixed list.
        [chief, { id: 1, name: "Ann", team: "red", salary: 10 }],
      ] as const;
      for (const [headers, row] of callers) {
        assertEquals((await get("/api/staff/1", headers)).body, row);
        assertEquals((await get("/api/staff?limit=1", headers)).body.items, [row]);
        assertEquals((await get("/api/staff/1?select=salary,name", headers)).body, {
          name: "Ann",
          ...("salary" in row ? { salary: 10 } : {}),
        });
      }
    }),
);

testOnEngines(
  "what is withheld from a user can be used for nothing, and no message says that it exists",
  (engine) =>
    withStaff(engine, byRole, async ({ get }) => {
      const uses = [
        "?filter=NAME==1",
        "?filter=NAME!=1",
        "?filter=id==1,NAME=isnull=true",
        "?orderBy=NAME",
        "?orderBy=id,-NAME",
        "/count?filter=NAME>5",
        "/aggregate?groupBy=NAME",
        "/aggregate?min=NAME",
        "/aggregate?groupBy=id&having=max_NAME>5",
        "/aggregate?groupBy=id&orderBy=sum_NAME",
      ];
      for (const use of uses) {
        const ask = (name: string, headers = {}) =>
          get(`/api/staff${use.replace("NAME", name)}`, headers);
        assertEquals([use, (await ask("salary", chief)).status], [use, 200]);
        const [hidden, none] = [await ask("salary", clerk), await ask("sanary", clerk)];
        assertEquals([use, hidden.status, none.status], [use, 400, 400]);
        const detail = (answer: typeof none, name: string) =>
          answer.body.detail.replace(name, "NAME");
        assertEquals(detail(hidden, "salary"), detail(none, "sanary"));
      }
    }),
);

testOnEngines(
  "a body sets only what its user may write, and PUT leaves the rest as it is",
  (engine) =>
    withStaff(engine, byRole, async ({ get, send }) => {
      const seen = async () => (await get("/api/staff/1", chief)).body;
      await send("PATCH", "/api/staff/1", { name: "Amy", salary: 99 }, clerk);
      assertEquals(await seen(), { id: 1, name: "Amy", team: "red", salary: 10 });
      const put = await send("PUT", "/api/staff/1", { name: "Ada", salary: 98, team: "x" }, clerk);
      assertEquals(put.body, { id: 1, name: "Ada", team: "red" });
      assertEquals((await seen()).salary, 10);
      await send("PATCH", "/api/staff/1", { salary: 11 }, chief);
      assertEquals((await seen()).salary, 11);
    }),
);

testOnEngines(
  "calls from code have the fields of their user, and those of the system all",
  (engine) =>
    withStaff(engine, byRole, async ({ app, get }) => {
      const rows = async (api: ReturnType<typeof app.as>): Promise<readonly object[]> =>
        (await api.of(staff).list({ limit: 1 })).items;
      assertEquals(await rows(app.as({ id: "clerk" })), [{ id: 1, name: "Ann", team: "red" }]);
      for (const id of ["clerk", "chief"]) {
        const { items } = (await get("/api/staff?limit=1", { "x-user": id })).body;
        assertEquals(await rows(app.as({ id })), items);
      }
      const api = app.as({ id: "clerk" }).of(staff);
      await assertRejects(() => api.list({ filter: "salary>5" }), Problem, "there is no field");
      await assertRejects(() => api.aggregate({ max: ["salary"] }), Problem);
      const [all] = await rows(app.asSystem());
      assertEquals(Object.keys(all ?? {}).length, 5);
    }),
);

const [sqlite] = engines;
if (sqlite === undefined) throw new Error("There is an engine");

Deno.test("a function that fails, or names what the table has not, denies and is observed", async () => {
  let fields: () => unknown = () => [staff.id];
  const others = table("others", { id: integer().primaryKey(), secret: text() });
  await withStaff(sqlite, { readable: () => fields() as [] }, async ({ get, observations }) => {
    assertEquals((await get("/api/staff/1")).body, { id: 1 });
    const wrong: readonly (() => unknown)[] = [
      () => {
        throw new Error("the roles cannot be read");
      },
      () => ["password"],
      () => [others.secret],
      () => "name",
      () => Promise.resolve([staff.id]),
      () => undefined,
      () => [null],
    ];
    for (const one of wrong) {
      fields = one;
      for (const path of ["", "/1", "/count", "/aggregate?groupBy=id", "/subscribe"]) {
        const { status, body } = await get(`/api/staff${path}`);
        assertEquals([path, status, Object.keys(body).includes("items")], [path, 500, false]);
      }
    }
    assertEquals(observations.filter(({ kind }) => kind === "request_failed").length, 5 * 7);
  });
});

Deno.test("a stored answer is not replayed once its user has other fields", async () => {
  let isChief = true;
  const readable = () => isChief ? [staff.id, staff.name, staff.salary] : [staff.id, staff.name];
  await withStaff(sqlite, { readable }, async ({ send }) => {
    const body = { id: 3, name: "Cem", team: "red", salary: 30 };
    const headers = { ...chief, "idempotency-key": "0123456789abcdef" };
    const create = () => send("POST", "/api/staff", body, headers);
    assertEquals((await create()).body, { id: 3, name: "Cem", salary: 30 });
    assertEquals((await create()).body, { id: 3, name: "Cem", salary: 30 });
    isChief = false;
    const { status, body: problem } = await create();
    assertEquals([status, problem.type.split("/").at(-1)], [422, "idempotency-key-reused"]);
    assertEquals(JSON.stringify(problem).includes("30"), false);
  }, { kv: ":memory:", idempotency: { storage: "kv" } });
});

Deno.test("descriptions show the widest fields with a remark, and the index those of its caller", async () => {
  await withStaff(sqlite, byRole, async ({ app, get }) => {
    const [described] = app.schema().resources;
    const fields = described?.fields.map(({ name, perUser }) => [name, perUser]);
    assertEquals(fields, ["id", "name", "team", "salary"].map((name) => [name, true]));
    const { schemas } = Object(app.openapi()).components;
    const { Staff: row, StaffCreate: body } = schemas;
    assertEquals(Object.keys(row.properties), ["id", "name", "team", "salary"]);
    assertEquals([row.required, row.description], [
      undefined,
      "Which of the fields a row has depends on the user.",
    ]);
    assertEquals(body.description, "Which of the fields are used depends on the user.");
    const types = writeApiTypes(app.schema());
    assertStringIncludes(types, "  salary?: number;");
    const shown = async (headers = {}) => {
      const [entry] = (await get("/api", headers)).body.resources;
      return entry.fields.map(({ name }: { name: string }) => name);
    };
    assertEquals(await shown(), ["id", "name"]);
    assertEquals(await shown(chief), ["id", "name", "team", "salary"]);
  });
});

Deno.test("under strictInput, what is withheld from a user is no field", async () => {
  await withStaff(
    sqlite,
    byRole,
    async ({ send }) => {
      const refused = async (name: string) => {
        const { status, body } = await send("PATCH", "/api/staff/1", { [name]: 1 }, clerk);
        return [status, body.detail.replace(name, "")];
      };
      assertEquals(await refused("salary"), await refused("sanary"));
      assertEquals((await refused("salary"))[0], 422);
      // What the user reads is dropped, so that a row can be sent back as it was received.
      assertEquals((await send("PATCH", "/api/staff/1", { team: "blue" }, clerk)).body.team, "red");
      assertEquals((await send("PATCH", "/api/staff/1", { salary: 1 }, chief)).body.salary, 1);
    },
    {},
    { strictInput: true },
  );
});
