import { assertEquals, assertMatch } from "@std/assert";
import { runChild, startChild } from "../serve/child_process.ts";
import { jsrRegistry } from "../support/jsr_registry.ts";
import { scratchFolder } from "../support/scratch.ts";
import { createShop } from "./npm_service.ts";

const program = `
  import { createApp, integer, openDatabase, resource, table } from "jsr:@svc/resource-api@^0.1.0";
  import { apiKeyAuth } from "jsr:@svc/resource-api@^0.1.0/auth";
  import { openNodeSqlite } from "jsr:@svc/resource-api@^0.1.0/node-sqlite";
  const things = table("things", { id: integer().primaryKey() });
  const db = await openDatabase(await openNodeSqlite(":memory:"));
  await db.createTables([things]);
  const resources = [resource(things, { id: things.id, auth: { public: true } })];
  const auth = { use: [apiKeyAuth()] };
  const app = await createApp({ db, resources, auth, kv: "memory", secret: "sixteen characters" });
  const answer = await app.fetch(new Request("http://localhost/api/things"));
  console.log(answer.status, (await answer.json()).items);
  await app.close();
`;

Deno.test("a program in an empty folder imports the package from JSR, and its command line serves a file", async () => {
  await using folder = await scratchFolder();
  await using registry = await jsrRegistry(folder.path);
  const cwd = `${folder.path}/project`;
  await Deno.mkdir(cwd);
  await Deno.writeTextFile(`${cwd}/deno.json`, "{}");
  await Deno.writeTextFile(`${cwd}/main.ts`, program);
  const options = { cwd, env: registry.env, maxLifeMs: 60_000 };
  for (const flags of [[], ["--cached-only", "--frozen"]]) {
    const { stdout, stderr } = await runChild([...flags, "main.ts"], options);
    assertEquals(stdout, "200 []\n", stderr);
  }
  createShop(cwd);
  const commandLine = ["jsr:@svc/resource-api/cli", "shop.db", "--write", "--port", "0"];
  await using service = startChild(commandLine, options);
  const [, url] = await service.printed(/^ {2}(http:\S+\/api\/books)$/m);
  assertEquals((await (await fetch(`${url}?select=title&limit=1`)).json()).items.length, 1);
  assertMatch(service.stderr(), /\\"deno run -A jsr:@svc\/resource-api\/cli uninstall shop\.db\\"/);
});
