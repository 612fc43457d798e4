import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  all,
  eq,
  gte,
  integer,
  none,
  or,
  resource,
  table,
  text,
  timestamp,
  type User,
} from "../../mod.ts";
import { repeats } from "../support/repeats.ts";
import { type Answer, testOnDialects, withService } from "../support/http.ts";

// A failure is found again by `SEED=… deno task test tests/http/history_model_test.ts`.
const seed = Number(Deno.env.get("SEED") ?? crypto.getRandomValues(new Uint32Array(1))[0]! >>> 1);

const notes = table("notes", {
  id: integer().primaryKey(),
  owner: text().notNull(),
  title: text(),
  secret: integer().notNull(),
  gone: timestamp(),
});

type Name = "id" | "owner" | "title" | "secret";
type Values = Record<Name, string | number | null>;

/** What the oracle remembers of a write: the row after it, or null for a deletion. */
interface Past {
  readonly row: Values | null;
  readonly isMarked: boolean;
  readonly user: string | null;
  readonly operation: string | null;
}

const users = ["ada", "bob", "eve"] as const;
const names: readonly Name[] = ["id", "owner", "title", "secret"];

/** The rights of one user: the fields, and a scope as a rule and as a predicate. */
const rights = fc.record({
  readable: fc.subarray<Name>(["owner", "title", "secret"]),
  scope: fc.constantFrom("all", "own", "secret", "either", "none"),
});

const write = fc.record({
  user: fc.constantFrom(...users),
  kind: fc.constantFrom(
    ...["patch", "patch", "patch", "put", "batch", "upsert", "raw", "raw", "delete", "create"],
    ...["mark", "restore", "revert", "purge"],
  ),
  id: fc.constantFrom(1, 2),
  owner: fc.constantFrom(...users),
  title: fc.constantFrom("a", "b", null),
  secret: fc.integer({ min: 0, max: 3 }),
  fields: fc.subarray<"owner" | "title" | "secret">(["owner", "title", "secret"], { minLength: 1 }),
  at: fc.nat(),
});

const world = fc.record({
  rights: fc.record({ ada: rights, bob: rights, eve: rights }),
  writes: fc.array(write, { minLength: 5, maxLength: 25 }),
  limit: fc.constantFrom(1, 2, 3, 100),
});

testOnDialects(
  `histories equal an oracle for random writes and rights, seed ${seed}`,
  async (engine) => {
    for (const one of fc.sample(world, { seed, numRuns: repeats(25) })) await check(engine, one);
  },
);

async function check(
  engine: Parameters<typeof withService>[0],
  { rights, writes, limit }: typeof world extends fc.Arbitrary<infer Value> ? Value : never,
): Promise<void> {
  const rightsOf = (user: string) => rights[user as keyof typeof rights];
  const ruleOf = ({ id }: User) =>
    ({
      all: all(),
      own: eq(notes.owner, id),
      secret: gte(notes.secret, 2),
      either: or(eq(notes.owner, id), eq(notes.secret, 0)),
      none: none(),
    })[rightsOf(id).scope];
  const isWithin = (user: string, { owner, secret }: Values) =>
    ({
      all: true,
      own: owner === user,
      secret: Number(secret) >= 2,
      either: owner === user || secret === 0,
      none: false,
    })[rightsOf(user).scope];
  // The administrator, `root`, can write everything. The users only read.
  const resources = [
    resource(notes, {
      id: notes.id,
      auth: {
        read: (user) => user.id.startsWith("root") ? all() : ruleOf(user),
        create: () => all(),
        update: () => all(),
        delete: () => all(),
      },
      fields: {
        readable: (user) =>
          user === null || user.id.startsWith("root")
            ? names
            : ["id", ...rightsOf(user.id).readable],
      },
      softDelete: { field: notes.gone },
      history: { retentionMs: 3_600_000 },
    }),
  ];
  await withService(engine, [notes], () => ({ resources }), async ({ db, app, send, get }) => {
    const past = new Map<number, Past[]>([[1, []], [2, []]]);
    const run = async (text: string) => await db.query({ text, values: [] });
    const sqlOf = (value: unknown) => value === null ? "NULL" : `'${value}'`;
    for (const { kind, id, user: by, owner, title, secret, fields, at } of writes) {
      const user = `root-${by}`;
      const headers = { "x-user": user };
      const versions = past.get(id)!;
      const last = versions.at(-1) ?? null;
      const now = last?.row ?? null;
      const isMarked = last?.isMarked ?? false;
      const given = { owner, title, secret };
      const some = Object.fromEntries(fields.map((name) => [name, given[name]]));
      const add = (row: Values | null, one: Partial<Past> = {}) => {
        const before = versions.at(-1) ?? null;
        const isSame = row !== null && JSON.stringify([row, one.isMarked ?? false]) ===
            JSON.stringify([before?.row, before?.isMarked]);
        const fact = { row, isMarked: false, user: null, operation: null, ...one };
        if (!isSame) versions.push(fact);
      };
      const expectStatus = async (status: number, request: ReturnType<typeof send>) => {
        const response = await request;
        assertEquals(response.status, status, `${kind} ${JSON.stringify(response.body)}`);
        return response;
      };
      const path = `/api/notes/${id}`;
      if (kind === "create") {
        if (now !== null) continue;
        await expectStatus(201, send("POST", "/api/notes", { id, ...given }, headers));
        add({ id, ...given }, { user, operation: "create" });
        continue;
      }
      if (kind === "upsert") {
        if (isMarked) continue;
        const items = [{ id, ...given }];
        await expectStatus(200, send("POST", "/api/notes/batch/upsert", { items }, headers));
        add({ id, ...given }, { user, operation: "upsert" });
        continue;
      }
      if (now === null) continue;
      if (kind === "restore") {
        if (!isMarked) continue;
        await expectStatus(200, send("POST", `${path}/restore`, undefined, headers));
        add(now, { user, operation: "restore" });
      } else if (kind === "raw" || kind === "delete") {
        if (kind === "delete") {
          await run(`DELETE FROM notes WHERE id = ${id}`);
          add(null);
          continue;
        }
        const set = Object.entries(some).map(([name, value]) => `${name} = ${sqlOf(value)}`);
        await run(`UPDATE notes SET ${set.join(", ")} WHERE id = ${id}`);
        add({ ...now, ...some } as Values, { isMarked });
      } else if (isMarked) {
        continue;
      } else if (kind === "patch") {
        await expectStatus(200, send("PATCH", path, some, headers));
        add({ ...now, ...some } as Values, { user, operation: "update" });
      } else if (kind === "put") {
        await expectStatus(200, send("PUT", path, given, headers));
        add({ id, ...given }, { user, operation: "replace" });
      } else if (kind === "batch") {
        const body = { filter: `id==${id}`, patch: some };
        await expectStatus(200, send("PATCH", "/api/notes/batch", body, headers));
        add({ ...now, ...some } as Values, { user, operation: "batch-update" });
      } else if (kind === "mark") {
        await expectStatus(204, send("DELETE", path, undefined, headers));
        add(now, { user, operation: "delete", isMarked: true });
      } else if (kind === "revert") {
        const { body } = await get(`${path}/history?limit=100`, headers);
        const one = body.items[at % body.items.length];
        if (one.version === null) continue;
        const version = one.version;
        const { body: row } = await expectStatus(
          200,
          send("POST", `${path}/revert`, { version }, headers),
        );
        assertEquals(row, one.row);
        add(row, { user, operation: "revert" });
      } else if (kind === "purge") {
        await run("UPDATE _service_history SET at = at - 7200000 WHERE at IS NOT NULL");
        await app.upkeep();
        for (const [of, all] of past) {
          const rest = all.at(-1);
          const known = { user: null, operation: null };
          past.set(of, rest === undefined || rest.row === null ? [] : [{ ...rest, ...known }]);
        }
      }
    }
    for (const user of [...users, "root-x"]) {
      const isRoot = user === "root-x";
      for (const [id, versions] of past) {
        const readable = isRoot ? names : ["id", ...rightsOf(user).readable];
        const isVisible = ({ row, isMarked }: Past) =>
          row === null || !isMarked && (isRoot || isWithin(user, row));
        const shown = (row: Values) =>
          Object.fromEntries(
            names.filter((name) => readable.includes(name)).map((name) => [name, row[name]]),
          );
        const last = versions.at(-1);
        const found = await pagesOf((query) =>
          get(`/api/notes/${id}/history?limit=${limit}${query}`, { "x-user": user })
        );
        if (last === undefined || last.row === null || !isVisible(last)) {
          const isDenied = !isRoot && rightsOf(user).scope === "none";
          assertEquals(found, isDenied ? 403 : 404);
          continue;
        }
        // A deletion is visible if the deleted row was.
        const visible = versions.filter((one, index) => {
          const of = one.row === null ? versions[index - 1] : one;
          return of !== undefined && of.row !== null && isVisible(of);
        });
        const items = visible.map((one) =>
          [one.user, one.operation, one.row === null ? null : shown(one.row)] as const
        );
        const distinct = items.filter(([, , row], index) =>
          row === null || JSON.stringify(row) !== JSON.stringify(items[index - 1]?.[2])
        );
        assertEquals(
          found,
          distinct.reverse(),
          `${user} ${id} ${JSON.stringify({ rights, versions })}`,
        );
      }
    }
  });
}

async function pagesOf(get: (query: string) => Promise<Answer>) {
  const found: unknown[] = [];
  for (let query = "";;) {
    const { status, body } = await get(query);
    if (status !== 200) return status;
    const items: readonly Past[] = body.items;
    found.push(...items.map(({ user, operation, row }) => [user, operation, row]));
    if (!body.hasMore) return found;
    query = `&cursor=${body.nextCursor}`;
  }
}
