import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { listen } from "../../src/listen/listener.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { type Child, runChild, startChild } from "../serve/child_process.ts";

const program = new URL("../../cli.ts", import.meta.url).pathname;
const root = new URL("../../", import.meta.url);

async function served(child: Child): Promise<{ url: string; banner: string }> {
  const { input } = await child.printed(/^Try:\n {2}curl .*\n/m);
  const [, url = ""] = /(http:\/\/[^/]+)\/healthz/.exec(input) ?? [];
  return { url, banner: input };
}

/** A temporary folder, removed at the end. */
async function scratchFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await Deno.makeTempDir();
  return { path, [Symbol.asyncDispose]: () => Deno.remove(path, { recursive: true }) };
}

function writeShop(path: string): void {
  const db = new DatabaseSync(path);
  db.exec(`
    CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE "order line" (order_id INTEGER, line INTEGER, what TEXT, PRIMARY KEY (order_id, line));
    CREATE TABLE log (message TEXT);
    INSERT INTO customer VALUES (1, 'Ada'), (2, 'Grace');
    INSERT INTO "order line" VALUES (7, 1, 'tea');
  `);
  db.close();
}

Deno.test("without arguments a demonstration runs, and the printed command works", async () => {
  await using folder = await scratchFolder();
  await using child = startChild([program, "--port", "0"], { cwd: folder.path });
  const { banner } = await served(child);
  const [, command = ""] = /^Try:\n {2}(curl .*)$/m.exec(banner) ?? [];
  const { stdout } = await new Deno.Command("sh", { args: ["-c", `${command} -s`] }).output();
  const { items } = JSON.parse(new TextDecoder().decode(stdout));
  assertEquals(items.length, 3);

  child.signal("SIGTERM");
  assertEquals(await child.ended(), 0, child.stderr());
  assertEquals(Array.from(Deno.readDirSync(folder.path)), []);
});

Deno.test("the commands of the documents answer on the demonstration", async () => {
  await using folder = await scratchFolder();
  await using child = startChild([program, "--port", "0"], { cwd: folder.path });
  const { url } = await served(child);
  const texts = ["README.md", "docs/queries.md"].map((file) =>
    Deno.readTextFileSync(new URL(file, root))
  );
  const commands = texts.flatMap((text) =>
    text.replaceAll(/\\\n\s*/g, "").match(/^curl .*127\.0\.0\.1:8000.*$/gm) ?? []
  )
    // An ellipsis stands for a value of an answer.
    .filter((command) => !/…/.test(command));
  const streams = commands.filter((command) => /^curl -g?N /.test(command));
  assertEquals(streams.length, 4);
  assert(commands.length >= 12, `${commands.length} commands`);
  await Promise.all(streams.map(async (command) => {
    const script = `exec ${command.replace("http://127.0.0.1:8000", url)} -sS`;
    await using stream = new Deno.Command("sh", { args: ["-c", script], stdout: "piped" }).spawn();
    let received = "";
    for await (const text of stream.stdout.pipeThrough(new TextDecoderStream())) {
      received += text;
      if (/^event: .*\ndata: .*\n\n/m.test(received)) return;
    }
    throw new Error(`${command} ended without an event: ${received}`);
  }));
  for (const command of commands.filter((one) => !streams.includes(one))) {
    const script = `${command.replace("http://127.0.0.1:8000", url)} -sS --fail-with-body`;
    const { code, stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
    const answer = new TextDecoder().decode(stdout);
    assertEquals(code, 0, `${command}\n${answer}`);
    if (command.includes("text/csv")) assertMatch(answer, /^id,authorId,title,.*\r\n\d/);
    else assert((JSON.parse(answer).items ?? JSON.parse(answer).groups).length > 0, command);
  }
});

Deno.test("the live commands of the README do what it says", async () => {
  await using folder = await scratchFolder();
  await using child = startChild([program, "--port", "0"], { cwd: folder.path });
  const { url, banner } = await served(child);
  const [, token = ""] = /Authorization: Bearer (\S+)/.exec(banner) ?? [];
  const readme = Deno.readTextFileSync(new URL("README.md", root));
  const [follow, patch, resume] = (readme.match(/^curl .*(?:subscribe|PATCH).*$/gm) ?? [])
    .map((command) => command.replace("http://127.0.0.1:8000", url));
  const run = async (command: string | undefined, received = "") => {
    const script = `${command?.replace("…", received)} -sS --max-time 2`;
    const { stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
    return new TextDecoder().decode(stdout);
  };

  await using stream = new Deno.Command("sh", {
    args: ["-c", `exec ${follow} -sS --max-time 20`],
    stdout: "piped",
  }).spawn();
  const reader = stream.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let received = "";
  const until = async (wanted: RegExp) => {
    while (!wanted.test(received)) {
      const { value, done } = await reader.read();
      if (done) throw new Error(`The stream ended before ${wanted}:\n${received}`);
      received += value;
    }
  };
  await until(/"hasMore":false\}\n\nid: .+\n/);
  assertStringIncludes(received, '"title":"The Dispossessed"');
  const position = received.match(/^id: (.+)$/m)?.[1] ?? "";
  assertEquals(JSON.parse(await run(patch, token)).rating, 4);
  assertEquals(JSON.parse(await run(patch, token)).code, "PRECONDITION_FAILED");
  await until(/event: removed\ndata: .*"id":2\}/);
  await reader.cancel();
  stream.kill();
  const missed = await run(resume, position);
  assertEquals(missed.match(/^event: .*$/gm), ["event: removed"]);
});

Deno.test("writes to the demonstration need the printed token", async () => {
  await using folder = await scratchFolder();
  await using child = startChild([program, "--port", "0"], { cwd: folder.path });
  const { url, banner } = await served(child);
  const [, token = ""] = /Authorization: Bearer (\S+)/.exec(banner) ?? [];
  const create = async (authorization: Record<string, string>) => {
    const response = await fetch(`${url}/api/authors`, {
      method: "POST",
      headers: { "content-type": "application/json", ...authorization },
      body: JSON.stringify({ name: "Italo Calvino", country: "Italy" }),
    });
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await create({}), 401);
  assertEquals(await create({ authorization: `Bearer ${token}x` }), 401);
  assertEquals(await create({ authorization: `Bearer ${token}` }), 201);
});

Deno.test("a misspelt field in a body is refused by the command line's resources", async () => {
  await using folder = await scratchFolder();
  const path = join(folder.path, "shop.db");
  writeShop(path);
  for (const [args, table] of [[[], "authors"], [["--write", path], "customer"]] as const) {
    await using child = startChild([program, "--port", "0", ...args], { cwd: folder.path });
    const { url, banner } = await served(child);
    const [, token = ""] = /Authorization: Bearer (\S+)/.exec(banner) ?? [];
    const response = await fetch(`${url}/api/${table}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ name: "Italo Calvino", naem: "Italo" }),
    });
    assertEquals(response.status, 422);
    assertStringIncludes((await response.json()).detail, "naem");
  }
});

Deno.test("a database file is served read-only", async () => {
  await using folder = await scratchFolder();
  const path = join(folder.path, "shop.db");
  writeShop(path);
  const before = await Deno.readFile(path);
  await using child = startChild([program, path, "--port", "0"]);
  const { url, banner } = await served(child);
  assertStringIncludes(banner, "/api/order%20line\n");
  assert(!banner.includes("Bearer"), banner);
  assertStringIncludes(banner, "/api/log\n");

  const list = await (await fetch(`${url}/api/customer?orderBy=-name`)).json();
  assertEquals(list.items, [{ id: 2, name: "Grace" }, { id: 1, name: "Ada" }]);
  const line = await (await fetch(`${url}/api/order%20line/7,1`)).json();
  assertEquals(line.what, "tea");
  const headers = { accept: "text/csv" };
  const whole = await fetch(`${url}/api/customer`, { headers });
  assertEquals(await whole.text(), "id,name\r\n1,Ada\r\n2,Grace\r\n");
  const refused = await fetch(`${url}/api/customer/1`, { method: "DELETE" });
  assertEquals([refused.status, refused.headers.get("allow")], [405, "GET, HEAD"]);
  assertStringIncludes((await refused.json()).detail, "read-only, start with --write");
  assertEquals(await Deno.readFile(path), before);
});

Deno.test("a live stream of a database that was opened read-only was a bare 404", async () => {
  await using folder = await scratchFolder();
  const path = join(folder.path, "shop.db");
  writeShop(path);
  await using child = startChild([program, path, "--port", "0"]);
  const { url } = await served(child);
  const answer = await fetch(`${url}/api/customer/subscribe`);
  assertStringIncludes((await answer.json()).detail, "start with --write to have one");
});

Deno.test("with --write a client with the token may write to a database file", async () => {
  await using folder = await scratchFolder();
  const path = join(folder.path, "shop.db");
  writeShop(path);
  await using child = startChild([program, "--write", path, "--port", "0"]);
  const { url, banner } = await served(child);
  const [, token = ""] = /Authorization: Bearer (\S+)/.exec(banner) ?? [];
  for (
    const [headers, expected] of [[{}, 401], [{ authorization: `Bearer ${token}` }, 204]] as const
  ) {
    const response = await fetch(`${url}/api/customer/1`, { method: "DELETE", headers });
    assertEquals(response.status, expected);
    await response.body?.cancel();
  }
});

Deno.test("the notice about unrecorded writes advises options that the command line does not have", async () => {
  await using folder = await scratchFolder();
  const path = join(folder.path, "shop.db");
  writeShop(path);
  await using child = startChild([program, "--write", path, "--port", "0"]);
  await served(child);
  child.signal("SIGTERM");
  assertEquals(await child.ended(), 0, child.stderr());
  const [notice = ""] = child.stderr().match(/.*only the writes of this service.*/g) ?? [];
  assertStringIncludes(notice, "a configuration with changes: { mode:");
});

Deno.test("on an address of the network everything but health needs the token", async () => {
  await using folder = await scratchFolder();
  const path = join(folder.path, "shop.db");
  writeShop(path);
  await using child = startChild([program, path, "--host", "0.0.0.0", "--port", "0"]);
  const { url, banner } = await served(child);
  const [, token = ""] = /Authorization: Bearer (\S+)'/.exec(banner) ?? [];
  const statusOf = async (path: string, headers: Record<string, string> = {}) => {
    const response = await fetch(url + path, { headers });
    await response.body?.cancel();
    return response.status;
  };
  assertEquals(await statusOf("/api/customer"), 401);
  assertEquals(await statusOf("/__service/schema"), 401);
  assertEquals(await statusOf("/healthz"), 200);
  assertEquals(await statusOf("/readyz"), 200);
  assertEquals(await statusOf("/api/customer", { authorization: `Bearer ${token}` }), 200);
});

Deno.test("a configuration file is found and served", async () => {
  await using folder = await scratchFolder();
  await Deno.writeTextFile(
    join(folder.path, "service.config.ts"),
    `
    import { integer, openDatabase, resource, table } from "${new URL("mod.ts", root)}";
    const things = table("things", { id: integer().primaryKey() });
    const db = await openDatabase("sqlite::memory:");
    await db.createTables([things]);
    export default {
      db,
      resources: [resource(things, { id: things.id, auth: { public: { read: true } } })],
    };
  `,
  );
  await using child = startChild([program, "--port", "0"], { cwd: folder.path });
  const { url } = await served(child);
  assertEquals((await (await fetch(`${url}/api/things`)).json()).items, []);
});

Deno.test("how a configuration wants to be stopped was ignored", async () => {
  await using folder = await scratchFolder();
  await Deno.writeTextFile(
    join(folder.path, "service.config.ts"),
    `
    import { openDatabase } from "${new URL("mod.ts", root)}";
    const db = await openDatabase("sqlite::memory:");
    const onListen = ({ port }) => console.log("listening on " + port);
    export default { db, resources: [], drainMs: 20_000, stopDeadlineMs: 1, onListen };
  `,
  );
  await using child = startChild([program, "--port", "0"], { cwd: folder.path });
  const { url } = await served(child);
  await child.printed(new RegExp(`^listening on ${new URL(url).port}$`, "m"));
  const before = performance.now();
  child.signal("SIGTERM");
  assertEquals(await child.ended(), 0);
  // With streams, a SIGTERM would drain for twenty seconds.
  assert(performance.now() - before < 15_000);
});

Deno.test("a subject that cannot be served is one sentence on stderr, with exit code 2", async () => {
  await using folder = await scratchFolder();
  const file = async (name: string, text: string) => {
    await Deno.writeTextFile(join(folder.path, name), text);
    return name;
  };
  const cases: readonly [args: readonly string[], sentence: RegExp][] = [
    [["absent.db"], /^Cannot open absent\.db: there is no such file$/m],
    [["--write", "absent.db"], /absent\.db: there is no such file/],
    [["--write", "sqlite:absent.db"], /absent\.db: there is no such file/],
    [["--write", "node-sqlite://absent.db"], /absent\.db: there is no such file/],
    [
      [await file("letter.db", "Dear reader, ".repeat(100))],
      /^Cannot open letter\.db: it is not a SQLite/m,
    ],
    [["."], /^Cannot open \.: it is a folder, name a file in it$/m],
    [["mongo://localhost/x"], /^Cannot open a database by "mongo:": use sqlite:PATH/m],
    [["--config", "absent.ts"], /Cannot read absent\.ts: there is no such file/],
    [
      ["--config", await file("empty.ts", "export const a = 1;")],
      /^Cannot serve empty\.ts: it has no default/m,
    ],
    [
      ["--config", await file("throws.ts", "throw new Error('no luck')")],
      /throws\.ts: no luck \(throws\.ts:1:7\)$/m,
    ],
    [
      [
        "--config",
        await file("typo.ts", `import { text } from "${root}mod.ts";\ntext({ maxLenght: 5 });`),
      ],
      /did you mean "maxLength"\? \(typo\.ts:2:1\)$/m,
    ],
    [["--config", await file("broken.ts", "export default {")], /Cannot load broken\.ts/],
    [["--config", await file("bare.ts", "export default { db: {} }")], /needs db and a list/],
    [
      ["--config", await file("mistaken.ts", "export default { db: {}, resources: [] }")],
      /^Cannot start: db must be a database from openDatabase\(\), not an object$/m,
    ],
    [
      ["--public", "--config", await file("any.ts", "export default {}")],
      /any\.ts with --public: a config/,
    ],
  ];
  for (const [args, sentence] of cases) {
    const { code, stdout, stderr } = await runChild([program, "--port", "0", ...args], {
      cwd: folder.path,
    });
    assertEquals([code, stdout], [2, ""], `${args.join(" ")}\n${stderr}`);
    assertMatch(stderr, sentence);
    assert(!stderr.includes("/src/"), stderr);
  }
  assertEquals(
    Array.from(Deno.readDirSync(folder.path), ({ name }) => name).includes("absent.db"),
    false,
  );
});

Deno.test("a damaged database is exit code 1, with its name and what to do", async () => {
  await using folder = await scratchFolder();
  const path = join(folder.path, "shop.db");
  writeShop(path);
  using damaged = await Deno.open(path, { write: true });
  await damaged.seek(100, Deno.SeekMode.Start);
  await damaged.write(new Uint8Array(3_000).fill(0xee));
  for (const command of [["shop.db"], ["mcp", "shop.db"], ["check", "shop.db"]]) {
    const { code, stderr } = await runChild([program, ...command], { cwd: folder.path });
    assertEquals(code, 1, stderr);
    assertMatch(stderr, /^Cannot use shop\.db: .*malformed; restore a backup, or copy/m);
  }
});

Deno.test("a database that cannot be reached is exit code 1, without its password", async () => {
  const { code, stderr } = await runChild([program, "postgres://ada:s3cret@127.0.0.1:1/shop"]);
  assertEquals(code, 1, stderr);
  assertMatch(stderr, /^Cannot use postgres:\/\/…@127\.0\.0\.1:1\/shop: connect ECONNREFUSED/m);
  assert(!stderr.includes("s3cret"), stderr);
});

Deno.test("a taken port is exit code 1", async () => {
  const app = { fetch: () => new Response(), drain() {}, close: () => Promise.resolve() };
  const server = listen(app, { port: 0 }, systemRuntime(() => {}));
  await using folder = await scratchFolder();
  const { code, stderr } = await runChild([program, "--port", String(server.port)], {
    cwd: folder.path,
  });
  await server.stop();
  assertEquals(code, 1, stderr);
  assertMatch(
    stderr,
    /^Cannot listen on http:\/\/127\.0\.0\.1:\d+: the port is taken; try --port 0, which/m,
  );
});

Deno.test("a taken port named no PORT, although .env has set it", async () => {
  const app = { fetch: () => new Response(), drain() {}, close: () => Promise.resolve() };
  const server = listen(app, { port: 0 }, systemRuntime(() => {}));
  await using folder = await scratchFolder();
  const start = async (env: Record<string, string>) => {
    const args = [program, "--port", String(server.port)];
    return (await runChild(args, { cwd: folder.path, env })).stderr;
  };
  const PORT = String(server.port);
  assertMatch(await start({ PORT }), /taken; stop the other program, or change PORT in the env/);
  await Deno.writeTextFile(join(folder.path, ".env"), `A=b\nPORT=${PORT}\n`);
  assertMatch(await start({ PORT }), /taken; stop the other program, or change PORT in \.env$/m);
  await server.stop();
});

Deno.test("help and version open nothing and end at once", async () => {
  assertMatch((await runChild([program, "--version"])).stdout, /^\d+\.\d+\.\d+\n$/);
  const help = await runChild([program, "--help"]);
  assertEquals(help.code, 0);
  const options = [
    "--port",
    "--host",
    "--public",
    "--write",
    "--config",
    "--workers",
  ];
  for (const word of [...options, " sqlite:", "node-sqlite:", "postgres:", "pglite:"]) {
    assertStringIncludes(help.stdout, word);
  }
});

Deno.test("a wrong option ends with exit code 2 before anything is opened", async () => {
  const { code, stderr } = await runChild([program, "--prot", "1"]);
  assertEquals(code, 2);
  assertStringIncludes(stderr, "did you mean --port?");
});
