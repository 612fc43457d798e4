// @ts-types="../better_sqlite3.d.ts"
import Database from "better-sqlite3";
import { exists, npm } from "./install.ts";
import { getRequests, keyOf, noteOf, type Peer, postRequests, rankOf } from "./peer.ts";

const version = "0.17.4";

/** json-server, which keeps all rows in memory and writes the whole file after each change. */
export const jsonServer: Peer = {
  name: "json-server",
  async prepare({ programs, data, notes, port }) {
    const folder = `${programs}/json-server-${version}`;
    const program = `${folder}/node_modules/.bin/json-server`;
    if (!await exists(program)) await npm(folder, ["install", `json-server@${version}`]);
    const db = new Database(notes);
    const rows = db.prepare(
      `SELECT id, owner_id AS ownerId, title, body, status, rank, version, created_at AS createdAt
       FROM notes`,
    ).all();
    db.close();
    const file = `${data}/notes.json`;
    await Deno.writeTextFile(file, JSON.stringify({ notes: rows }));
    return {
      version,
      command: [program, "--quiet", "--host", "127.0.0.1", "--port", String(port), file],
      requests: {
        get: getRequests((turn) => `/notes/${keyOf(turn)}`),
        list: getRequests((turn) =>
          `/notes?status=published&rank_gte=${rankOf(turn) + 1}&_sort=rank,id&_limit=20`
        ),
        create: postRequests("/notes", noteOf),
      },
    };
  },
};
