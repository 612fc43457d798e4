// @ts-types="../better_sqlite3.d.ts"
import Database from "better-sqlite3";
import { exists, runCommand } from "./install.ts";
import {
  getRequests,
  keyOf,
  noteOf,
  type Peer,
  type PeerPlace,
  postRequests,
  type PreparedPeer,
  rankOf,
} from "./peer.ts";
import { sendJson, startPeer } from "./server.ts";

const version = "v0.40.4";
const path = "/api/collections/notes/records";
const mostCost = { get: 0.4, list: 0.4, create: 0.4 };
const admin = { identity: "bench@example.org", password: "a password for the benchmark" };

/** PocketBase with default settings, built with Go. Its collection is public and has no rules. */
export const pocketbase: Peer = {
  name: "PocketBase",
  mostCost,
  prepare: (place) => prepare(place, {}),
};

/** PocketBase without the log of requests in a separate database. */
export const pocketbaseWithoutLog: Peer = {
  name: "PocketBase, no log",
  mostCost,
  prepare: (place) => prepare(place, { logs: { maxDays: 0 } }),
};

async function prepare(
  { programs, data, notes, port }: PeerPlace,
  settings: Readonly<Record<string, unknown>>,
): Promise<PreparedPeer> {
  const folder = `${programs}/pocketbase-${version}`;
  const program = `${folder}/base`;
  if (!await exists(program)) {
    const source = `github.com/pocketbase/pocketbase/examples/base@${version}`;
    await runCommand(["go", "install", source], {
      env: { GOBIN: folder, GOTOOLCHAIN: "auto" },
    });
  }
  // PocketBase writes its migrations next to this folder.
  const files = `${data}/pb_data`;
  const { identity, password } = admin;
  await runCommand([program, "superuser", "upsert", identity, password, "--dir", files]);
  const command = [program, "serve", "--http", `127.0.0.1:${port}`, "--dir", files] as const;
  await setUp(command, port, settings);
  fill(`${files}/data.db`, notes);
  return {
    version,
    command,
    requests: {
      get: getRequests((turn) => `${path}/${idOf(keyOf(turn))}`),
      list: getRequests((turn) =>
        `${path}?filter=(status='published'%26%26rank%3E${rankOf(turn)})` +
        "&sort=rank,id&perPage=20&skipTotal=1"
      ),
      create: postRequests(path, (turn) => ({ ...noteOf(turn), version: 1 }), { status: 200 }),
    },
  };
}

/** Returns the id of a row. Ids of PocketBase have 15 characters. */
function idOf(key: number): string {
  return `n${String(key).padStart(14, "0")}`;
}

async function setUp(
  command: readonly [string, ...string[]],
  port: number,
  settings: Readonly<Record<string, unknown>>,
): Promise<void> {
  await using _server = await startPeer({ command }, port);
  const url = `http://127.0.0.1:${port}/api`;
  // The cast is safe: the response to a log-in has this member.
  const { token } = await sendJson(
    "POST",
    `${url}/collections/_superusers/auth-with-password`,
    admin,
  ) as { token: string };
  await sendJson("POST", `${url}/collections`, collection, { authorization: token });
  await sendJson("PATCH", `${url}/settings`, settings, { authorization: token });
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
