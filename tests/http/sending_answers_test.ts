import { assert, assertEquals } from "@std/assert";
import { all, integer, resource, table, text } from "../../mod.ts";
import type { Engine } from "../support/engines.ts";
import { budget } from "./guard_support.ts";
import { insertRows, type Service, testOnDialects, withService } from "../support/http.ts";

const posts = table("posts", { id: integer().primaryKey(), body: text().notNull() });

function withPosts(engine: Engine, work: (service: Service) => Promise<void>): Promise<void> {
  const auth = { public: true, create: () => all(), update: () => all() } as const;
  const resources = [resource(posts, { id: posts.id, auth })];
  return withService(engine, [posts], () => ({ resources }), work);
}

const ada = { "x-user": "ada" };

function post(id: number, body: string): typeof posts.$inferSelect {
  return { id, body };
}

testOnDialects(
  "twelve sockets that do not read held 2.8 GB of answers",
  (engine) =>
    withPosts(engine, async ({ db, app, send }) => {
      await insertRows(
        db,
        posts,
        Array.from({ length: 12 }, (_, index) => post(index, "x".repeat(1_000_000))),
      );
      const remoteAddr = { transport: "tcp", hostname: "127.0.0.1", port: 1 } as const;
      const sockets: PromiseWithResolvers<void>[] = [];
      const answer = async (path: string) => {
        const socket = Promise.withResolvers<void>();
        sockets.push(socket);
        const info = { remoteAddr, completed: socket.promise };
        const response = await app.fetch(new Request(`http://test${path}`), info);
        const { length } = await response.text();
        return { response, length };
      };
      let held = 0;
      const statuses: number[] = [];
      for (let count = 0; count < 14; count++) {
        const { response, length } = await answer("/api/posts?limit=12");
        statuses.push(response.status);
        if (response.status === 200) held += length;
        else assertEquals(response.headers.get("retry-after"), "1");
      }
      assertEquals(statuses.toSorted().slice(-3), [503, 503, 503]);
      assert(held <= 128 * 1024 * 1024, `${held} bytes held`);
      assertEquals((await answer("/api/posts?limit=5&select=id")).response.status, 200);
      // What was written is answered.
      const written = await send("PATCH", "/api/posts/1", { body: "y".repeat(1_000_000) }, ada);
      assertEquals(written.status, 200);
      sockets[0]?.resolve();
      sockets[1]?.reject(new Error("The connection was lost"));
      await Promise.allSettled(sockets.slice(0, 2).map(({ promise }) => promise));
      assertEquals((await answer("/api/posts?limit=12")).response.status, 200);
    }),
);

/** Sends requests whose answers no client receives. */
function unreceived({ app }: Service, path: string, init?: RequestInit): Promise<Response> {
  const remoteAddr = { transport: "tcp", hostname: "127.0.0.1", port: 1 } as const;
  const completed = Promise.withResolvers<void>().promise;
  return app.fetch(new Request(`http://test${path}`, init), { remoteAddr, completed });
}

testOnDialects(
  "answers on sockets that do not read were counted by letters, and held twice the limit",
  (engine) =>
    withPosts(engine, async (service) => {
      const some = Array.from({ length: 5 }, (_, id) => post(id, "語".repeat(1_000_000)));
      await insertRows(service.db, posts, some);
      let held = 0;
      for (let count = 0; count < 20; count++) {
        const response = await unreceived(service, "/api/posts?limit=5");
        const { length } = await response.text();
        // In memory each letter beyond Latin-1 takes two bytes.
        if (response.status === 200) held += 2 * length;
      }
      assert(held > 0 && held <= 128 * 1024 * 1024, `${held} bytes held`);
    }),
);

testOnDialects(
  "stored answers that were replayed to sockets that do not read were not counted",
  (engine) =>
    withPosts(engine, async (service) => {
      const init = {
        method: "POST",
        headers: {
          "x-user": "ada",
          "content-type": "application/json",
          "idempotency-key": "one key of ada",
        },
        body: JSON.stringify(post(1, "x".repeat(1_000_000))),
      };
      assertEquals((await unreceived(service, "/api/posts", init)).status, 201);
      const statuses: number[] = [];
      for (let count = 0; count < 140; count++) {
        const response = await unreceived(service, "/api/posts", init);
        await response.body?.cancel();
        statuses.push(response.status);
      }
      assertEquals([statuses[0], statuses.at(-1)], [201, 503]);
    }),
);

testOnDialects(
  "reads of a client that leaves its answers unread were free, although each read everything",
  (engine) => {
    const auth = { public: true } as const;
    const config = {
      kv: ":memory:",
      abuseProtection: { budget: budget(1_000) },
      resources: [resource(posts, { id: posts.id, auth })],
    };
    return withService(engine, [posts], () => config, async (service) => {
      await insertRows(
        service.db,
        posts,
        Array.from({ length: 15 }, (_, id) => post(id, "x".repeat(1_000_000))),
      );
      const left = async (user: Record<string, string>) => {
        const { headers } = await service.get("/api/posts/count", user);
        return Number(/r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
      };
      const read = async (limit: number, headers: Record<string, string>) => {
        const response = await unreceived(service, `/api/posts?limit=${limit}`, { headers });
        await response.body?.cancel();
        return response.status;
      };
      const bob = { "x-user": "bob" };
      assertEquals(await read(1, bob), 200);
      const statuses: number[] = [];
      for (let count = 0; count < 12; count++) statuses.push(await read(15, ada));
      assertEquals(statuses.indexOf(503), 8);
      // Twelve reads and the count itself; of the others, one read and the count.
      assertEquals(await left(ada), 1_000 - 12 - 1);
      assertEquals(await left(bob), 1_000 - 1 - 1);
      // Ada's answers are in the way of others, who do not pay for that.
      assertEquals([await read(15, bob), await read(15, { "x-user": "eve" })], [503, 503]);
      assertEquals(await left(bob), 1_000 - 1 - 2);
      assertEquals(await left({ "x-user": "eve" }), 1_000 - 1);
    });
  },
);
