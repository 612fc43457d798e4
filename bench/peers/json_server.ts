// @ts-types="../better_sqlite3.d.ts"
import Database from "better-sqlite3";
import { exists, getRequest, keyOf, type Peer, postRequest, rankOf, runCommand } from "./peer.ts";

const version = "0.17.4";
const port = 8_304;

/** json-server, which holds all rows in memory and writes the whole file for each change. */
export const jsonServer: Peer = {
  name: "json-server",
  async prepare({ programs, data, notes }) {
    const folder = `${programs}/json-server-${version}`;
    const program = `${folder}/node_modules/.bin/json-server`;
    if (!await exists(program)) {
      await Deno.mkdir(folder, { recursive: true });
      await runCommand(["npm", "install", "--prefix", folder, `json-server@${version}`]);
    }
    const db = new Database(notes);
    const rows = db.prepare(
      `SELECT id, owner_id AS ownerId, title, body, status, rank, version, created_at AS createdAt
       FROM notes`,
    ).all();
    db.close();
    await Deno.writeTextFile(`${data}/notes.json`, JSON.stringify({ notes: rows }));
    return {
      version,
      command: [
        program,
        "--quiet",
        "--host",
        "127.0.0.1",
        "--port",
        `${port}`,
        `${data}/notes.json`,
      ],
      port,
      requests: {
        get: (turn) => getRequest(`/notes/${keyOf(turn)}`),
        list: (turn) =>
          getRequest(
            `/notes?status=published&rank_gte=${rankOf(turn) + 1}&_sort=rank,id&_limit=20`,
          ),
        create: (turn) =>
          postRequest("/notes", {
            ownerId: "user-1",
            title: `A note, ${turn}`,
            body: "Some text",
            status: "published",
            rank: 7,
          }),
      },
    };
  },
};
