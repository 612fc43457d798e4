/** The program and the statements of docs/supabase.md do what the guide says. */
import { createHmac } from "node:crypto";
import { assert, assertEquals } from "@std/assert";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { runScript, scratchFolder } from "../support/scratch.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { uid } from "./supabase.ts";

const root = new URL("../../", import.meta.url);
const guide = Deno.readTextFileSync(new URL("docs/supabase.md", root));
const blocks = (kind: string) =>
  [...guide.matchAll(new RegExp(`^\`\`\`${kind}\n([\\s\\S]*?)^\`\`\``, "gm"))].map((
    [, text = ""],
  ) => text);

const secret = "the secret that signs the tokens of the tests";
const part = (value: object) => btoa(JSON.stringify(value)).replaceAll("=", "");

function tokenOf(n: number): string {
  const exp = Math.floor(Date.now() / 1_000) + 3_600;
  const head = `${part({ alg: "HS256", typ: "JWT" })}.${part({ sub: uid(n), exp })}`;
  return `${head}.${createHmac("sha256", secret).update(head).digest("base64url")}`;
}

testOnPostgres("the guide to Supabase serves a table by its policies", async (url) => {
  const suffix = crypto.randomUUID().slice(0, 8);
  const named = (text: string) =>
    text.replaceAll(/\b(anon|authenticated|resource_api)\b/g, `$1_${suffix}`);
  const [login = "", schema = ""] = blocks("sql");
  const [program = ""] = blocks("ts ignore");
  assert(login.includes("NOINHERIT") && schema.includes("POLICY") && program.includes("actAs"));
  const admin = await openPostgres(url);
  const run = (script: string) => runScript(admin, named(script));
  await run(`CREATE ROLE anon;
CREATE ROLE authenticated;
CREATE SCHEMA auth;
CREATE FUNCTION auth.uid() RETURNS uuid LANGUAGE sql STABLE AS $$
  SELECT (nullif(current_setting('request.jwt.claims', true), '')::jsonb ->> 'sub')::uuid $$;
GRANT USAGE ON SCHEMA auth TO anon, authenticated`);
  await using folder = await scratchFolder();
  const place = new URL(url);
  place.username = named("resource_api");
  place.password = "a long password";
  try {
    await run(login);
    await run(schema);
    const file = `${folder.path}/main.ts`;
    await Deno.writeTextFile(
      file,
      named(program).replace(
        "await serve({",
        "await serve({\n  port: 0,\n" +
          "  onListen: ({ url }) => console.log(`at ${url}`),",
      ),
    );
    const child = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--config", new URL("deno.json", root).pathname, file],
      env: {
        DATABASE_URL: place.href,
        SUPABASE_JWT_SECRET: secret,
        SERVICE_SECRET: "a secret for the tests only",
      },
      stdout: "piped",
      stderr: "null",
    }).spawn();
    try {
      const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      let said = "";
      while (!/at http\S+\n/.test(said)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`The program has ended: ${said}`);
        said += value;
      }
      await reader.cancel();
      const [, base = ""] = /at (http\S+)\n/.exec(said) ?? [];
      const send = async (user: number | null, method: string, path: string, body?: object) => {
        const response = await fetch(new URL(`/api/todos${path}`, base), {
          method,
          headers: {
            ...(user === null ? {} : { authorization: `Bearer ${tokenOf(user)}` }),
            ...(body === undefined ? {} : { "content-type": "application/json" }),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        });
        return { status: response.status, body: JSON.parse(await response.text() || "null") };
      };
      const mine = await send(1, "POST", "", { task: "private" });
      const open = await send(1, "POST", "", { task: "public", is_public: true });
      assertEquals([mine.status, mine.body.user_id, open.status], [201, uid(1), 201]);
      const answers = [
        await send(1, "GET", `/${mine.body.id}`),
        await send(2, "GET", `/${mine.body.id}`),
        await send(null, "GET", `/${open.body.id}`),
        await send(2, "PATCH", `/${open.body.id}`, { task: "stolen" }),
        await send(2, "PATCH", `/${mine.body.id}`, { task: "stolen" }),
        await send(1, "PATCH", `/${mine.body.id}`, { user_id: uid(2) }),
        await send(null, "POST", "", { task: "nobody's" }),
        await send(1, "DELETE", `/${mine.body.id}`),
        await send(1, "GET", "/subscribe"),
      ];
      assertEquals(answers.map(({ status }) => status), [
        ...[200, 404, 200, 403, 404, 403, 401, 204, 404],
      ]);
      const counts = [await send(1, "GET", "/count"), await send(null, "GET", "/count")];
      assertEquals(counts.map(({ body }) => body.count), [1, 1]);
    } finally {
      child.kill("SIGKILL");
      await child.status;
    }
  } finally {
    await run(`DROP OWNED BY anon, authenticated, resource_api;
DROP ROLE anon, authenticated, resource_api`);
    await admin.close();
  }
});
