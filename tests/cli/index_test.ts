import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import { openDatabase } from "../../mod.ts";
import { decideCliRights } from "../../src/cli/cli_service.ts";
import { prepareService } from "../../src/cli/prepare_service.ts";
import { bannerOf, openService } from "../../src/cli/run_service.ts";
import { parseServeArguments } from "../../src/cli/serve_arguments.ts";
import { serveDatabase } from "../../src/cli/database/serve_database.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { runScript, scratchFolder } from "../support/scratch.ts";

/** Names that end a text or a tag of HTML, wherever they are written as they are. */
const hostile = `a "<script>alert('1')</script>" & b`;

const script = `
CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE [${hostile}] (id INTEGER PRIMARY KEY, [${hostile}] TEXT, person_id INT REFERENCES person);
INSERT INTO person VALUES (1, 'Ann');
INSERT INTO [${hostile}] VALUES (1, 'x', 1)`;

/** As a browser sends it. */
const browser = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };

Deno.test("with --web, GET / of the command line is the page, which a configuration may have, too", async () => {
  await using folder = await scratchFolder();
  const { path } = folder;
  for (const name of ["a", "b"]) {
    await Deno.mkdir(`${path}/${name}`);
    await Deno.writeTextFile(`${path}/${name}/index.html`, `page ${name}`);
  }
  await Deno.writeTextFile(
    `${path}/service.ts`,
    `import { openDatabase } from "${new URL("../../mod.ts", import.meta.url)}";
    export default {
      db: await openDatabase("sqlite::memory:"),
      secret: "sixteen or more characters",
      web: { folder: "${path}/a", csp: false },
      resources: [],
    };`,
  );
  const runtime = systemRuntime(() => {});
  const config = ["--config", `${path}/service.ts`];
  for (const [args, content] of [[["--web", `${path}/b`], "page b"], [config, "page a"]] as const) {
    const command = parseServeArguments(args);
    if (command.kind !== "serve") throw new Error(command.kind);
    const opened = await openService(await prepareService(command, { runtime, token: "token" }));
    const response = await opened.app.fetch(new Request("http://127.0.0.1/", { headers: browser }));
    assertEquals([response.status, await response.text()], [200, content]);
    const place = { version: "1.0.0", host: "127.0.0.1", port: 8000 };
    assertStringIncludes(bannerOf(opened, place), "\nPage: http://127.0.0.1:8000/\n");
    await opened.app.close();
  }
  const both = parseServeArguments([...config, "--web", `${path}/b`]);
  if (both.kind !== "serve") throw new Error(both.kind);
  const { config: { web, db } } = await prepareService(both, { runtime, token: "token" });
  assertEquals(web, { folder: `${path}/b`, csp: false });
  await db.close();
});

Deno.test("GET / of the command line leads to the index, whose links work and whose names are escaped", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/odd.db`;
  const db = await openDatabase(`node-sqlite:${path}`);
  await runScript(db.driver, script);
  await db.close();
  const rights = decideCliRights({ host: "127.0.0.1", public: false, writable: false }, "token");
  const service = await serveDatabase(path, {
    ...{ rights, runtime: systemRuntime(() => {}), kv: undefined },
    ...{ accountsIn: undefined, isSearched: false, schemas: null, recording: null },
  });
  const { app } = await openService(service);
  const get = async (url: URL, headers: Record<string, string> = {}) => {
    const answer = await app.fetch(new Request(url, { headers }));
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  try {
    const root = new URL("http://127.0.0.1/");
    const front = await get(root, browser);
    assertEquals([front.status, front.headers.get("location")], [302, "./api/"]);
    const index = new URL(front.headers.get("location") ?? "", root);

    const { resources } = JSON.parse((await get(index)).text);
    assertEquals(
      resources.map(({ name, path, fields, relations }: Entry) => [
        ...[name, path, fields.map(({ name, type }) => `${name} ${type}`)],
        relations.map(({ name, type, path, filterable }) => [name, type, path, filterable]),
      ]),
      [
        [hostile, `/api/${encodeURIComponent(hostile)}`, [
          ...["id integer", `${hostile} text`, "person_id integer"],
        ], [["person", "belongsTo", "/api/person", true]]],
        ["person", "/api/person", ["id integer", "name text"], [
          [
            hostile.replaceAll(/[()]/g, "_"),
            "hasMany",
            `/api/${encodeURIComponent(hostile)}`,
            true,
          ],
        ]],
      ],
    );

    const page = await get(index, browser);
    assertStringIncludes(page.headers.get("content-type") ?? "", "text/html");
    assert(!page.text.includes("<script"), page.text);
    const links = [...page.text.matchAll(/ href="([^"]*)"/g)].map(([, href = ""]) => href);
    const ids = [...page.text.matchAll(/ id="([^"]*)"/g)].map(([, id = ""]) => `#${id}`);
    assertEquals(new Set(links.filter((href) => href.startsWith("#"))), new Set(ids));
    for (const href of links) {
      const { status, text } = await get(
        new URL(href.replaceAll("&#39;", "'").replaceAll("&amp;", "&"), index),
      );
      assertEquals([status, href], [200, href], text);
    }
    const included = links.filter((href) => href.includes("include="));
    assertEquals(included.length, 2);
  } finally {
    await app.close();
    await service.config.db?.close();
  }
});

interface Entry {
  readonly name: string;
  readonly path: string;
  readonly fields: readonly { readonly name: string; readonly type: string }[];
  readonly relations: readonly {
    readonly name: string;
    readonly type: string;
    readonly path: string;
    readonly filterable: boolean;
  }[];
}
