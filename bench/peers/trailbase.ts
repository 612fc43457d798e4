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
import { startPeer } from "./server.ts";

const version = "0.2.0";
const path = "/api/records/v1/notes";
const source = new URL("trailbase", import.meta.url).pathname;
const mostCost = { get: 1, list: 1, create: 1.5 };

/** TrailBase with default settings, built with Rust. Its record API is public and has no rules. */
export const trailbase: Peer = {
  name: "TrailBase",
  mostCost,
  prepare: (place) => prepare(place, []),
};

/** TrailBase without the log of requests in a separate database. */
export const trailbaseWithoutLog: Peer = {
  name: "TrailBase, no log",
  mostCost,
  prepare: (place) => prepare(place, ["no-log"]),
};

async function prepare(
  { programs, data, notes, port }: PeerPlace,
  options: readonly string[],
): Promise<PreparedPeer> {
  const folder = `${programs}/trailbase-${version}`;
  const program = `${folder}/target/release/trailbase-peer`;
  if (!await exists(program)) await install(folder);
  await Deno.writeTextFile(`${data}/config.textproto`, config);
  await Deno.mkdir(`${data}/migrations`);
  await Deno.writeTextFile(`${data}/migrations/U1767225600__notes.sql`, schema);
  const command = [program, data, `127.0.0.1:${port}`, ...options] as const;
  {
    // The first start runs the migration.
    await using _server = await startPeer({ command }, port);
  }
  fill(`${data}/data/main.db`, notes);
  return {
    version,
    command,
    requests: {
      get: getRequests((turn) => `${path}/${keyOf(turn)}`),
      list: getRequests((turn) =>
        `${path}?filter[status]=published&filter[rank][$gt]=${rankOf(turn)}` +
        "&order=rank,id&limit=20"
      ),
      create: postRequests(path, (turn) => {
        const { ownerId, ...others } = noteOf(turn);
        return { owner_id: ownerId, ...others };
      }, { status: 200 }),
      readCreated: (response) =>
        getRequests(() => `${path}/${/"ids":\["(\d+)"/.exec(response)?.[1]}`),
    },
  };
}

/** Takes many minutes, because TrailBase is published as source code. */
async function install(folder: string): Promise<void> {
  await Deno.mkdir(`${folder}/src`, { recursive: true });
  for (const file of ["Cargo.toml", "src/main.rs"]) {
    await Deno.copyFile(`${source}/${file}`, `${folder}/${file}`);
  }
  await runCommand(["cargo", "build", "--release", "--quiet"], {
    cwd: folder,
    env: { PATH: `${source}/stub:${Deno.env.get("PATH") ?? ""}` },
  });
}

const config = `email {}
server { application_name: "Benchmark" }
auth {}
jobs {}
record_apis: [
  { name: "notes" table_name: "notes" acl_world: [CREATE, READ] }
]
`;

const schema = `CREATE TABLE notes (
  id INTEGER PRIMARY KEY,
  owner_id TEXT NOT NULL,
  title TEXT NOT NULL,
  body TEXT NOT NULL DEFAULT '',
  status TEXT NOT NULL DEFAULT 'draft',
  rank INTEGER,
  version INTEGER NOT NULL DEFAULT 1,
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ'))
) STRICT;
CREATE INDEX notes_by_rank ON notes (rank, id);
`;

function fill(file: string, notes: string): void {
  const db = new Database(file);
  db.exec(`ATTACH '${notes}' AS given;
    INSERT INTO notes (id, owner_id, title, body, status, rank, version, created_at)
    SELECT id, owner_id, title, body, status, rank, version, created_at FROM given.notes`);
  db.close();
}
