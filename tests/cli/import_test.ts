import { DatabaseSync } from "node:sqlite";
import { assert, assertEquals } from "@std/assert";
import { parseArguments } from "../../src/cli/arguments.ts";
import { runImportCommand } from "../../src/cli/import/run_import_command.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { runChild, startChild } from "../serve/child_process.ts";
import { scratchFolder } from "../support/scratch.ts";

const cli = new URL("../../cli.ts", import.meta.url).pathname;

const notes =
  "CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, slug TEXT UNIQUE, rank REAL)";

Deno.test("import takes a file, a table, and what belongs together", () => {
  const reading = {
    ...{ delimiter: undefined, null: undefined, encoding: undefined, map: undefined },
    ...{ ignoreExtra: false, timestamps: undefined },
  };
  const none = { config: null, schemas: null, chunk: null, dryRun: false, json: false, reading };
  const import_ = { kind: "import", file: "a.csv", format: "csv", into: "notes", ...none };
  const cases: readonly [args: string, expected: unknown][] = [
    ["a.csv --into notes", { ...import_, database: null }],
    ["--into notes a.csv --db x.db --chunk 50", { ...import_, database: "x.db", chunk: 50 }],
    ["a.jsonl --into notes --dry-run -c c.ts", {
      ...import_,
      ...{ file: "a.jsonl", format: "ndjson", database: null, config: "c.ts", dryRun: true },
    }],
    ["- --into notes --format ndjson --db postgres://x --schema a,b", {
      ...import_,
      ...{ file: "-", format: "ndjson", database: "postgres://x", schemas: ["a", "b"] },
    }],
    [
      "a.csv --into notes --delimiter tab --null NA --encoding latin1 --map A=a --map B=b --ignore-extra " +
      "--timestamps excel",
      {
        ...{ ...import_, database: null },
        reading: {
          ...{ delimiter: "tab", null: "NA", encoding: "latin1" },
          ...{ map: "A=a,B=b", ignoreExtra: true, timestamps: "excel" },
        },
      },
    ],
  ];
  for (const [args, expected] of cases) {
    assertEquals(parseArguments(["import", ...args.split(" ")]), expected as never, args);
  }
  // An empty value means that no field except the empty one is NULL.
  assertEquals(parseArguments(["import", "a.csv", "--into", "notes", "--null", ""]), {
    ...import_,
    ...{ database: null, reading: { ...reading, null: "" } },
  } as never);
  const wrong: readonly [args: string, message: RegExp][] = [
    ["", /takes one file/],
    ["a.csv b.csv --into notes", /takes one file/],
    ["a.csv", /needs --into/],
    ["a.txt --into notes", /must be csv or ndjson/],
    ["- --into notes", /must be csv or ndjson/],
    ["a.csv --into notes --db x --config y", /not both/],
    ["a.csv --into notes --chunk 0", /from 1 to 10000/],
    ["a.csv --into notes --chunk 5 --dry-run", /not both/],
    ["a.csv --intoo notes", /did you mean --into/],
    ["a.csv --into notes --delimeter ;", /did you mean --delimiter/],
    ["a.csv --into notes --delimiter ab", /"delimiter": it must be , ; \| : or tab, not "ab"/],
    ["a.csv --into notes --encoding latin-9x", /there is no encoding "latin-9x"/],
    ["a.csv --into notes --map a", /must be old=new/],
    ["a.jsonl --into notes --null NA", /"null": it is only for CSV/],
  ];
  for (const [args, message] of wrong) {
    const command = parseArguments(["import", ...args.split(" ").filter((word) => word !== "")]);
    assert(command.kind === "misused" && message.test(command.message), args);
  }
});

Deno.test("an import that writes no row keeps the journal mode of the file", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/shop.db`;
  await Deno.writeTextFile(`${folder.path}/good.csv`, "id,title\n1,a\n");
  await Deno.writeTextFile(`${folder.path}/bad.csv`, "id,title\n1,\n");
  // Another connection would keep the file in WAL mode.
  const fromFile = (text: string) => {
    using program = new DatabaseSync(path);
    return program.prepare(text).get();
  };
  fromFile(notes);
  const mode = () => fromFile("PRAGMA journal_mode")?.journal_mode;
  const importing = async (...args: readonly string[]) => {
    const command = parseArguments(["import", ...args, "--into", "notes", "--db", path]);
    assert(command.kind === "import");
    return [await runImportCommand(command), mode()];
  };
  assertEquals(await importing(`${folder.path}/good.csv`, "--dry-run"), [0, "delete"]);
  assertEquals(await importing(`${folder.path}/bad.csv`), [1, "delete"]);
  assertEquals(await importing(`${folder.path}/good.csv`), [0, "wal"]);
});

Deno.test("import writes a file into a table, names wrong lines, and a killed one leaves nothing", async () => {
  await using folder = await scratchFolder();
  const cwd = folder.path;
  const db = await openDatabase(`sqlite:${cwd}/shop.db`);
  const run = (text: string) => db.query({ text, values: [] });
  await run(notes);
  const write = (name: string, text: string) => Deno.writeTextFile(`${cwd}/${name}`, text);
  const importing = (...args: readonly string[]) =>
    runChild([cli, "import", ...args, "--into", "notes", "--db", "shop.db"], { cwd });

  await write("good.csv", 'id,title,slug,rank\r\n1,"a, b",,1.5\r\n2,two,"",2\r\n');
  const good = await importing("good.csv");
  assertEquals([good.code, good.stdout], [0, ""], good.stderr);
  assert(/^2 of 2 rows written in .* rows\/s$/m.test(good.stderr), good.stderr);
  const { rows } = await run("SELECT id, title, slug, rank FROM notes ORDER BY id");
  assertEquals(rows, [[1, "a, b", null, 1.5], [2, "two", "", 2]]);

  await write(
    "bad.ndjson",
    ['{"id":3,"title":"c"}', '{"id":4}', '{"id":5,"title":"e","tittle":1}', '{"id":"\\u0007"', ""]
      .join("\n"),
  );
  const bad = await importing("bad.ndjson");
  assertEquals(bad.code, 1);
  assertEquals(bad.stderr.trim().split("\n").slice(-4), [
    "line 2, title: is required",
    'line 3, tittle: is not a field. Did you mean "title"?',
    "line 4: is not JSON",
    "0 of 4 rows written",
  ]);

  await write("odd.csv", "Id;title;other\n6;it's;NULL\n");
  const refusals: readonly [message: string, ...args: string[]][] = [
    ["line 1: has names with ; between them. Pass --delimiter ';'", "--delimiter", ";"],
    ['line 1, Id: is not a field. Did you mean "id"? Pass --map Id=id', "--map", "Id=id"],
    ["line 1, other: is not a field. Pass --ignore-extra", "--ignore-extra"],
  ];
  const options: string[] = [];
  for (const [message, ...option] of refusals) {
    const { code, stderr } = await importing("odd.csv", "--dry-run", ...options);
    assertEquals([code, stderr.trim().split("\n").at(-2)], [1, message]);
    options.push(...option);
  }
  const odd = await importing("odd.csv", "--dry-run", ...options);
  assert(odd.code === 0 && /^1 rows can be written, and none was/m.test(odd.stderr), odd.stderr);

  // Killed in the middle of its transaction.
  const long = "x".repeat(300);
  const many = Array.from({ length: 40_000 }, (_, index) => `${index + 10},${long}`);
  await write("many.csv", `id,title\r\n${many.join("\r\n")}\r\n`);
  {
    await using child = startChild([
      cli,
      "import",
      "many.csv",
      "--into",
      "notes",
      "--db",
      "shop.db",
    ], {
      cwd,
    });
    const wal = `${cwd}/shop.db-wal`;
    const size = async () => (await Deno.stat(wal).catch(() => null))?.size ?? 0;
    const before = await size();
    while (await size() < before + 200_000) await new Promise((done) => setTimeout(done, 1));
    child.signal("SIGKILL");
    await child.ended();
  }
  assertEquals((await run("SELECT count(*) FROM notes")).rows, [[2]]);
  await db.close();
});

Deno.test("import --json prints the numbers of rows, and the refused lines", async () => {
  await using folder = await scratchFolder();
  const path = `${folder.path}/shop.db`;
  using db = new DatabaseSync(path);
  db.exec(notes);
  await Deno.writeTextFile(`${folder.path}/good.csv`, "id,title\n1,a\n2,b\n");
  await Deno.writeTextFile(`${folder.path}/bad.csv`, "id,title\n3,\n");
  const run = async (file: string) => {
    const args = ["import", `${folder.path}/${file}`, "--into", "notes", "--db", path, "--json"];
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", cli, ...args],
    }).output();
    return { code, printed: JSON.parse(new TextDecoder().decode(stdout)) };
  };
  assertEquals(await run("good.csv"), {
    code: 0,
    printed: { rows: 2, written: 2, dryRun: false },
  });
  const { code, printed } = await run("bad.csv");
  assertEquals([
    code,
    printed.errors.map(({ line, path }: Record<string, unknown>) => [line, path]),
  ], [
    1,
    [[2, "title"]],
  ]);
  assertEquals(typeof printed.message, "string");
});
