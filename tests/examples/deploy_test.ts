import { sign } from "@hono/hono/jwt";
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openDatabase } from "../../mod.ts";
import { runChild, startChild } from "../serve/child_process.ts";
import { startDenoServe } from "../serve/deno_serve.ts";
import { countingProxy } from "../support/counting_proxy.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const postgres = testPostgres();
const missing = "missing" in postgres ? postgres.missing : null;

/** What the platform lets a program do here: no file may be read or written. */
const permissions = ["--no-prompt", "--allow-net", "--allow-env"];
const jwtSecret = "a secret for tokens of the tests";

/** As the platform sets them. It names the app's KV by a URL; in the tests, it is memory. */
const platform = {
  DENO_DEPLOY: "true",
  DENO_DEPLOYMENT_ID: "8jd2xq4mvh0k",
  DENO_TIMELINE: "production",
  DENO_KV_DEFAULT_PATH: ":memory:",
  JWT_SECRET: jwtSecret,
};
const secret = { SERVICE_SECRET: "a secret for the tests only" };
const example = new URL("../../examples/deploy.ts", import.meta.url).pathname;

async function withDatabase(work: (url: string) => Promise<void>): Promise<void> {
  if ("missing" in postgres) throw new Error(postgres.missing);
  const { url, drop } = await createScratchDatabase(postgres.url);
  try {
    await work(url);
  } finally {
    await drop();
  }
}

testUnless(
  missing,
  "examples/deploy.ts runs without a file, under a listener of the host, and its cron prunes",
  () =>
    withDatabase(async (url) => {
      await using folder = await scratchFolder();
      await using child = startChild([new URL("deploy_host.ts", import.meta.url).pathname], {
        permissions,
        cwd: folder.path,
        env: { ...platform, ...secret, DATABASE_URL: url },
      });
      const [, port, crons] = await child.printed(/127\.0\.0\.1:(\d+) crons: (.*)/);
      assertEquals(crons, "upkeep");
      const origin = `http://127.0.0.1:${port}`;
      const token = await sign(
        { sub: "ada", exp: Math.floor(Date.now() / 1_000) + 3_600 },
        jwtSecret,
        "HS256",
      );
      const create = (authorization: string, key: string) =>
        fetch(`${origin}/api/notes`, {
          method: "POST",
          headers: { authorization, "content-type": "application/json", "idempotency-key": key },
          body: '{"title":"Tea","ownerId":"eve"}',
        });
      const first = await create(`Bearer ${token}`, '"k"');
      const { id, ownerId } = await first.json();
      assertEquals([first.status, ownerId], [201, "ada"]);
      // Kept in the KV of the platform.
      const second = await create(`Bearer ${token}`, '"k"');
      assertEquals([(await second.json()).id, second.headers.get("idempotency-replayed")], [
        id,
        "true",
      ]);
      for (const [authorization, status] of [["Bearer x", 401], ["", 401]] as const) {
        const refused = await create(authorization, '"other"');
        await refused.body?.cancel();
        assertEquals(refused.status, status);
      }
      const listed = await (await fetch(`${origin}/api/notes`)).json();
      assertEquals(listed.items.map((item: { id: string }) => item.id), [id]);

      const db = await openDatabase(url);
      await db.driver.query({
        text: "UPDATE _service_changes SET at = at - interval '2 hours'",
        values: [],
      });
      const changes = async () =>
        Number(
          (await db.driver.query({ text: "SELECT count(*) FROM _service_changes", values: [] }))
            .rows[0]?.[0],
        );
      assertEquals(await changes(), 1);
      const cron = await fetch(`${origin}/host/cron/upkeep`, { method: "POST" });
      assertEquals([cron.status, await cron.text(), await changes()], [200, "done", 0]);

      const stream = await fetch(`${origin}/api/notes/subscribe`);
      child.signal("SIGINT");
      // The stream would end with an error if the process ended first.
      assertStringIncludes(await stream.text(), "retry: ");
      assertEquals(await child.ended(), 0);
      await db.close();
      assertEquals([...Deno.readDirSync(folder.path)], []);
    }),
);

testUnless(
  missing,
  "a cold start of examples/deploy.ts to its first list needs at most 45 round trips",
  () =>
    withDatabase(async (url) => {
      await using proxy = countingProxy(url);
      const start = async () => {
        const env = { ...platform, ...secret, DATABASE_URL: proxy.url };
        proxy.reset();
        await using child = startChild([new URL("deploy_host.ts", import.meta.url).pathname], {
          permissions,
          env,
        });
        const [, port] = await child.printed(/127\.0\.0\.1:(\d+) crons: /);
        const listed = await fetch(`http://127.0.0.1:${port}/api/notes`);
        await listed.body?.cancel();
        return proxy.traffic();
      };
      await start();
      const { roundTrips } = await start();
      assert(roundTrips <= 45, `${roundTrips} round trips`);
    }),
);

testUnless(
  missing,
  "examples/deploy.ts runs under deno serve, with Deno's own cron and KV",
  () =>
    withDatabase(async (url) => {
      const env = { ...platform, ...secret, DATABASE_URL: url };
      await using server = startDenoServe(example, { permissions, env });
      const answer = await fetch(`http://127.0.0.1:${await server.port()}/api/notes`);
      assertEquals(await answer.json(), { items: [], nextCursor: null, hasMore: false });
    }),
);

testUnless(
  missing,
  "on Deno Deploy the start fails without SERVICE_SECRET, and says so",
  () =>
    withDatabase(async (url) => {
      const env = { ...platform, DATABASE_URL: url };
      await using server = startDenoServe(example, { permissions, env });
      await server.printed(/secret[^]*SERVICE_SECRET/);
    }),
);

Deno.test("on Deno Deploy the start fails without a database, and says which variable", async () => {
  await using server = startDenoServe(example, { permissions, env: { ...platform, ...secret } });
  await server.printed(/Set DATABASE_URL in the environment/);
});

/** What a program prints, line by line; it may write no file. */
async function printed(
  program: string,
  permissions: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<readonly string[]> {
  await using folder = await scratchFolder();
  const path = new URL(program, import.meta.url).pathname;
  const { stdout } = await runChild([path], { permissions, env, cwd: folder.path });
  assertEquals([...Deno.readDirSync(folder.path)], []);
  return stdout.trim().split("\n");
}

Deno.test("without the permission to use files, the message says what to use", async () => {
  const lines = await printed("openings_process.ts", permissions, {});
  const [sqlite = "", node = "", pglite = "", postgres = ""] = lines;
  for (const line of [sqlite, node]) {
    assertStringIncludes(line, "without permission to use files: allow it, as deno run -A does");
    assertStringIncludes(line, 'by openDatabase(await openPostgres(url)), from "@svc/resource-api');
  }
  assertStringIncludes(pglite, 'import { openPglite } from "@svc/resource-api/pglite"');
  assertStringIncludes(postgres, 'import { openPostgres } from "@svc/resource-api/postgres"');
  const [line = ""] = await printed("store_process.ts", permissions, {});
  assertStringIncludes(line, "Cannot open the key-value store limits.kv: Requires read access");
});

Deno.test("on Deno Deploy files are refused: its disk is lost with the instance", async () => {
  const lines = await printed("openings_process.ts", ["-A"], platform);
  assertEquals(lines.at(-1), "postgres: opened");
  for (const line of lines.slice(0, 3)) {
    assertStringIncludes(line, "for writing on Deno Deploy: each instance has a disk of its own");
  }
  const [line = ""] = await printed("store_process.ts", ["-A"], platform);
  assertStringIncludes(line, "Cannot keep limits.kv on Deno Deploy");
  assertStringIncludes(line, "set kv: await Deno.openKv()");
});
