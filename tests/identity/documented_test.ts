import { assertEquals, assertMatch } from "@std/assert";
import { createApp, eq, integer, openDatabase, resource, table, text } from "../../mod.ts";
import { passwordAuth } from "../../exports/auth.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";

const page = Deno.readTextFileSync(new URL("../../docs/authentication.md", import.meta.url));

Deno.test("the commands of docs/authentication.md sign up, verify the address, log in and read", async () => {
  const [, block = ""] = /^```sh\n(auth=[^]*?)\n```$/m.exec(page) ?? [];
  const [auth = "", ...commands] = block.replaceAll(/\\\n\s*/g, "").split("\n");
  const notes = table("notes", { id: integer().primaryKey(), ownerId: text().notNull() });
  const db = await openDatabase("sqlite::memory:");
  await db.createTables([notes]);
  let link = "";
  const runtime = systemRuntime((observation) => {
    if (observation.kind === "mail_printed") link = observation.link ?? "";
  });
  const app = await createApp({
    ...{ db, runtime, kv: ":memory:", secret: "sixteen or more characters" },
    auth: { use: [passwordAuth()] },
    resources: [
      resource(notes, { id: notes.id, auth: { read: (user) => eq(notes.ownerId, user.id) } }),
    ],
  });
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, app.fetch);
  const printed: string[] = [];
  for (const command of commands) {
    // An ellipsis is the rest of a token that the log or the login has shown.
    const [verified = "", session = ""] = [link, printed.at(-1) ?? ""]
      .map((text) => /(?:verify|ses)_([\w-]+)/.exec(text)?.[1]);
    const script = `${auth}; ${command}`.replaceAll(":8000", `:${server.addr.port}`)
      .replace("verify_…", `verify_${verified}`).replace("ses_…", `ses_${session}`)
      .replace("curl ", "curl -sS --fail-with-body ");
    const { code, stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
    printed.push(new TextDecoder().decode(stdout));
    assertEquals(code, 0, `${script}: ${printed.at(-1)}`);
  }
  assertEquals(printed.length, 4);
  assertMatch(printed[2] ?? "", /"token":"ses_/);
  assertEquals(JSON.parse(printed[3] ?? "").items, []);
  await app.close();
});
