import {
  exists,
  getRequest,
  keyOf,
  type Peer,
  postRequest,
  rankOf,
  runCommand,
  untilListening,
} from "./peer.ts";
// @ts-types="../better_sqlite3.d.ts"
import Database from "better-sqlite3";

const version = "v0.40.4";
const port = 8_302;
const path = "/api/collections/notes/records";
const admin = { identity: "bench@example.org", password: "a password for the benchmark" };

/** PocketBase, built with Go; its collection is public, and has no rules to check. */
export const pocketbase: Peer = {
  name: "PocketBase",
  async prepare({ programs, data, notes }) {
    const program = `${programs}/pocketbase-${version}/base`;
    if (!await exists(program)) {
      await runCommand([
        "go",
        "install",
        `github.com/pocketbase/pocketbase/examples/base@${version}`,
      ], {
        env: { GOBIN: `${programs}/pocketbase-${version}`, GOTOOLCHAIN: "auto" },
      });
    }
    const serve = [program, "serve", "--http", `127.0.0.1:${port}`, "--dir", data] as const;
    await runCommand([
      program,
      "superuser",
      "upsert",
      admin.identity,
      admin.password,
      "--dir",
      data,
    ]);
    await createCollection(serve);
    fill(`${data}/data.db`, notes);
    return {
      version,
      command: serve,
      port,
      requests: {
        get: (turn) => getRequest(`${path}/${idOf(keyOf(turn))}`),
        list: (turn) =>
          getRequest(
            `${path}?filter=(status='published'%26%26rank%3E${rankOf(turn)})` +
              "&sort=rank,id&perPage=20&skipTotal=1",
          ),
        create: (turn) =>
          postRequest(path, {
            ownerId: "user-1",
            title: `A note, ${turn}`,
            body: "Some text",
            status: "published",
            rank: 7,
            version: 1,
          }, { status: 200 }),
      },
    };
  },
};

/** Ids have 15 characters. */
function idOf(key: number): string {
  return `n${String(key).padStart(14, "0")}`;
}

async function createCollection([program, ...args]: readonly [string, ...string[]]): Promise<void> {
  const server = new Deno.Command(program, { args, stdout: "null", stderr: "null" }).spawn();
  try {
    await untilListening(port);
    const origin = `http://127.0.0.1:${port}/api/collections`;
    const { token } = await post(`${origin}/_superusers/auth-with-password`, admin);
    await post(origin, collection, { authorization: String(token) });
  } finally {
    server.kill();
    await server.status;
  }
}

async function post(
  url: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Record<string, unknown>> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${url}: ${await response.text()}`);
  return await response.json();
}

const everyone = "";
const collection = {
  name: "notes",
  type: "base",
  fields: [
    ...["ownerId", "title", "body"].map((name) => ({ name, type: "text" })),
    { name: "status", type: "select", values: ["draft", "published"], maxSelect: 1 },
    ...["rank", "version"].map((name) => ({ name, type: "number" })),
    { name: "createdAt", type: "autodate", onCreate: true },
  ],
  indexes: ["CREATE INDEX notes_by_rank ON notes (rank, id)"],
  listRule: everyone,
  viewRule: everyone,
  createRule: everyone,
};

function fill(file: string, notes: string): void {
  const db = new Database(file);
  db.exec(`ATTACH '${notes}' AS given;
    INSERT INTO notes (id, ownerId, title, body, status, rank, version, createdAt)
    SELECT printf('n%014d', id), owner_id, title, body, status, rank, version, created_at
    FROM given.notes`);
  db.close();
}
