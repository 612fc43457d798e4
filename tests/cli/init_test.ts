import { assert, assertEquals, assertMatch } from "@std/assert";
import manifest from "../../deno.json" with { type: "json" };
import { starterSources } from "../../dev/starter_bundle.ts";
import { runCommandLine } from "../../src/cli/command_line.ts";
import { originOf, starterFiles } from "../../src/cli/init/starter_files.ts";
import { scratchFolder } from "../support/scratch.ts";

const root = new URL("../../", import.meta.url);
const program = { version: manifest.version, url: new URL("cli.ts", root).href };
const withoutPage = Object.keys(starterSources()).filter((path) => !/^(?:web|npm)\//.test(path));

/** Runs `init` in this process. Returns the exit code and everything that it prints. */
async function init(...args: string[]) {
  const lines: string[] = [];
  const { log, error } = console;
  console.log = console.error = (line = "") => lines.push(String(line));
  try {
    const code = await runCommandLine(["init", ...args], program);
    return { code, printed: lines.join("\n") };
  } finally {
    Object.assign(console, { log, error });
  }
}

function filesOf(folder: string, below = ""): readonly string[] {
  return [...Deno.readDirSync(folder + below)].flatMap(({ name, isDirectory }) =>
    isDirectory ? filesOf(folder, `${below}/${name}`) : [`${below}/${name}`.slice(1)]
  ).sort();
}

const read = (path: string) => Deno.readTextFileSync(path);

Deno.test("init writes a project whose tests pass, with a secret that only its owner reads", async () => {
  await using folder = await scratchFolder();
  const place = `${folder.path}/My first app!`;
  const { code, printed } = await init(place);
  assertEquals(code, 0, printed);
  assertMatch(printed, /cd ".*\/My first app!"\n {2}deno task dev/);
  assertEquals(filesOf(place), [...withoutPage, ".env"].sort());
  assertEquals(JSON.parse(read(`${place}/package.json`)).name, "my-first-app");
  const [, secret = ""] = /^SERVICE_SECRET=(.*)$/m.exec(read(`${place}/.env`)) ?? [];
  assertEquals(Uint8Array.fromBase64(secret).length, 32);
  assertEquals((Deno.statSync(`${place}/.env`).mode ?? 0) & 0o777, 0o600);
  const others = filesOf(place).filter((path) => path !== ".env").map((
    path,
  ) => [path, read(`${place}/${path}`)]);
  assertEquals(
    others.filter(([, text = ""]) => /\bweb\b(?!")|my-app(?!\w)/.test(text)).map(([path]) => path),
    [],
  );
  assertEquals(others.filter(([, text = ""]) => text.includes(secret)), []);

  const test = new Deno.Command(Deno.execPath(), {
    args: ["task", "test", "--no-check"],
    cwd: place,
    env: { NO_COLOR: "1" },
  });
  const { success, stdout, stderr } = await test.output();
  const output = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
  assert(success, output);
  assertMatch(output, /4 passed/);
});

Deno.test("init changes nothing in a folder that has one of its files, but keeps a README", async () => {
  await using folder = await scratchFolder();
  await Deno.writeTextFile(`${folder.path}/tables.ts`, "mine");
  const refused = await init(folder.path, "--web");
  assertEquals(refused, {
    code: 2,
    printed: `Cannot begin in ${folder.path}: tables.ts is there already (give another folder)`,
  });
  assertEquals(filesOf(folder.path), ["tables.ts"]);

  await Deno.rename(`${folder.path}/tables.ts`, `${folder.path}/README.md`);
  await Deno.mkdir(`${folder.path}/.git`);
  assertEquals((await init(folder.path)).code, 0);
  assertEquals(read(`${folder.path}/README.md`), "mine");
  assertEquals(filesOf(folder.path), [...withoutPage, ".env"].sort());
});

Deno.test("init removes what it has written if it cannot write the rest", async () => {
  await using folder = await scratchFolder();
  // A link to nothing does not exist for a reader, and stops the writer.
  await Deno.symlink("nowhere", `${folder.path}/tables.ts`);
  const { code, printed } = await init(folder.path);
  assertEquals([code, filesOf(folder.path)], [2, ["tables.ts"]]);
  assertMatch(printed, /^Cannot begin in .*: tables\.ts is there already/);
  await Deno.writeTextFile(`${folder.path}/file`, "");
  assertMatch((await init(`${folder.path}/file/app`)).printed, /^Cannot write .*: [^\n]*$/);
  const ofFile = await init(`${folder.path}/file`);
  assertMatch(ofFile.printed, /^Cannot begin in .*\/file: it is a file \(give a folder\)$/);
});

Deno.test("init writes the URL of the database to .env alone", async () => {
  await using folder = await scratchFolder();
  const url = "postgres://me:pa$1#word@127.0.0.1/app";
  assertEquals((await init(folder.path, "--database", url)).code, 0);
  const files = filesOf(folder.path);
  assertEquals(files.filter((path) => read(`${folder.path}/${path}`).includes(url)), [".env"]);
  const shown = new Deno.Command(Deno.execPath(), {
    args: ["eval", `--env-file=${folder.path}/.env`, "console.log(Deno.env.get('DATABASE'))"],
  });
  assertEquals(new TextDecoder().decode((await shown.output()).stdout), `${url}\n`);

  for (const wrong of ["shop.db", "sqlite:it's", "sqlite:a\nX=1"]) {
    const { code, printed } = await init(folder.path, "--database", wrong);
    assertEquals([code, /--database takes a URL without quotes/.test(printed)], [2, true], wrong);
  }
  assertMatch((await init("a", "b")).printed, /^init takes one folder: "b" is one too many/);
  assertMatch((await init("")).printed, /^init takes a folder, not an empty name/);
});

Deno.test("a project refers to the clone whose command line wrote it, or else to the registries", () => {
  const options = { name: "x", folder: "/a/b/app", web: true, database: null, secret: "s" };
  const contents = (program: string) => {
    const files = starterFiles({ ...options, version: "1.2.3", origin: originOf(program) });
    const parse = (path: string) => JSON.parse(files.get(path) ?? "");
    const { links = null, imports } = parse("deno.json");
    const client = parse("web/package.json").dependencies["@svc/resource-api-client"];
    return [links, imports["@svc/resource-api"], client];
  };
  const range = "jsr:@svc/resource-api@^1.2.3";
  const packed = "file:../../../clone/npm-client/svc-resource-api-client-1.2.3.tgz";
  assertEquals(contents("file:///a/clone/cli.ts"), [["../../clone"], range, packed]);
  assertEquals(contents("https://jsr.example/@svc/resource-api/1.2.3/cli.ts"), [
    null,
    range,
    "^1.2.3",
  ]);
  const npm = "npm:resource-api@^1.2.3";
  const installed = "file:///a/node_modules/resource-api/dist/cli.js";
  assertEquals(contents(installed), [null, npm, "^1.2.3"]);
});

Deno.test("a project of npm names commands of npm, and only a project of a clone names the clone", () => {
  const options = { name: "x", folder: "/a", web: true, database: null, secret: "s" };
  const textOf = (program: string) => {
    const files = starterFiles({ ...options, version: "1.2.3", origin: originOf(program) });
    assertEquals([...files.keys()].filter((path) => path.startsWith("npm/")), []);
    const text = [...files.values()].join("\n");
    assertEquals(/<!--|^# \/?(?:web|npm|deno|clone)$/m.test(text), false, program);
    return text;
  };
  const npm = textOf("file:///a/node_modules/resource-api/dist/cli.js");
  assertEquals(/deno task|deno\.lock|jsr:|clone/.exec(npm)?.[0], undefined);
  assertMatch(npm, /^\| `npx resource-api migrate`/m);
  assertMatch(npm, /"resource-api": "\^1\.2\.3"/);
  const jsr = textOf("https://jsr.example/@svc/resource-api/1.2.3/cli.ts");
  assertEquals(
    /npm install|clone/.exec(jsr.replaceAll("npm --prefix web install", ""))?.[0],
    undefined,
  );
  assertMatch(textOf("file:///a/clone/cli.ts"), /^RUN ! grep -q '"links"' deno\.json/m);
});
