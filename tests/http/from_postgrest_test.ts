/**
 * The requests and client calls of docs/from_postgrest.md, in the order of the page, on Postgres.
 * `PAIRS=write` writes the responses and requests of the service into the page.
 */
import { assertEquals } from "@std/assert";
import { createApp, openDatabase } from "../../mod.ts";
import { passwordAuth } from "../../exports/auth.ts";
import { createClient, liveList, rsql } from "../../exports/client.ts";
import { decideCliRights } from "../../src/cli/cli_service.ts";
import { serveDatabase } from "../../src/cli/database/serve_database.ts";
import { systemRuntime } from "../../src/runtime/system_runtime.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { gate, runScript } from "../support/scratch.ts";

const page = new URL("../../docs/from_postgrest.md", import.meta.url);
const schema = new URL("../fixtures/films.sql", import.meta.url);
const authorization = "Bearer the-token-of-the-page";
const isWriting = Deno.env.get("PAIRS") === "write";

/** Sends a request to the service. */
type Send = (request: Request) => Promise<Response>;

testOnPostgres("docs/from_postgrest.md shows the responses of the service", async (url) => {
  const text = await Deno.readTextFile(page);
  await withService(url, async (send) => {
    const shown = await replaceBlocks(text, {
      http: (block) => answered(block, send),
      "ts ignore": (block) => called(block, send),
    });
    if (isWriting) await Deno.writeTextFile(page, shown);
    else assertEquals(shown.split("\n"), text.split("\n"));
  });
});

testOnPostgres("each filter in the text of docs/from_postgrest.md is accepted", async (url) => {
  const filters = inline(await Deno.readTextFile(page), /`filter=([^`]+)`/g);
  assertEquals(filters.length > 15, true, "filters are found");
  await withService(url, async (send) => {
    for (const filter of filters) {
      const response = await send(new Request(`http://127.0.0.1/api/people?filter=${filter}`));
      assertEquals([filter, response.status, await response.json()].slice(0, 2), [filter, 200]);
    }
  });
});

Deno.test("docs/from_postgrest.md names routes of accounts that exist", async () => {
  const db = await openDatabase("sqlite::memory:");
  const secret = "at least thirty-two characters long";
  const runtime = systemRuntime(() => {});
  const auth = { use: [passwordAuth()] };
  const app = await createApp({ db, secret, runtime, auth, resources: [] });
  const statusOf = async (path: string) => {
    const headers = { "content-type": "application/json" };
    const request = new Request(`http://127.0.0.1${path}`, { method: "POST", headers, body: "{}" });
    const response = await app.fetch(request);
    await response.body?.cancel();
    return response.status;
  };
  const routes = inline(await Deno.readTextFile(page), /`POST (\/api\/auth\/[^`]+)`/g);
  const missing: string[] = [];
  for (const route of [...routes, "/api/auth/unknown"]) {
    if (await statusOf(route) === 404) missing.push(route);
  }
  await app.close();
  await db.close();
  assertEquals([routes.length, missing], [7, ["/api/auth/unknown"]]);
});

testOnPostgres("a wrong response on the page is found", async (url) => {
  await withService(url, async (send) => {
    const wrong = "# PostgREST\nGET /films\n\n# resource-api\nGET /api/films/count\n\n200 7";
    const right = await answered(wrong, send);
    assertEquals(right, wrong.replace("200 7", '200 {"count":6}'));
    const call = "// supabase-js\n\n// resource-api\nawait api.films.get(1);\n// GET /api/films/2";
    assertEquals(await called(call, send), call.replace("films/2", "films/1"));
  });
});

/** Serves the example schema like `cli.ts DATABASE --write --functions '*' --search`. */
async function withService(url: string, work: (send: Send) => Promise<void>): Promise<void> {
  const db = await openDatabase(url);
  await runScript(db.driver, await Deno.readTextFile(schema));
  await db.close();
  const rights = decideCliRights(
    { host: "127.0.0.1", public: false, writable: true },
    authorization.slice("Bearer ".length),
  );
  const { config } = await serveDatabase(url, {
    ...{ rights, runtime: systemRuntime(() => {}), kv: undefined, accountsIn: undefined },
    ...{ isSearched: true, schemas: null, functions: ["*"] },
    recording: { triggers: false, schema: null },
  });
  const app = await createApp(config);
  try {
    await work((request) => Promise.resolve(app.fetch(request)));
  } finally {
    await app.close();
  }
}

function inline(text: string, pattern: RegExp): readonly string[] {
  return [...text.matchAll(pattern)].map(([, found = ""]) => found);
}

async function replaceBlocks(
  text: string,
  kinds: Record<string, (block: string) => Promise<string>>,
): Promise<string> {
  const parts: string[] = [];
  for (const part of text.split(/^(```[\s\S]*?^```)$/m)) {
    const [, kind = "", block = ""] = /^```(.*)\n([\s\S]*)\n```$/.exec(part) ?? [];
    const replace = kinds[kind];
    parts.push(replace === undefined ? part : `\`\`\`${kind}\n${await replace(block)}\n\`\`\``);
  }
  return parts.join("");
}

/** Sends the request after `# resource-api`, and returns the block with the response. */
async function answered(block: string, send: Send): Promise<string> {
  const [theirs = "", ours = ""] = block.split(/^# resource-api\n/m);
  const [head = "", ...rest] = ours.split(/\n\n/);
  const [line = "", ...fields] = head.split("\n");
  const [method = "", path = ""] = line.split(/ (.*)/);
  const body = /^\d{3}\b/.test(rest[0] ?? "") ? undefined : rest[0];
  const headers = new Headers({ authorization, "content-type": "application/json" });
  for (const field of fields) headers.set(...field.split(/: (.*)/, 2) as [string, string]);
  const url = `http://127.0.0.1${path}`;
  const response = await send(new Request(url, { method, headers, body: body ?? null }));
  const content = await response.text();
  const told = content.startsWith("{") ? layOut(shortened(JSON.parse(content))) : content.trimEnd();
  const answer = `${response.status} ${told}`.trimEnd();
  return `${theirs}# resource-api\n${
    [head, ...(body === undefined ? [] : [body]), answer].join("\n\n")
  }`;
}

/** Makes the call after `// resource-api`, and returns the block with the request in a comment. */
async function called(block: string, send: Send): Promise<string> {
  const [theirs = "", ours = ""] = block.split(/^\/\/ resource-api\n/m);
  const code = ours.replace(/\n\/\/ [A-Z]+ \/[\s\S]*$/, "");
  const requests: string[] = [];
  // The page names resources that only the example schema has.
  // deno-lint-ignore no-explicit-any
  const api: any = createClient<any>({
    baseUrl: "http://127.0.0.1",
    token: () => authorization.slice("Bearer ".length),
    fetch: async (input: Request) => {
      const { pathname, search } = new URL(input.url);
      const body = await input.clone().text();
      requests.push(
        `// ${input.method} ${pathname}${decodeURIComponent(search.replaceAll("+", " "))} ${body}`
          .trimEnd(),
      );
      return send(input);
    },
  });
  const live = gate();
  const scope = {
    ...{ api, rsql, liveList },
    show: (_rows: unknown, status: string) => status === "live" && live.open(),
  };
  const source = `return (async () => {
${code}
return typeof stop === "undefined" ? null : stop;
})()`;
  const stop = await new Function(...Object.keys(scope), source)(...Object.values(scope));
  if (stop !== null) {
    await live.passed;
    stop();
  }
  return `${theirs}// resource-api\n${[code, ...requests].join("\n")}`;
}

/** Omits what differs between runs: the position in a cursor. */
function shortened(body: unknown): unknown {
  if (typeof body !== "object" || body === null || !("nextCursor" in body)) return body;
  return typeof body.nextCursor === "string" ? { ...body, nextCursor: "…" } : body;
}

/** JSON on one line if it fits, and else with a line for each member. */
function layOut(value: unknown, indent = ""): string {
  const line = JSON.stringify(value);
  if (line.length + indent.length <= 90 || typeof value !== "object" || value === null) return line;
  const inner = `${indent}  `;
  const members = Array.isArray(value)
    ? value.map((item) => inner + layOut(item, inner))
    : Object.entries(value).map(([name, member]) =>
      `${inner}${JSON.stringify(name)}: ${layOut(member, inner)}`
    );
  const [open, close] = Array.isArray(value) ? "[]" : "{}";
  return `${open}\n${members.join(",\n")}\n${indent}${close}`;
}
