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

type Environment = Readonly<Record<string, string>>;
type Prepare = (
  environment: Environment,
  ...more: readonly string[]
) => ReturnType<typeof prepareService>;

/** Creates the database of Supabase with a role that logs in, and prepares services on it. */
async function withDatabase(
  url: string,
  functions: string,
  work: (prepare: Prepare) => Promise<void>,
): Promise<void> {
  const login = `login_${crypto.randomUUID().slice(0, 8)}`;
  const admin = await openPostgres(url);
  // The roles of Supabase have fixed names, which other databases of the server share.
  const role = (name: string) =>
    `DO $$ BEGIN CREATE ROLE ${name}; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$;\n`;
  const script = starter.replaceAll("authenticator", login)
    .replace("CREATE ROLE anon;\n", "").replace("CREATE ROLE authenticated;\n", "");
  for (const name of ["anon", "authenticated"]) await admin.query({ text: role(name), values: [] });
  await runScript(admin, `${script};\n${functions}`);
  const place = new URL(url);
  place.username = login;
  place.password = "secret";
  try {
    await work(async (environment, ...more) => {
      const command = parseServeArguments([place.href, "--act-as", "supabase", ...more]);
      if (command.kind !== "serve") throw new Error(command.kind);
      const system = systemRuntime(() => {});
      const runtime = {
        ...system,
        cron: undefined,
        environment: (name: string) => environment[name],
      };
      return await prepareService(command, { runtime, token: "a-printed-token" });
    });
  } finally {
    await runScript(admin, `DROP OWNED BY ${login};\nDROP ROLE ${login}`);
    await admin.close();
  }
}

/** Sends requests to a service, with the token of the claims if there are any. */
async function withService(
  { config }: Awaited<ReturnType<Prepare>>,
  work: (
    send: (claims: object | null, method: string, path: string, body?: object | string) => Promise<{
      readonly status: number;
      // deno-lint-ignore no-explicit-any -- the body of a response
      readonly body: any;
    }>,
  ) => Promise<void>,
): Promise<void> {
  const app = await createApp({ secret: "a secret for the tests only", ...config });
  try {
    await work(async (claims, method, path, body) => {
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
    });
  } finally {
    await app.close();
  }
}

const environment = { SUPABASE_JWT_SECRET: secret };

function user(n: number) {
  return { sub: uid(n), role: "authenticated", aud: "authenticated", exp };
}

testOnPostgres("--act-as supabase serves the tables by their policies", async (url) => {
  await withDatabase(url, "", async (prepare) => {
    const error = await assertRejects(() => prepare({}), Error);
    assertEquals(
      error.message,
      "Cannot act as supabase without the key of its tokens: set SUPABASE_URL, or " +
        "SUPABASE_JWT_SECRET",
    );
    await withService(await prepare(environment), async (send) => {
      assertEquals((await send(user(3), "GET", "todos/count")).body.count, 20);
      assertEquals((await send(user(3), "DELETE", "todos/1")).status, 405);
    });
    const prepared = await prepare(environment, "--write");
    assertEquals(prepared.rights?.token, null);
    await withService(prepared, async (send) => {
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
    });
  });
});

const functions = `
CREATE FUNCTION my_todos() RETURNS SETOF todos STABLE LANGUAGE sql AS 'SELECT * FROM todos';
CREATE FUNCTION caller() RETURNS text STABLE LANGUAGE plpgsql AS $$ BEGIN RETURN concat_ws(' ',
  current_user, auth.uid(), current_setting('request.jwt.claims')::jsonb ->> 'role'); END $$;
CREATE FUNCTION members_only() RETURNS text STABLE LANGUAGE sql AS 'SELECT current_user::text';
REVOKE EXECUTE ON FUNCTION members_only FROM PUBLIC;
GRANT EXECUTE ON FUNCTION members_only TO authenticated;
CREATE FUNCTION greet(name text) RETURNS text STABLE LANGUAGE sql AS $$SELECT 'hi ' || name$$;
CREATE FUNCTION greet(name text, secret text) RETURNS text STABLE LANGUAGE sql AS 'SELECT secret';
REVOKE EXECUTE ON FUNCTION greet(text, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION greet(text, text) TO authenticated;
CREATE FUNCTION shout(text) RETURNS text STABLE LANGUAGE sql AS
  $$SELECT upper($1) || coalesce(right(auth.uid()::text, 2), '')$$;
CREATE FUNCTION gone() RETURNS void STABLE LANGUAGE plpgsql AS
  $$ BEGIN RAISE SQLSTATE 'PT404' USING MESSAGE = 'it is gone'; END $$;
CREATE FUNCTION twice(n integer) RETURNS integer STABLE LANGUAGE sql AS 'SELECT 2 * n';
CREATE FUNCTION twice(n integer, m integer DEFAULT 1) RETURNS integer LANGUAGE sql AS 'SELECT n + m';
CREATE FUNCTION nobodys() RETURNS integer STABLE LANGUAGE sql AS 'SELECT 1';
REVOKE EXECUTE ON FUNCTION nobodys FROM PUBLIC;
CREATE FUNCTION counts() RETURNS bigint[] STABLE SECURITY DEFINER SET search_path = '' LANGUAGE sql AS
  'SELECT ARRAY[count(*), count(*) FILTER (WHERE user_id = auth.uid())] FROM public.todos';
CREATE FUNCTION add_todo(task text) RETURNS todos LANGUAGE sql AS
  'INSERT INTO todos (task) VALUES (task) RETURNING *';
CREATE FUNCTION pretend() RETURNS text LANGUAGE plpgsql AS $$ BEGIN
  PERFORM set_config('request.jwt.claims', '{"sub":"${uid(5)}"}', false); RESET ROLE;
  RETURN current_setting('request.jwt.claims')::jsonb ->> 'sub'; END $$;
CREATE FUNCTION caption(posts) RETURNS text STABLE LANGUAGE sql AS
  $$SELECT $1.title || coalesce(right(auth.uid()::text, 2), '')$$;
CREATE FUNCTION lost() RETURNS text STABLE LANGUAGE plpgsql AS $$ DECLARE found text; BEGIN
  EXECUTE 'SELECT name FROM lost_table' INTO found; RETURN found; END $$;
CREATE FUNCTION writable() RETURNS text STABLE LANGUAGE sql AS
  $$SELECT set_config('transaction_read_only', 'off', true)$$;
CREATE FUNCTION serial() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
  SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; END $$`;

testOnPostgres("--act-as supabase calls functions with the role and the claims", async (url) => {
  await withDatabase(url, functions, async (prepare) => {
    await withService(await prepare(environment, "--functions", "*"), async (send) => {
      // The clients of Supabase and of the service call every function by POST.
      const call = async (name: string, input = {}) => {
        const { status, body } = await send(user(3), "POST", `functions/rpc/${name}`, input);
        return status === 200 ? body.data : [status, body.detail];
      };
      assertEquals(await call("counts"), [400, 20]);
      // Postgres also considers the volatile function, which is not served.
      assertEquals((await call("twice", { n: 1 }))[0], 422);
      assertEquals(await call("gone"), [404, "it is gone"]);
      assertEquals(await call("add_todo"), [
        405,
        "Cannot POST here: the database was opened read-only, start with --write to change it",
      ]);
    });
    const prepared = await prepare(environment, "--functions", "*", "--write");
    await withService(prepared, async (send) => {
      const call = async (who: object | null, name: string, input?: object) => {
        const method = input === undefined ? "GET" : "POST";
        const { status, body } = await send(who, method, `functions/rpc/${name}`, input);
        return status === 200 ? body.data : [status, body.detail];
      };
      const forbidden = (name: string) => [
        403,
        `Cannot call ${name}: the database does not allow it`,
      ];
      for (let round = 0; round < 6; round++) {
        assertEquals(await call(user(3), "caller"), `authenticated ${uid(3)} authenticated`);
        assertEquals(await call(null, "caller"), "anon anon");
        assertEquals(await call(user(4), "members_only"), "authenticated");
        assertEquals(await call(null, "members_only"), forbidden("members_only"));
        assertEquals(await call(user(4), "counts", {}), [400, 20]);
        assertEquals(await call(null, "counts"), [400, 0]);
        // Each of several functions with one name has its own rights.
        assertEquals(await call(null, "greet?name=a"), "hi a");
        assertEquals(await call(user(3), "greet?name=a&secret=b"), "b");
        assertEquals(await call(null, "greet?name=a&secret=b"), forbidden("greet"));
      }
      const { items } = await call(user(3), "my_todos?totalCount=true&limit=1");
      assertEquals(items, [{ id: 2, user_id: uid(3), task: "task 2", is_complete: false }]);
      assertEquals((await call(null, "my_todos")).items, []);
      assertEquals((await call(user(3), "nobodys"))[0], 404);
      assertEquals(await call(null, "add_todo", { task: "nobody" }), forbidden("add_todo"));
      assertEquals((await call(user(4), "add_todo", { task: "mine" })).user_id, uid(4));
      const shout = await send(user(3), "POST", "functions/rpc/shout", "hey");
      assertEquals(shout.body.data, "HEY03");
      // What a function changes in the session ends with its call.
      assertEquals(await call(user(3), "pretend", {}), uid(5));
      assertEquals(await call(user(3), "caller"), `authenticated ${uid(3)} authenticated`);
      const rows = await send(user(3), "GET", "posts?select=caption&filter=id==4");
      assertEquals(rows.body.items, [{ caption: "post 403" }]);
      const publics = await send(
        null,
        "GET",
        "posts?select=caption&filter=id==4;caption=contains=post",
      );
      assertEquals(publics.body.items, [{ caption: "post 4" }]);
      // Such a fault of a function was a 503, as if the schema had changed.
      assertEquals((await call(null, "lost"))[0], 500);
      assertEquals(await call(null, "writable"), [
        403,
        "Cannot call writable: it changes the database, although it is not declared as volatile",
      ]);
      const [status, detail] = await call(null, "serial", {});
      assertEquals([status, detail.startsWith("Cannot call serial: ")], [403, true]);
    });
  });
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
