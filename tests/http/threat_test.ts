import { assert, assertEquals } from "@std/assert";
import {
  all,
  and,
  boolean,
  eq,
  type Filter,
  integer,
  isNull,
  none,
  or,
  Problem,
  resource,
  table,
  text,
  timestamp,
} from "../../mod.ts";
import { builtInOperators } from "../../src/filter/operators/operator_registry.ts";
import type { Engine } from "../support/engines.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";

const accounts = table("accounts", {
  id: text().primaryKey(),
  ownerId: text().notNull().as("owner_id"),
  title: text(),
  status: text(),
  secret: text().unique(),
  admin: boolean().notNull().default(false),
  version: integer().notNull().default(1),
  deletedAt: timestamp().as("deleted_at"),
});

const ada = { "x-user": "ada" };
const bob = { "x-user": "bob" };

/** Hidden values that no byte of any answer or observation may hold. */
const hidden = ["xyzzy-one", "xyzzy-two", "xyzzy-three"] as const;

const own = (user: { readonly id: string }) => eq(accounts.ownerId, user.id);

function withAccounts(
  engine: Engine,
  read: (user: { readonly id: string }) => Filter,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  return withService(engine, [accounts], () => ({
    resources: [
      resource(accounts, {
        id: accounts.id,
        auth: { read, create: own, update: own, delete: own },
        fields: {
          readable: [accounts.id, accounts.ownerId, accounts.title, accounts.status],
          writable: [accounts.title, accounts.status, accounts.ownerId, accounts.secret],
        },
        etag: { versionField: accounts.version },
        softDelete: { field: accounts.deletedAt },
        computed: { initial: (row) => row.title?.slice(0, 1) ?? null },
        hooks: {
          onAfterUpdate: (_context, row) => {
            if (row.title === "refuse") throw new Problem("conflict", "Cannot update: refused");
            if (row.title === "break") throw new Error("broken by a hook");
          },
        },
      }),
    ],
  }), async (service) => {
    await insertRows(
      service.db,
      accounts,
      [
        { id: "a", ownerId: "ada", title: "t", status: "open", secret: hidden[0], version: 1 },
        { id: "b", ownerId: "bob", title: "u", status: "open", secret: hidden[1], version: 1 },
        {
          id: "c",
          ownerId: "bob",
          title: "v",
          secret: hidden[2],
          version: 1,
          deletedAt: "2024-01-01T00:00:00.000Z",
        },
      ].map((row) => ({ admin: false, ...row })),
    );
    await work(service);
  });
}

const deny = [
  () => and(none(), eq(accounts.ownerId, "ada")),
  () => and(eq(accounts.ownerId, undefined), all()),
  () => or(none(), eq(accounts.ownerId, Number.NaN as never)),
  () => or(),
];
testOnEngines("a scope that denies stays closed however it is combined", async (engine) => {
  for (const read of deny) {
    await withAccounts(engine, read, async ({ get }) => {
      for (const path of ["/api/accounts", "/api/accounts/count", "/api/accounts/a"]) {
        assertEquals((await get(path, ada)).status, 403);
      }
    });
  }
});

testOnEngines(
  "list, count, total and paging agree under scope, filter and soft delete",
  (engine) =>
    withAccounts(engine, own, async ({ get }) => {
      for (const query of ["", "&filter=status==open", "&withDeleted=true", "&filter=id!=a"]) {
        for (const user of [ada, bob]) {
          const list = await get(`/api/accounts?totalCount=true&limit=1${query}`, user);
          const count = await get(`/api/accounts/count?limit=1${query}`, user);
          const whole = await get(`/api/accounts?limit=100${query}`, user);
          assertEquals(list.body.totalCount, count.body.count);
          assertEquals(whole.body.items.length, count.body.count);
          assert(
            whole.body.items.every((row: { ownerId: string }) => row.ownerId === user["x-user"]),
          );
        }
      }
    }),
);

testOnEngines(
  "no operator is an oracle on a hidden column",
  (engine) =>
    withAccounts(engine, () => all(), async ({ get }) => {
      const values = ["x", "(x,y)", "true", "3", "null"];
      const details = new Set<string>();
      for (const { symbols } of builtInOperators) {
        for (const symbol of symbols) {
          for (const value of values) {
            for (const field of ["secret", "nothing"]) {
              const filter = encodeURIComponent(`${field}${symbol}${value}`);
              const answer = await get(`/api/accounts?filter=${filter}`, ada);
              assertEquals(answer.status, 400, filter);
              details.add(answer.body.detail.replace(`"${field}"`, '""'));
            }
          }
        }
      }
      assertEquals(details.size, 1);
    }),
);

testOnEngines(
  "protected columns cannot be set by any spelling or any route",
  (engine) =>
    withAccounts(engine, own, async ({ db, get, send }) => {
      const forms: readonly Record<string, unknown>[] = [
        '{"admin":true,"version":9,"deletedAt":"2024-01-01T00:00:00Z"}',
        '{"ADMIN":true,"Admin":true,"adm\u0131n":true,"deleted_at":"2024-01-01T00:00:00Z"}',
        '{"__proto__":{"admin":true},"constructor":{"admin":true}}',
      ].map((form) => JSON.parse(form));
      for (const [index, form] of forms.entries()) {
        const id = `n${index}`;
        const sent = [
          await send("POST", "/api/accounts", { id, ownerId: "ada", ...form }, ada),
          await send("PATCH", `/api/accounts/${id}`, form, ada),
          await send("PUT", `/api/accounts/${id}`, { ownerId: "ada", ...form }, ada),
        ];
        assertEquals(sent.map(({ status }) => status), [201, 200, 200]);
      }
      assertEquals((await send("POST", "/api/accounts", [{ id: "x" }], ada)).status, 400);
      assertEquals((await get("/api/accounts/count", ada)).body, { count: 4 });
      const { rows } = await db.driver.query({
        text:
          "SELECT count(*) FROM accounts WHERE admin = (1 = 1) OR (id <> 'c' AND deleted_at IS NOT NULL)",
        values: [],
      });
      assertEquals(Number(rows[0]?.[0]), 0);
    }),
);

testOnEngines(
  "withDeleted shows no row outside the scope, and single reads show none",
  (engine) =>
    withAccounts(engine, own, async ({ get, send }) => {
      const ids = async (user: Record<string, string>) =>
        (await get("/api/accounts?withDeleted=true", user)).body.items
          .map(({ id }: { id: string }) => id);
      assertEquals([await ids(ada), await ids(bob)], [["a"], ["b", "c"]]);
      assertEquals((await get("/api/accounts/c?withDeleted=true", bob)).status, 404);
      assertEquals((await send("POST", "/api/accounts/c/restore", undefined, ada)).status, 404);
      assertEquals((await send("POST", "/api/accounts/c/restore", undefined, bob)).status, 200);
    }),
);

testOnEngines(
  "a row that a change moves out of the read scope is answered masked",
  (engine) =>
    withAccounts(engine, (user) => and(own(user), eq(accounts.status, "open")), async (service) => {
      const { get, send } = service;
      const moved = await send("PATCH", "/api/accounts/a", { status: "closed" }, ada);
      assertEquals(moved.body, {
        id: "a",
        ownerId: "ada",
        title: "t",
        status: "closed",
        initial: "t",
      });
      assertEquals((await get("/api/accounts/a", ada)).status, 404);
    }),
);

testOnEngines(
  "no answer, header or observation contains a hidden value",
  (engine) =>
    withAccounts(engine, own, async (service) => {
      const { observations } = service;
      const seen: string[] = [];
      const collect = async (answer: ReturnType<Service["get"]>) => {
        const { status, headers, body } = await answer;
        seen.push(status + JSON.stringify([...headers]) + JSON.stringify(body));
      };
      const { get, send } = service;
      for (const user of [{}, ada, bob]) {
        for (
          const path of [
            "",
            "?select=secret,id",
            "?orderBy=secret",
            "?orderBy=-secret,id&limit=1",
            "?filter=secret==xyzzy",
            "?withDeleted=true&limit=1",
            "?cursor=xyz",
            "/a",
            "/a?select=secret",
            "/b",
            "/c",
            "/count",
            "/count?filter=secret%25=%25",
          ]
        ) await collect(get(`/api/accounts${path}`, user));
        for (
          const body of [
            { id: "new", ownerId: "ada", secret: "taken-by-nobody" },
            // The unique column refuses: the conflict contains neither its value nor its name.
            { id: "d1", ownerId: "ada", secret: hidden[1] },
            { id: "a", ownerId: "ada" },
            { id: 5, ownerId: "ada" },
            { secret: 5 },
            {},
          ]
        ) await collect(send("POST", "/api/accounts", body, user));
        for (const method of ["PATCH", "PUT"]) {
          for (const id of ["a", "b", "c", "nobody"]) {
            for (const title of ["w", "refuse", "break", 7]) {
              const body = { title, ownerId: "ada" };
              await collect(send(method, `/api/accounts/${id}`, body, user));
              await collect(
                send(method, `/api/accounts/${id}`, body, { ...user, "if-match": '"x"' }),
              );
            }
          }
        }
        await collect(
          send("DELETE", "/api/accounts/b", undefined, { ...user, "if-match": 'W/"7"' }),
        );
        await collect(send("POST", "/api/accounts/a/restore", undefined, user));
      }
      const logged = observations.map((observation) => Deno.inspect(observation, { depth: 9 }));
      assert(seen.length > 100 && logged.length > 0);
      for (const text of [...seen, ...logged]) {
        for (const word of hidden) assert(!text.includes(word), text);
      }
    }),
);

testOnEngines(
  "a stale tag is refused after the version was reset",
  (engine) =>
    withService(engine, [accounts], () => ({
      resources: [
        resource(accounts, {
          id: accounts.id,
          auth: { read: () => isNull(accounts.deletedAt), update: () => all() },
          etag: { versionField: accounts.version },
        }),
      ],
    }), async ({ db, send }) => {
      await insertRows(db, accounts, [{ id: "a", ownerId: "x", version: 5, admin: false }]);
      const patch = (body: unknown, tag: string) =>
        send("PATCH", "/api/accounts/a", body, { ...ada, "if-match": tag });
      assertEquals((await patch({ version: 6.5 }, 'W/"5"')).status, 422);
      assertEquals((await patch({ title: "x" }, 'W/"4"')).status, 412);
      assertEquals((await patch({ title: "x" }, 'W/"5"')).headers.get("etag"), 'W/"6"');
      assertEquals((await patch({ title: "x" }, 'W/"5"')).status, 412);
    }),
);
