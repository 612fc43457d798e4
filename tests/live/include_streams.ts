import type { Connection } from "../../src/db/driver.ts";
import { tableInfoOf, type TableLike } from "../../src/schema/table_like.ts";
import type { SqlValue } from "../../src/sql/fragment.ts";
import type { Row } from "../../src/schema/table_info.ts";
import type { EventStream } from "../support/event_stream.ts";
import { insertRows, type Service } from "../support/http.ts";
import { albums, artists, tracks } from "../http/include_support.ts";
import { Client } from "./hub_support.ts";
import type { Database } from "../../src/db/database.ts";

/** The rows that show how far streams are: every filter of these tests lets them through. */
const resumeTokens = [
  { name: "artists", table: artists, row: { name: "mark", secret: "xyzzy-mark" } },
  { name: "albums", table: albums, row: { title: "mark", rating: 3, secret: "xyzzy-mark" } },
  { name: "tracks", table: tracks, row: { name: "mark", albumId: -1 } },
];

/** A stream with includes, and the rows that its client holds. */
export interface Follower {
  readonly path: string;
  readonly query: string;
  readonly headers: Record<string, string>;
  readonly client: Client;
  /** A resumed one may receive again what it knows. */
  isResumed: boolean;
  stream: EventStream;
}

/** Opens a stream with a client. */
export async function follow(
  { subscribe }: Service,
  path: string,
  query: string,
  user: string,
): Promise<Follower> {
  const headers = { "x-user": user };
  const stream = await subscribe(`/api/${path}/subscribe?${query}`, headers);
  return { path, query, headers, client: new Client(), isResumed: false, stream };
}

const firstMark = 1_000_000;
let lastMark = firstMark;

/** Lets the client take everything that has happened; gives the events as short lines. */
export async function catchUp(follower: Follower, { db }: Service): Promise<readonly string[]> {
  const { client, stream } = follower;
  const resumeToken = resumeTokens.find(({ name }) => name === follower.path);
  if (resumeToken === undefined) throw new Error("Every path has a mark");
  const id = ++lastMark;
  const sent: string[] = [];
  const take = async () => {
    const [event] = await stream.take(1);
    if (event === undefined) throw new Error("unreachable");
    client.take(event);
    const { type, data } = event;
    sent.push(`${type} ${data.reason ?? data.id ?? data.item?.id ?? ""}`.trim());
  };
  while (!client.isSynced) await take();
  await insertRows(db, resumeToken.table, [{ ...resumeToken.row, id }]);
  while (!client.rows.has(id)) await take();
  await db.driver.query({ text: `DELETE FROM ${resumeToken.name} WHERE id = ${id}`, values: [] });
  while (client.rows.has(id) || !client.isSynced) await take();
  // Those of others are seen as well.
  return sent.filter((line) => !(Number(line.split(" ")[1]) > firstMark));
}

/** What the client holds, as a list shows it. */
export function held({ client }: Follower): readonly Row[] {
  return [...client.rows.values()]
    .map(({ _etag, ...row }) => row)
    .sort((left, right) => Number(left["id"]) - Number(right["id"]));
}

/** What the list shows to the same user. */
export async function listed(
  { path, query, headers }: Follower,
  { get }: Service,
): Promise<readonly Row[]> {
  const items: Row[] = [];
  for (let cursor = "";;) {
    const page = `limit=100&cursor=${cursor}${query === "" ? "" : `&${query}`}`;
    const { status, body } = await get(`/api/${path}?${page}`, headers);
    if (status !== 200) throw new Error(`No list: ${JSON.stringify(body)}`);
    items.push(...body.items);
    if (body.nextCursor === null) return items;
    cursor = body.nextCursor;
  }
}

/** Changes a row past the service. */
export async function updateRow(
  connection: Connection,
  db: Database,
  table: TableLike<unknown, unknown>,
  id: unknown,
  values: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { name, columns, bound } = columnsOf(db, table, values);
  const set = columns.map((column, index) => `${column} = ${db.dialect.placeholder(index + 1)}`);
  await connection.query({
    text: `UPDATE "${name}" SET ${set.join(", ")} WHERE id = ${
      db.dialect.placeholder(columns.length + 1)
    }`,
    values: [...bound, ...columnsOf(db, table, { id }).bound],
  });
}

/** Writes a row past the service. */
export async function insertRow(
  connection: Connection,
  db: Database,
  table: TableLike<unknown, unknown>,
  row: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { name, columns, bound } = columnsOf(db, table, row);
  const places = columns.map((_column, index) => db.dialect.placeholder(index + 1));
  await connection.query({
    text: `INSERT INTO "${name}" (${columns.join(", ")}) VALUES (${places.join(", ")})`,
    values: bound,
  });
}

function columnsOf(
  { dialect }: Database,
  table: TableLike<unknown, unknown>,
  row: Readonly<Record<string, unknown>>,
): { readonly name: string; readonly columns: readonly string[]; readonly bound: SqlValue[] } {
  const info = tableInfoOf(table);
  const columns = info.columns.filter(({ name }) => Object.hasOwn(row, name));
  return {
    name: info.name,
    columns: columns.map(({ dbName }) => `"${dbName}"`),
    bound: columns.map((column) => dialect.encode(row[column.name], column)),
  };
}
