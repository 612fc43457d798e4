// @ts-types="../better_sqlite3.d.ts"
import Database from "better-sqlite3";
import { exists, npm, runCommand } from "./install.ts";
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

const version = "12.4.1";
// The isolated-vm 5 of Directus does not compile with Node 24.
const node = "22";
const path = "/items/notes";
const adminToken = "a-token-for-the-benchmark";

/** Directus on SQLite with a separate Node. The public role has all rights, without caching. */
export const directus: Peer = {
  name: "Directus",
  async prepare(place) {
    const folder = `${place.programs}/directus-${version}`;
    const bin = `${folder}/node_modules/.bin`;
    if (!await exists(folder)) await install(folder);
    const database = `${place.data}/data.db`;
    const server = {
      command: [`${bin}/node`, `${bin}/directus`, "start"],
      env: settings(place, database),
      cwd: place.data,
    } as const;
    await runCommand([`${bin}/node`, `${bin}/directus`, "bootstrap"], server);
    await createCollection(server, place.port);
    fill(database, place.notes);
    return {
      ...server,
      version,
      requests: {
        get: getRequests((turn) => `${path}/${keyOf(turn)}`),
        list: getRequests((turn) =>
          `${path}?filter[status][_eq]=published&filter[rank][_gt]=${rankOf(turn)}` +
          "&sort=rank,id&limit=20"
        ),
        create: postRequests(path, noteOf, { status: 200 }),
      },
    };
  },
};

/** Takes minutes, because two packages are compiled if their binaries cannot be downloaded. */
async function install(folder: string): Promise<void> {
  const unfinished = `${folder}.unfinished`;
  if (await exists(unfinished)) await Deno.remove(unfinished, { recursive: true });
  await Deno.mkdir(unfinished, { recursive: true });
  // Some registries lack the exact version of the administrator pages, which no request uses.
  const overrides = { "@directus/app": "^18.0.0" };
  await Deno.writeTextFile(`${unfinished}/package.json`, JSON.stringify({ overrides }));
  await npm(unfinished, ["install", "--ignore-scripts", `directus@${version}`, `node@${node}`]);
  await npm(unfinished, ["rebuild", "node"]);
  const headers = await headersBelow(`${unfinished}/node_modules/node/node_modules`);
  await npm(unfinished, ["rebuild", "isolated-vm", "sqlite3"], {
    PATH: `${unfinished}/node_modules/.bin:${Deno.env.get("PATH") ?? ""}`,
    npm_config_nodedir: headers,
  });
  await Deno.rename(unfinished, folder);
}

/** Returns the folder of the installed Node package that contains the headers for compiling. */
async function headersBelow(folder: string): Promise<string> {
  for await (const { name } of Deno.readDir(folder)) {
    if (await exists(`${folder}/${name}/include`)) return `${folder}/${name}`;
  }
  throw new Error(`No package in ${folder} has the headers of Node`);
}

/** Returns the settings. Directus caches and logs nothing unless its settings say so. */
function settings({ data, port }: PeerPlace, database: string) {
  return {
    HOST: "127.0.0.1",
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    DB_CLIENT: "sqlite3",
    DB_FILENAME: database,
    SECRET: "a secret for the benchmark of thirty-two characters",
    ADMIN_EMAIL: "bench@example.org",
    ADMIN_PASSWORD: "a password for the benchmark",
    ADMIN_TOKEN: adminToken,
    STORAGE_LOCAL_ROOT: `${data}/uploads`,
    EXTENSIONS_PATH: `${data}/extensions`,
    LOG_LEVEL: "error",
    TELEMETRY: "false",
    // Otherwise Directus refuses this load with 503, because the load keeps its one thread busy.
    PRESSURE_LIMITER_ENABLED: "false",
    NODE_ENV: "production",
  };
}

async function createCollection(
  server: Pick<PreparedPeer, "command" | "env" | "cwd">,
  port: number,
): Promise<void> {
  await using _server = await startPeer(server, port);
  const origin = `http://127.0.0.1:${port}`;
  const headers = { authorization: `Bearer ${adminToken}` };
  await sendJson("POST", `${origin}/collections`, collection, headers);
  const publicPolicy = `${origin}/access?filter[role][_null]=true&filter[user][_null]=true`;
  const { data: [{ policy }] } = await (await fetch(publicPolicy, { headers })).json();
  for (const action of ["read", "create"]) {
    const everything = { permissions: {}, validation: {}, fields: ["*"] };
    const permission = { policy, collection: collection.collection, action, ...everything };
    await sendJson("POST", `${origin}/permissions`, permission, headers);
  }
}

/** `accountability: null` prevents that Directus records every change of the collection. */
const collection = {
  collection: "notes",
  schema: {},
  meta: { accountability: null },
  fields: [
    { field: "id", type: "integer", schema: { is_primary_key: true, has_auto_increment: true } },
    { field: "ownerId", type: "string", schema: { is_nullable: false } },
    { field: "title", type: "string", schema: { is_nullable: false } },
    { field: "body", type: "text", schema: { is_nullable: false, default_value: "" } },
    { field: "status", type: "string", schema: { is_nullable: false, default_value: "draft" } },
    { field: "rank", type: "integer", schema: {} },
    { field: "version", type: "integer", schema: { is_nullable: false, default_value: 1 } },
    { field: "createdAt", type: "timestamp", meta: { special: ["date-created"] }, schema: {} },
  ],
};

/** Directus keeps times as milliseconds in SQLite. */
function fill(file: string, notes: string): void {
  const db = new Database(file);
  db.exec(`ATTACH '${notes}' AS given;
    CREATE INDEX notes_by_rank ON notes (rank, id);
    INSERT INTO notes (id, ownerId, title, body, status, rank, version, createdAt)
    SELECT id, owner_id, title, body, status, rank, version,
      CAST(strftime('%s', created_at) AS INTEGER) * 1000
    FROM given.notes`);
  db.close();
}
