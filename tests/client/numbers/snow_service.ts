import { assert, assertEquals } from "@std/assert";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createClient } from "../../../exports/client.ts";
import { all, type App, createApp, procedure, resource } from "../../../mod.ts";
import { systemRuntime } from "../../../src/runtime/system_runtime.ts";
import { memorySearch } from "../../../src/search/search_adapter.ts";
import type { Engine } from "../../support/engines.ts";
import { run, runScript } from "../../support/scratch.ts";
import { z } from "zod";
import { fastEnvironment } from "../support/fast_environment.ts";
import type { Database } from "../../../src/db/database.ts";

/** Each lies beside another one that is the same double, or at the end of the range. */
export const wholeNumbers = [
  "-9223372036854775808",
  "-9007199254740993",
  "-9007199254740992",
  "-9007199254740991",
  "-1",
  "0",
  "7",
  "9007199254740991",
  "9007199254740992",
  "9007199254740993",
  "9007199254740994",
  "9223372036854775807",
] as const;

/** With 30 digits, and beside one that is the same double. */
const decimals = [
  "12345678901234567890123456.7891",
  "12345678901234567890123456.7892",
  "-0.0001",
  "9007199254740993.0000",
];

/** The shortest digits of doubles. */
const reals = ["0.30000000000000004", "5e-324", "-1.7976931348623157e+308", "9007199254740994"];

/** A row as the database has it: every number by its digits. */
export interface Stored {
  readonly id: string;
  readonly ref: string;
  readonly price: string;
  readonly ratio: string;
  /** Its numbers are strings that begin with `# `, as {@link marked} makes them. */
  readonly doc: unknown;
}

/** What the rows are before a test changes them. */
const storedRows: readonly Stored[] = wholeNumbers.map((id, index) => ({
  id,
  ref: wholeNumbers.at(index - 1) ?? id,
  price: decimals[index % decimals.length] ?? "",
  ratio: reals[index % reals.length] ?? "",
  doc: { big: `# ${id}`, name: "a", list: [[`# ${decimals[index % decimals.length]}`], "12"] },
}));

/** The JSON text of a document. */
export function documentText({ doc }: Stored): string {
  return JSON.stringify(doc).replace(/"# ([^"]*)"/g, "$1");
}

/** JSON as it is written: its numbers are strings that begin with `# `. */
// deno-lint-ignore no-explicit-any -- a test says what an answer holds by asserting it
export function marked(text: string): any {
  return JSON.parse(
    text.replace(
      /"(?:\\.|[^"\\])*"|-?\d[\d.eE+-]*/g,
      (part) => part[0] === '"' ? part : `"# ${part}"`,
    ),
  );
}

const script = {
  sqlite: `
    CREATE TABLE snow (id BIGINT PRIMARY KEY, v TEXT, ref BIGINT REFERENCES snow(id), doc JSON,
      price DECIMAL(30, 4), ratio REAL, pages INTEGER, rev INTEGER NOT NULL DEFAULT 1);`,
  postgres: `
    CREATE TABLE snow (id bigint PRIMARY KEY, v text, ref bigint REFERENCES snow(id), doc jsonb,
      price numeric(30, 4), ratio float8, pages int4, rev int4 NOT NULL DEFAULT 1);`,
};

/** A row as the client shows it. */
export interface Row {
  id: string;
  v: string | null;
  ref: string | null;
  doc: unknown;
  price: string | null;
  ratio: number | null;
  pages: number | null;
  twin: unknown;
}

/** What the types of the service say. */
export interface Api {
  snow: {
    path: "/api/snow";
    key: string | number;
    row: Row;
    create: Omit<Partial<Row>, "id" | "twin"> & { id: string | number };
    update: Omit<Partial<Row>, "twin">;
    relations: { refRow: Row | null };
    etag: true;
    procedures: {
      echo: { input: { id: string }; output: { id: string; doc: unknown } };
    };
  };
}

/** A service over a table of such numbers. */
export interface World {
  /** What the database has before a test changes it. */
  readonly rows: readonly Stored[];
  readonly db: Database;
  readonly app: App;
  readonly api: ReturnType<typeof clientOf>;
  /** The ids and values that the hooks of the service were given, as strings. */
  readonly hooked: string[];
  /** What the database says, by itself. */
  text(column: string, where: string): Promise<string[]>;
  /** Sends a request as a program does that asks for nothing. */
  send(
    method: string,
    path: string,
    body?: string,
    headers?: Record<string, string>,
  ): Promise<Response>;
  /** Calls a tool of MCP; the answer is its text, read as JavaScript does. */
  // deno-lint-ignore no-explicit-any -- a test says what an answer holds by asserting it
  tool(name: string, args: Record<string, unknown>): Promise<any>;
}

function clientOf(app: App) {
  return createClient<Api>({
    baseUrl: "http://test",
    environment: fastEnvironment(20),
    fetch: (request) => app.fetch(request),
  });
}

/** Runs `work` with a service over the rows of {@link World.rows}, which the database wrote. */
export async function withSnow(
  engine: Engine,
  work: (world: World) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  let app: App | null = null;
  const hooked: string[] = [];
  try {
    const isSqlite = engine.name.includes("sqlite");
    await runScript(db.driver, isSqlite ? script.sqlite : script.postgres);
    // SQLite keeps decimals of 15 digits.
    const rows = isSqlite
      ? storedRows.map((row) => ({
        ...row,
        price: row.price.replace(/^(-?)\d{11,}/, "$112345678901"),
      }))
      : storedRows;
    for (const row of rows) await run(db, insertText({ ...row, ref: row.id }, db));
    for (const { id, ref } of rows) {
      await run(db, `UPDATE snow SET ref = ${ref} WHERE id = ${id}`);
    }
    app = await openApp(db, hooked);
    await work({ ...toolsOf(db, app), rows, db, app, hooked, api: clientOf(app) });
  } finally {
    await app?.close();
    await db.close();
  }
}

/** The statement that writes a row. */
function insertText({ id, ref, price, ratio, ...row }: Stored, db: Database): string {
  const doc = `'${documentText({ id, ref, price, ratio, ...row })}'`;
  const json = db.dialect.placeholder(1) === "?" ? doc : `${doc}::jsonb`;
  return `INSERT INTO snow (id, v, ref, price, ratio, doc, pages)
    VALUES (${id}, 'v', ${ref}, '${price}', ${ratio}, ${json}, 3)`;
}

async function openApp(db: Database, hooked: string[]): Promise<App> {
  const [table] = (await db.introspect()).tables;
  assert(table);
  const echo = procedure({
    input: z.object({ id: z.string() }),
    output: z.object({ id: z.union([z.bigint(), z.number()]), doc: z.unknown() }),
    handler: async ({ api }, { id }) => {
      const row = await api.of("snow").get(id);
      return { id: BigInt(String(Object(row?.value).id)), doc: Object(row?.value).doc };
    },
  });
  const rights = { create: () => all(), update: () => all(), delete: () => all() };
  return await createApp({
    db,
    secret: "a secret for the tests only",
    runtime: { ...systemRuntime(() => {}), cron: undefined },
    mcp: { write: true },
    adminUI: { authorize: () => true },
    search: memorySearch(),
    auth: {
      middleware: async (context, next) => {
        context.set("user", { id: "ada" });
        await next();
      },
    },
    resources: [
      resource(table, {
        id: ["id"],
        auth: { public: true, ...rights },
        etag: {},
        search: { fields: { v: {} } },
        capabilities: { enableBatch: true, enableExport: true, enableImport: true },
        relations: { refRow: { type: "belongsTo", resource: table, foreignKey: "ref" } },
        computed: { twin: ({ id }) => ({ id }) },
        hooks: {
          onBeforeUpdate: (_context, id, patch) => {
            hooked.push(`${id} ${patch.ref}`);
          },
        },
        procedures: { echo },
      }),
    ],
  });
}

function toolsOf(db: Database, app: App): Pick<World, "text" | "send" | "tool"> {
  return {
    text: async (column, where) =>
      (await run(db, `SELECT CAST(${column} AS text) FROM snow WHERE ${where} ORDER BY id`)).rows
        .map(([cell]) => String(cell)),
    send: async (method, path, body, headers = {}) =>
      await app.fetch(
        new Request(`http://test${path}`, {
          method,
          headers: { ...body !== undefined && { "content-type": "application/json" }, ...headers },
          body: body ?? null,
        }),
      ),
    async tool(name, args) {
      const url = new URL("http://localhost/__service/mcp");
      const transport = new StreamableHTTPClientTransport(url, {
        fetch: (target, init) => app.fetch(new Request(target, init)),
      });
      const client = new Client({ name: "tests", version: "1" }, {
        capabilities: { elicitation: {} },
      });
      client.setRequestHandler("elicitation/create", () => ({
        ...{ action: "accept", content: { agree: true } },
      }));
      await client.connect(transport);
      try {
        const { content, isError } = await client.callTool({ name, arguments: args });
        const [{ text = "" } = {}] = content as { text?: string }[];
        assertEquals(isError ?? false, false, text);
        return JSON.parse(text);
      } finally {
        await client.close();
      }
    },
  };
}
