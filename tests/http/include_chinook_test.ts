import { assertEquals } from "@std/assert";
import {
  createApp,
  type Database,
  openDatabase,
  resource,
  type ResourceOptions,
} from "../../mod.ts";
import { createScratchDatabase } from "../support/engines.ts";
import { run, runScript, scratchFolder } from "../support/scratch.ts";
import { testPostgres, testUnless } from "../support/skip.ts";

const sqlitePath = Deno.env.get("CHINOOK_SQLITE");
const scriptPath = Deno.env.get("CHINOOK_POSTGRES");
const postgres = testPostgres();

for (const scheme of ["sqlite", "node-sqlite"]) {
  testUnless(
    sqlitePath === undefined ? "CHINOOK_SQLITE names no file" : null,
    `include over Chinook equals handwritten SQL (${scheme})`,
    async () => {
      await using folder = await scratchFolder();
      const copy = `${folder.path}/chinook.sqlite`;
      await Deno.copyFile(sqlitePath ?? "", copy);
      await compare(await openDatabase(`${scheme}:${copy}`), {
        table: (name) => name,
        column: (name) => name,
      });
    },
  );
}

testUnless(
  "missing" in postgres
    ? postgres.missing
    : scriptPath === undefined
    ? "CHINOOK_POSTGRES names no file"
    : null,
  "include over Chinook equals handwritten SQL (postgres)",
  async () => {
    if ("missing" in postgres) throw new Error(postgres.missing);
    const scratch = await createScratchDatabase(postgres.url);
    try {
      const script = await Deno.readTextFile(scriptPath ?? "");
      const db = await openDatabase(scratch.url);
      await runScript(db.driver, script.slice(script.indexOf("CREATE TABLE")));
      const snake = (name: string) => name.replace(/(?<=[a-z])[A-Z]/g, "_$&").toLowerCase();
      await compare(db, { table: snake, column: snake });
    } finally {
      await scratch.drop();
    }
  },
);

/** The names of Chinook differ between the two engines. */
interface Names {
  table(name: string): string;
  column(name: string): string;
}

async function compare(db: Database, { table, column }: Names): Promise<void> {
  const { tables } = await db.introspect();
  const app = await createApp({
    db,
    secret: "a secret for the tests only",
    resources: tables.map((one) => {
      const options: ResourceOptions<Record<string, unknown>> = {
        id: one.primaryKey.map(({ name }) => name),
        auth: { public: { read: true } },
      };
      return resource(one, options);
    }),
  });
  const fetchJson = async (text: string) =>
    (await run(db, text)).rows.map((row) => row.map((cell) => cell === null ? null : String(cell)));
  const [artist, album, track] = ["Artist", "Album", "Track"].map(table);
  const [artistId, albumId, trackId] = ["ArtistId", "AlbumId", "TrackId"].map(column);
  const [title, name] = ["Title", "Name"].map(column);
  try {
    const walked: unknown[] = [];
    for (let cursor = ""; cursor !== null;) {
      const include = `${album}(limit:2;orderBy:${title}:asc;include:${track}(select:${name}))`;
      const path = `/api/${artist}?include=${include}&limit=100&cursor=${cursor}`;
      const { items, nextCursor } = await (await app.fetch(new Request(`http://test${path}`)))
        .json();
      for (const item of items) {
        if (item[album ?? ""].length === 0) walked.push([String(item[artistId ?? ""]), null, null]);
        for (const one of item[album ?? ""]) {
          for (const { [name ?? ""]: song } of one[track ?? ""]) {
            walked.push([String(item[artistId ?? ""]), one[title ?? ""], song]);
          }
        }
      }
      cursor = nextCursor;
    }
    const expected = await fetchJson(
      `WITH first AS (SELECT ${albumId}, ${title}, ${artistId}, row_number() OVER
         (PARTITION BY ${artistId} ORDER BY ${title}, ${albumId}) AS place FROM ${album})
       SELECT a.${artistId}, f.${title}, t.${name} FROM ${artist} a
       LEFT JOIN first f ON f.${artistId} = a.${artistId} AND f.place <= 2
       LEFT JOIN ${track} t ON t.${albumId} = f.${albumId}
       ORDER BY a.${artistId}, f.place, t.${trackId}`,
    );
    assertEquals(walked.length > 1000, true);
    assertEquals(walked, expected);

    const boss = table("Employee") === "Employee" ? "ReportsToEmployee" : "reports_to_employee";
    const team = table("Employee") === "Employee"
      ? "EmployeeByReportsTo"
      : "employee_by_reports_to";
    const last = column("LastName");
    const path = `/api/${table("Employee")}?include=${boss},${team}(orderBy:-${last})`;
    const { items } = await (await app.fetch(new Request(`http://test${path}`))).json();
    assertEquals(
      items.map((item: Record<string, never>) => [item[last], item[boss]?.[last] ?? null]),
      await fetchJson(
        `SELECT e.${last}, b.${last} FROM ${table("Employee")} e LEFT JOIN ${table("Employee")} b
         ON b.${column("EmployeeId")} = e.${column("ReportsTo")} ORDER BY e.${
          column("EmployeeId")
        }`,
      ),
    );
    assertEquals(
      items[0][team].map((item: Record<string, unknown>) => item[last]),
      (await fetchJson(
        `SELECT ${last} FROM ${table("Employee")} WHERE ${column("ReportsTo")} = 1
         ORDER BY ${last} DESC`,
      )).flat(),
    );
  } finally {
    await app.close();
  }
}
