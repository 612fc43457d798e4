import { assert, assertEquals } from "@std/assert";
import { all, none, procedure, resource, table, text } from "../../mod.ts";
import type { StandardSchema } from "../../exports/options.ts";
import { type Answer, type Service, testOnEngines, withService } from "../support/http.ts";

const notes = table("i_docs", {
  id: text().primaryKey(),
  title: text().notNull(),
});

const pairs = table("pairs", {
  left: text().primaryKey(),
  right: text().primaryKey(),
  title: text(),
});

const anything: StandardSchema<unknown, unknown> = {
  "~standard": { version: 1, vendor: "here", validate: (value) => ({ value }) },
};

interface Keyed extends Service {
  /** The rights that the scopes grant from now on. */
  readonly rights: Set<"create" | "update">;
  /** How many procedures were executed. */
  calls(): number;
  call(method: string, path: string, body?: unknown, key?: string): Promise<Answer>;
}

/** On every engine, with both storages of answers. */
function test(name: string, work: (service: Keyed) => Promise<void>): void {
  for (const storage of ["kv", "db"] as const) {
    testOnEngines(`${name}, kept in ${storage}`, async (engine) => {
      const rights = new Set(["create", "update"] as const);
      let calls = 0;
      const scopes = {
        read: () => all(),
        create: () => rights.has("create") ? all() : none(),
        update: () => rights.has("update") ? all() : none(),
      };
      const draw = procedure({
        input: anything,
        output: anything,
        public: true,
        handler: () => ++calls,
      });
      await withService(engine, [notes, pairs], () => ({
        kv: ":memory:",
        idempotency: { storage },
        resources: [
          resource(notes, { id: notes.id, auth: scopes, procedures: { draw } }),
          resource(pairs, { id: [pairs.left, pairs.right], auth: scopes }),
        ],
      }), (service) =>
        work({
          ...service,
          rights,
          calls: () => calls,
          call: (method, path, body, key = "k") =>
            service.send(method, `/api${path}`, body, { "x-user": "ada", "idempotency-key": key }),
        }));
    });
  }
}

function isReplayed({ headers }: Answer): boolean {
  return headers.get("idempotency-replayed") === "true";
}

const uuid = "8e03978e-40d5-43dd-bc93-6894a57f9324";

test("anonymous callers at one address do not receive each other's answer for an equal key", async (service) => {
  const draw = (key: string) =>
    service.send("POST", "/api/i_docs/rpc/draw", {}, { "idempotency-key": key });
  for (const short of ["1", "order-1", "x".repeat(21)]) {
    const refused = await draw(short);
    assertEquals([refused.status, refused.body.code], [400, "INVALID_PARAMETER"]);
    assert(refused.body.detail.includes("22 characters"), refused.body.detail);
  }
  assertEquals(service.calls(), 0, "nothing is executed under such a key");
  assertEquals((await draw(uuid)).body, { data: 1 });
  const again = await draw(uuid);
  assertEquals([again.body, isReplayed(again)], [{ data: 1 }, true]);
  assertEquals((await service.call("POST", "/i_docs/rpc/draw", {}, "1")).status, 200, "of a user");
});

test("an answer is not replayed once the right to the operation is withdrawn", async ({ call, rights }) => {
  const create = () => call("POST", "/i_docs", { id: "a", title: "secret" });
  const upsert = () => call("POST", "/i_docs/batch/upsert", { items: [{ id: "a", title: "b" }] });
  const patch = () => call("PATCH", "/i_docs/a", { title: "c" });
  const requests = { create: [create, upsert], update: [upsert, patch] };
  for (const work of [create, upsert, patch]) assert((await work()).status < 300);
  for (const right of ["create", "update"] as const) {
    rights.delete(right);
    for (const work of requests[right]) {
      const { status, body, headers } = await work();
      assertEquals([status, body.code], [403, "FORBIDDEN"]);
      assertEquals(headers.has("idempotency-replayed"), false);
    }
    rights.add(right);
  }
  for (const work of [create, upsert, patch]) {
    const answer = await work();
    assertEquals([answer.status < 300, isReplayed(answer)], [true, true], "the answer is kept");
  }
});

test("the refusal of a body is replayed to a caller who still has the right", async ({ call, rights }) => {
  const send = () => call("POST", "/i_docs", "[");
  assertEquals((await send()).status, 400);
  assertEquals(isReplayed(await send()), true);
  rights.delete("create");
  assertEquals((await send()).status, 403);
});

test("spellings of one path are one path for a key", async ({ call, get }) => {
  const first = await call("POST", "/i_docs", { id: "a b", title: "x" });
  assertEquals([first.status, isReplayed(first)], [201, false]);
  for (const path of ["/%69_docs", "/i_docs/", "/%69_docs/"]) {
    const again = await call("POST", path, { id: "a b", title: "x" });
    assertEquals([again.status, isReplayed(again)], [201, true], path);
  }
  assertEquals((await call("PATCH", "/i_docs/a%20b", { title: "y" })).status, 200);
  for (const path of ["/i_docs/%61%20b", "/i_docs/a%20b/", "/i%5fdocs/a%20%62"]) {
    assertEquals(isReplayed(await call("PATCH", path, { title: "y" })), true, path);
  }
  const { body: { items } } = await get("/api/i_docs", { "x-user": "ada" });
  assertEquals(items.length, 1);
});

test("rows whose ids differ in an encoded comma alone are two paths for a key", async ({ call }) => {
  for (const [left, right] of [["a,b", "c"], ["a", "b,c"]]) {
    await call("POST", "/pairs", { left, right }, `create ${left}`);
  }
  const ids = ["a%2Cb,c", "a,b%2Cc"];
  for (const id of ids) {
    const { status, body, headers } = await call("PATCH", `/pairs/${id}`, { title: "t" });
    assertEquals([status, headers.has("idempotency-replayed")], [200, false], id);
    assertEquals(`${encodeURIComponent(body.left)},${encodeURIComponent(body.right)}`, id);
  }
  assertEquals(isReplayed(await call("PATCH", "/pairs/a%2cb,%63", { title: "t" })), true);
});
