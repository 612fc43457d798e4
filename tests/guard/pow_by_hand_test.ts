import { assertEquals, assertMatch } from "@std/assert";
import { type App, createApp } from "../../src/app/app.ts";
import { openDatabase } from "../../src/engines/open_database.ts";
import { listen } from "../../src/listen/listener.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { notes } from "../http/guard_support.ts";
import { scratchFolder } from "../support/scratch.ts";
import { testUnless } from "../support/skip.ts";

const missing = ["sh", "curl", "openssl", "awk"].find((program) => !isThere(program));
const reason = missing === undefined ? null : `${missing} is not installed`;

testUnless(
  reason,
  "the shell script of docs/proof-of-work.md solves a challenge of a service",
  async () => {
    await using folder = await scratchFolder();
    const path = `${folder.path}/solve.sh`;
    await Deno.writeTextFile(path, scriptOfTheDocument());
    const db = await openDatabase("sqlite::memory:");
    await db.createTables([notes]);
    const statuses: number[] = [];
    const runtime = systemRuntime(() => {});
    const app = await createApp({
      db,
      runtime,
      kv: ":memory:",
      secret: "a secret for the tests only",
      abuseProtection: { pow: { secret: "a secret for the tests only" } },
      resources: [
        resource(notes, { id: notes.id, auth: { public: true }, pow: { difficulty: 6 } }),
      ],
    });
    const counted: App = {
      ...app,
      async fetch(request, info) {
        const response = await app.fetch(request, info);
        statuses.push(response.status);
        return response;
      },
    };
    const server = listen(counted, { port: 0 }, runtime);
    const { stdout, stderr } = await new Deno.Command("sh", {
      args: [path, `${server.url}/api/notes?limit=1&filter=title==%22a%20b%22`],
    }).output();
    await server.stop();
    const answer = new TextDecoder().decode(stdout);
    assertEquals(
      answer,
      `{"items":[],"nextCursor":null,"hasMore":false}`,
      new TextDecoder().decode(stderr),
    );
    assertEquals(statuses, [428, 200]);
  },
);

function scriptOfTheDocument(): string {
  const document = Deno.readTextFileSync(
    new URL("../../docs/proof-of-work.md", import.meta.url),
  );
  const [, script = ""] = /^```sh\n(.*?)^```$/ms.exec(document) ?? [];
  assertMatch(script, /openssl/);
  return script;
}

function isThere(program: string): boolean {
  return new Deno.Command("sh", {
    args: ["-c", `command -v ${program}`],
    stdout: "null",
    stderr: "null",
  }).outputSync().success;
}
