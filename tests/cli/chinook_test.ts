import { assert, assertEquals, assertMatch } from "@std/assert";
import { openDatabase } from "../../src/engines/open_database.ts";
import { startChild } from "../serve/child_process.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { runScript, scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const cli = new URL("../../cli.ts", import.meta.url).pathname;
const sqlitePath = Deno.env.get("CHINOOK_SQLITE");
const scriptPath = Deno.env.get("CHINOOK_POSTGRES");
const postgres = testPostgres();

/** Chinook spells its names differently on the two engines. */
interface Names {
  readonly track: string;
  readonly trackId: string;
  readonly name: string;
  readonly milliseconds: string;
  readonly unitPrice: string;
  readonly playlistTrack: string;
  readonly artist: string;
}

const sqliteNames: Names = {
  track: "Track",
  trackId: "TrackId",
  name: "Name",
  milliseconds: "Milliseconds",
  unitPrice: "UnitPrice",
  playlistTrack: "PlaylistTrack",
  artist: "Artist",
};
const postgresNames: Names = {
  track: "track",
  trackId: "track_id",
  name: "name",
  milliseconds: "milliseconds",
  unitPrice: "unit_price",
  playlistTrack: "playlist_track",
  artist: "artist",
};

testUnless(
  sqlitePath === undefined ? "CHINOOK_SQLITE names no file" : null,
  "the API of a Chinook SQLite file answers as SQL does",
  async () => {
    await using folder = await scratchFolder();
    const copy = `${folder.path}/chinook.sqlite`;
    await Deno.copyFile(sqlitePath ?? "", copy);
    await serveAndCompare(copy, `node-sqlite:${copy}`, sqliteNames);
  },
);

testUnless(
  "missing" in postgres
    ? postgres.missing
    : scriptPath === undefined
    ? "CHINOOK_POSTGRES names no file"
    : null,
  "the API of Chinook on a Postgres server answers as SQL does",
  async () => {
    if ("missing" in postgres) throw new Error(postgres.missing);
    const scratch = await createScratchDatabase(postgres.url);
    try {
      const script = await Deno.readTextFile(scriptPath ?? "");
      const db = await openDatabase(scratch.url);
      // The script begins with psql commands that create a database and connect to it.
      await runScript(db.driver, script.slice(script.indexOf("CREATE TABLE")));
      await db.close();
      await serveAndCompare(scratch.url, scratch.url, postgresNames);
    } finally {
      await scratch.drop();
    }
  },
);

/** The rows of a query on a connection of its own, without the service. */
async function selectRows(url: string, sql: string): Promise<readonly (readonly unknown[])[]> {
  const db = await openDatabase(url, { readOnly: true });
  try {
    return (await db.driver.query({ text: sql, values: [] })).rows.map((row) => row.map(String));
  } finally {
    await db.close();
  }
}

async function longestSong(url: string, names: Names): Promise<number> {
  const where = `WHERE ${names.unitPrice} < 1`;
  const rows = await selectRows(
    url,
    `SELECT max(${names.milliseconds}) FROM ${names.track} ${where}`,
  );
  return Number(rows[0]?.[0]);
}

async function serveAndCompare(place: string, url: string, names: Names): Promise<void> {
  await using child = startChild([cli, place, "--port", "0", "--write"]);
  const [, base] = await child.printed(/(http:\/\/[^/]+)\/api/);
  const [, token] = await child.printed(/Bearer (\S+)/);
  assertEquals([...child.stdout().matchAll(/^ +http.*\/api\//gm)].length, 11);

  const { track, trackId, name, milliseconds, unitPrice, playlistTrack, artist } = names;
  const query = `filter=${milliseconds}>300000;${unitPrice}==0.99&orderBy=${milliseconds}:desc` +
    `&limit=5&select=${trackId},${name}&totalCount=true`;
  const page = await (await fetch(`${base}/api/${track}?${query}`)).json();
  const where = `WHERE ${milliseconds} > 300000 AND ${unitPrice} = 0.99`;
  const rows = await selectRows(
    url,
    `SELECT ${trackId}, ${name} FROM ${track} ${where} ORDER BY ${milliseconds} DESC LIMIT 5`,
  );
  assertEquals(
    page.items.map((item: Record<string, unknown>) => [String(item[trackId]), item[name]]),
    rows,
  );
  assertEquals(
    [[String(page.totalCount)]],
    await selectRows(url, `SELECT count(*) FROM ${track} ${where}`),
  );
  assert(page.hasMore);

  const linked = await fetch(`${base}/api/${playlistTrack}/1,3402`);
  assertEquals(Object.values(await linked.json()), [1, 3402]);
  const absent = await fetch(`${base}/api/${playlistTrack}/1,99999`);
  assertMatch((await absent.json()).detail, /1,99999/);

  const ids = new Set<string>();
  for (let cursor = ""; ids.size < 20_000;) {
    const answer = await (await fetch(`${base}/api/${playlistTrack}?limit=100${cursor}`)).json();
    for (const item of answer.items) ids.add(Object.values(item).join());
    if (!answer.hasMore) break;
    cursor = `&cursor=${answer.nextCursor}`;
  }
  assertEquals(
    [[String(ids.size)]],
    await selectRows(url, `SELECT count(*) FROM ${playlistTrack}`),
  );

  const totals = await (await fetch(`${base}/api/${track}/aggregate?sum=${unitPrice}`)).json();
  // Doubles, as SQLite itself adds them, would make it 3680.9699999997.
  assertEquals(totals.groups, [{ key: null, sum: { [unitPrice]: "3680.97" } }]);
  const cents = `CAST(round(${unitPrice} * 100) AS INTEGER)`;
  assertEquals(await selectRows(url, `SELECT sum(${cents}) FROM ${track}`), [["368097"]]);
  const long = `groupBy=${unitPrice}&max=${milliseconds}&having=count>500`;
  assertEquals(
    (await (await fetch(`${base}/api/${track}/aggregate?${long}`)).json()).groups,
    [{ key: { [unitPrice]: "0.99" }, max: { [milliseconds]: await longestSong(url, names) } }],
  );

  const change = (headers: HeadersInit) =>
    fetch(`${base}/api/${artist}/1`, {
      method: "PATCH",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ [name]: "AC\u26a1DC" }),
    });
  assertEquals((await (await change({})).json()).code, "UNAUTHORIZED");
  const changed = await change({ authorization: `Bearer ${token}` });
  assertEquals([changed.status, (await changed.json())[name]], [200, "AC\u26a1DC"]);
  const idColumn = names === sqliteNames ? "ArtistId" : "artist_id";
  assertEquals(
    await selectRows(url, `SELECT ${name} FROM ${artist} WHERE ${idColumn} = 1`),
    [["AC\u26a1DC"]],
  );
  assertMatch(child.stderr(), /SERVICE_SECRET/);
}
