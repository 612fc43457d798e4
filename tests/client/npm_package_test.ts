import { assert, assertEquals } from "@std/assert";
import { build, stop } from "esbuild";
import { gzipSync } from "node:zlib";
import ts from "typescript";
import { all, integer, openDatabase, resource, serve, table, text } from "../../mod.ts";
import { clientEntries } from "../../dev/client_sizes.ts";
import { npmClientName, packNpmClient } from "../../dev/npm_client.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { findProgram } from "../support/debian_packages.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

const [node, npm] = [await findProgram(["node"]), await findProgram(["npm"])];
const missing = node === null || npm === null ? "no Node with npm on the PATH" : null;

/** A project with the package, which all tests of this file share. */
const project = await scratchFolder();
const failure = missing === null ? await install() : null;

Deno.test.afterAll(async () => {
  await stop();
  await project[Symbol.asyncDispose]();
});

/** Null, or what npm says against the package. */
async function install(): Promise<string | null> {
  const archive = await packNpmClient(`${project.path}/packed`);
  await Deno.writeTextFile(`${project.path}/package.json`, '{ "type": "module" }');
  const args = ["install", "--offline", "--no-audit", "--no-fund", archive];
  const { success, stderr } = await run(npm ?? "", args);
  return success ? null : stderr;
}

async function run(program: string, args: readonly string[]) {
  const output = await new Deno.Command(program, {
    ...{ args: [...args], cwd: project.path },
    signal: AbortSignal.timeout(120_000),
  }).output();
  const [stdout, stderr] = [output.stdout, output.stderr].map((one) =>
    new TextDecoder().decode(one)
  );
  return { success: output.success, stdout: stdout ?? "", stderr: stderr ?? "" };
}

const posts = table("posts", {
  id: integer().primaryKey(),
  title: text().notNull(),
  version: integer().notNull().default(1),
});

/** The real service, which wants a proof of work for each new row. */
async function withService(work: (url: string) => Promise<void>): Promise<void> {
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([posts]);
  const server = await serve({
    ...{ db, port: 0, secret: "a secret for the tests only", kv: ":memory:", onListen() {} },
    runtime: systemRuntime(() => {}),
    idempotency: { storage: "db" },
    // So difficult that a solver asks how many workers it may start.
    abuseProtection: { pow: { secret: "a secret of the tests", difficulty: 19 } },
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: context.req.header("x-user") ?? "ada" });
        await next();
      },
    },
    resources: [
      resource(posts, {
        id: posts.id,
        auth: { public: true, create: () => all(), update: () => all() },
        etag: { versionField: posts.version },
        pow: { operations: ["create"] },
      }),
    ],
  });
  try {
    await work(server.url);
  } finally {
    await server.stop();
  }
}

const program = `
import { createClient, createOutbox, liveList, memoryStorage, ServiceError, shareTabs }
  from "${npmClientName}";

const api = createClient({ baseUrl: process.argv[2] });
const end = shareTabs(api, { identity: "ada" });
const { value, etag } = await api.posts.create({ title: "with work" });
console.log(value.title, etag);
const list = liveList(api.posts, { orderBy: ["-id"] });
const until = (isRight) => new Promise((resolve) => {
  const close = list.subscribe((state) => isRight(state) && resolve([state, setTimeout(() => close())]));
});
await until(({ status }) => status === "live");
const outbox = createOutbox(api, { identity: "ada", storage: memoryStorage() });
const created = outbox.create(api.posts, { title: "waits" });
console.log(list.get().items.map(({ title, _pending }) => [title, !!_pending]));
outbox.update(api.posts, created, { title: "has waited" });
const [{ items }] = await until(({ items, pending }) => pending === 0 && items[0].version === 2);
console.log(items.map(({ title, _etag }) => [title, _etag]));
const error = await api.posts.get(9).catch((error) => error);
console.log(error instanceof ServiceError, error.slug);
outbox.close();
end();
`;

testUnless(
  missing,
  "the npm package is installed, and solves, lists and waits on Node",
  () =>
    withService(async (url) => {
      assertEquals(failure, null);
      await Deno.writeTextFile(`${project.path}/program.js`, program);
      const { stdout, stderr } = await run(node ?? "", ["program.js", url]);
      assertEquals([stderr, ...stdout.split("\n")], [
        "",
        `with work W/"1"`,
        "[ [ 'waits', true ], [ 'with work', false ] ]",
        `[ [ 'has waited', 'W/"2"' ], [ 'with work', 'W/"1"' ] ]`,
        "true not-found",
        "",
      ]);
    }),
);

const types = `
import { createClient, createOutbox, liveList, rsql } from "${npmClientName}";
import { useLive } from "${npmClientName}/react";
interface Api {
  posts: {
    path: "/api/posts"; key: number; row: { id: number; title: string };
    create: { title: string }; update: { title?: string };
    relations: Record<never, never>; etag: true; procedures: Record<never, never>;
  };
}
const api = createClient<Api>({ baseUrl: "" });
const page = await api.posts.list({ filter: rsql\`id>\${1}\`, select: ["title"] });
const list = liveList(api.posts);
export const titles: string[] = page.items.map(({ title }) => title);
export const shown: number[] = useLive(list).items.map(({ id }) => id);
export const id: string = createOutbox(api, { identity: "ada" }).update(api.posts, 1, { title: "new" }).id;
`;
const mistakes = `
page.items[0]?.id;
api.post;
list.get().items[0]?.name;
createOutbox(api, { identity: "ada" }).update(api.posts, 1, { titel: "new" });
`;

for (const resolution of ["bundler", "nodenext"] as const) {
  testUnless(missing, `the npm package has types for moduleResolution ${resolution}`, async () => {
    await Deno.writeTextFile(`${project.path}/accepted.ts`, types);
    await Deno.writeTextFile(`${project.path}/refused.ts`, types + mistakes);
    const isBundler = resolution === "bundler";
    const { Bundler, NodeNext } = ts.ModuleResolutionKind;
    const checked = ts.createProgram(["accepted.ts", "refused.ts"].map(inProject), {
      ...{ strict: true, noEmit: true, skipLibCheck: false, types: [] },
      target: ts.ScriptTarget.ES2022,
      lib: ["lib.es2023.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
      module: isBundler ? ts.ModuleKind.ESNext : ts.ModuleKind.NodeNext,
      moduleResolution: isBundler ? Bundler : NodeNext,
    });
    const errors = ts.getPreEmitDiagnostics(checked).map(({ file, start, messageText }) => {
      const { line } = file?.getLineAndCharacterOfPosition(start ?? 0) ?? { line: -1 };
      const name = file?.fileName.slice(project.path.length + 1);
      const message = ts.flattenDiagnosticMessageText(messageText, "\n");
      return `${name}: ${file?.text.split("\n")[line]}: ${message.split("\n")[0]}`;
    });
    const lines = mistakes.trim().split("\n");
    assertEquals(errors.length, lines.length, errors.join("\n"));
    for (const [index, line] of lines.entries()) {
      assert(errors[index]?.startsWith(`refused.ts: ${line}`), errors[index]);
    }
  });
}

const inProject = (name: string) => `${project.path}/${name}`;

testUnless(
  missing,
  "a bundle has what is imported of the npm package, and loads its solver when it is needed",
  async () => {
    const { outputFiles, metafile } = await build({
      stdin: {
        contents: `export { createClient, rsql } from "${npmClientName}";`,
        resolveDir: project.path,
      },
      ...{ bundle: true, minify: true, splitting: true, write: false, metafile: true },
      ...{ format: "esm", target: "es2022", outdir: "bundle", absWorkingDir: project.path },
    });
    const chunkOf = (module: string) =>
      Object.entries(metafile.outputs).flatMap(([path, { inputs }]) =>
        Object.keys(inputs).some((input) => input.endsWith(module)) ? [path] : []
      );
    const [solver = "", ...others] = chunkOf("/find_nonce.js");
    assertEquals([others, chunkOf("/live_list.js"), chunkOf("/outbox.js")], [[], [], []]);
    const first = outputFiles.find(({ path }) => path.endsWith("bundle/stdin.js"));
    const size = gzipSync(first?.contents ?? "", { level: 9 }).length;
    const loadedAtOnce = metafile.outputs["bundle/stdin.js"]?.imports
      .filter(({ kind }) => kind === "import-statement").map(({ path }) => path);
    assertEquals(loadedAtOnce?.includes(solver), false);
    const shared = outputFiles.filter(({ path }) =>
      loadedAtOnce?.some((one) => path.endsWith(one))
    );
    const sharedSize = shared.reduce(
      (sum, { contents }) => sum + gzipSync(contents, { level: 9 }).length,
      0,
    );
    const limit = clientEntries.find(({ name }) => name === "core")?.limit ?? 0;
    // Without the names of the repository's build: a few bytes are the names of chunks.
    assert(size + sharedSize <= limit + 50, `${size + sharedSize} bytes`);
  },
  { sanitizeOps: false, sanitizeResources: false },
);
