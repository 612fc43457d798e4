/** `--act-as supabase`: the tokens of Supabase identify users, and its policies decide. */
import { createHmac } from "node:crypto";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { createApp } from "../../mod.ts";
import { actAsSupabase } from "../../src/cli/database/act_as_supabase.ts";
import { prepareService } from "../../src/cli/prepare_service.ts";
import { parseServeArguments } from "../../src/cli/serve_arguments.ts";
import { openPostgres } from "../../src/engines/postgres/driver/postgres_js_driver.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { runScript } from "../support/scratch.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { starter, uid } from "./supabase.ts";

const secret = "the secret that signs the tokens of the tests";

function tokenOf(claims: object): string {
  const part = (value: object) => btoa(JSON.stringify(value)).replaceAll("=", "");
  const head = `${part({ alg: "HS256", typ: "JWT" })}.${part(claims)}`;
  return `${head}.${createHmac("sha256", secret).update(head).digest("base64url")}`;
}

const exp = Math.floor(Date.now() / 1_000) + 3_600;

testOnPostgres("--act-as supabase serves the tables by their policies", async (url) => {
  const login = `login_${crypto.randomUUID().slice(0, 8)}`;
  const admin = await openPostgres(url);
  // The roles of Supabase have fixed names, which other databases of the server share.
  const role = (name: string) =>
    `DO $$ BEGIN CREATE ROLE ${name}; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;\n`;
  const script = starter.replaceAll("authenticator", login)
    .replace("CREATE ROLE anon;\n", "").replace("CREATE ROLE authenticated;\n", "");
  for (const name of ["anon", "authenticated"]) await admin.query({ text: role(name), values: [] });
  await runScript(admin, script);
  const place = new URL(url);
  place.username = login;
  place.password = "secret";
  const prepare = async (environment: Readonly<Record<string, string>>, ...more: string[]) => {
    const command = parseServeArguments([place.href, "--act-as", "supabase", ...more]);
    if (command.kind !== "serve") throw new Error(command.kind);
    const system = systemRuntime(() => {});
    const runtime = {
      ...system,
      cron: undefined,
      environment: (name: string) => environment[name],
    };
    return await prepareService(command, { runtime, token: "a-printed-token" });
  };
  try {
    const error = await assertRejects(() => prepare({}), Error);
    assertEquals(
      error.message,
      "Cannot act as supabase without the key of its tokens: set SUPABASE_URL, or " +
        "SUPABASE_JWT_SECRET",
    );
    const readOnly = await prepare({ SUPABASE_JWT_SECRET: secret });
    const reader = await createApp({ secret: "a secret for the tests only", ...readOnly.config });
    try {
      const ask = async (method: string, path: string) =>
        await reader.fetch(
          new Request(`http://127.0.0.1/api/${path}`, {
            method,
            headers: {
              host: "127.0.0.1",
              authorization: `Bearer ${tokenOf({ sub: uid(3), role: "authenticated", exp })}`,
            },
          }),
        );
      assertEquals((await (await ask("GET", "todos/count")).json()).count, 20);
      assertEquals((await ask("DELETE", "todos/1")).status, 405);
    } finally {
      await reader.close();
    }
    const { config, rights } = await prepare({ SUPABASE_JWT_SECRET: secret }, "--write");
    assertEquals(rights?.token, null);
    const app = await createApp({ secret: "a secret for the tests only", ...config });
    try {
      const send = async (claims: object | null, method: string, path: string, body?: object) => {
        const response = await app.fetch(
          new Request(`http://127.0.0.1/api/${path}`, {
            method,
            headers: {
              host: "127.0.0.1",
              ...(claims === null ? {} : { authorization: `Bearer ${tokenOf(claims)}` }),
              ...(body === undefined ? {} : { "content-type": "application/json" }),
            },
            body: body === undefined ? null : JSON.stringify(body),
          }),
        );
        return { status: response.status, body: JSON.parse(await response.text() || "null") };
      };
      const user = (n: number) => ({
        sub: uid(n),
        role: "authenticated",
        aud: "authenticated",
        exp,
      });
      assertEquals((await send(user(3), "GET", "todos/count")).body.count, 20);
      assertEquals((await send(null, "GET", "todos/count")).body.count, 0);
      assertEquals((await send(null, "GET", "posts/count")).body.count, 75);
      const created = await send(user(3), "POST", "todos", { task: "by a token" });
      assertEquals([created.status, created.body.user_id], [201, uid(3)]);
      const statuses = [
        await send(user(3), "POST", "todos", { task: "foreign", user_id: uid(4) }),
        await send(null, "POST", "todos", { task: "nobody" }),
        await send({ ...user(3), role: "service_role" }, "GET", "todos/count"),
        await send({ role: "anon", exp }, "GET", "todos/count"),
        await send(user(3), "GET", "members"),
      ];
      assertEquals(statuses.map(({ status }) => status), [403, 401, 401, 401, 200]);
    } finally {
      await app.close();
    }
  } finally {
    await runScript(admin, `DROP OWNED BY ${login};\nDROP ROLE ${login}`);
    await admin.close();
  }
});

Deno.test("policies can read the claims of an anonymous caller as JSON", () => {
  const environment = (name: string) => name === "SUPABASE_JWT_SECRET" ? secret : undefined;
  const { actAs } = actAsSupabase({ environment });
  assertEquals(actAs?.as(null), {
    role: "anon",
    settings: { "request.jwt.claims": '{"role":"anon"}' },
  });
});

Deno.test("--act-as names supabase, and excludes other sources of rights", () => {
  const messageOf = (...args: string[]) =>
    assertThrows(() => parseServeArguments(args), Error).message;
  assertEquals(
    [
      messageOf("postgres://db", "--act-as", "root"),
      messageOf("postgres://db", "--act-as", "supabase", "--users"),
      messageOf("postgres://db", "--act-as", "supabase", "--search"),
      messageOf("--act-as", "supabase"),
    ],
    [
      'The roles of --act-as must be those of supabase, not "root"',
      "The options --act-as and --users exclude each other",
      "The options --act-as and --search exclude each other",
      "The option --act-as belongs to a database: name its file or URL",
    ],
  );
});
