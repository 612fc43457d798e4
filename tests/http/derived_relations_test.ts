import { assertEquals } from "@std/assert";
import { type Database, resource, type ResourceDefinition, rsql } from "../../mod.ts";
import type { AutoRelationOptions, FieldOptions } from "../../exports/options.ts";
import type { TableInfo } from "../../exports/schema.ts";
import type { Engine } from "../support/engines.ts";
import { type Service, testOnEngines, testOnEveryEngine, withService } from "../support/http.ts";
import { runScript } from "../support/scratch.ts";

/** As a program on either engine would have made them: a list of songs, with a link table. */
const script = `
CREATE TABLE country (code VARCHAR(2) PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE artist (artistid INTEGER PRIMARY KEY, name TEXT NOT NULL, secret TEXT,
  country_code VARCHAR(2) REFERENCES country (code));
CREATE TABLE song (songid INTEGER PRIMARY KEY, title TEXT NOT NULL,
  artistid INTEGER REFERENCES artist (artistid));
CREATE TABLE playlist (playlistid INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE playlist_song (playlistid INTEGER REFERENCES playlist (playlistid),
  songid INTEGER REFERENCES song (songid), added TIMESTAMP, PRIMARY KEY (playlistid, songid));
INSERT INTO country VALUES ('pl', 'Poland'), ('fi', 'Finland');
INSERT INTO artist VALUES (1, 'ann', 'xyzzy-1', 'pl'), (2, 'bob', 'xyzzy-2', 'fi'), (3, 'eve', NULL, NULL);
INSERT INTO song VALUES (1, 'one', 1), (2, 'two', 1), (3, 'three', 2), (4, 'four', 3), (5, 'five', NULL);
INSERT INTO playlist VALUES (1, 'calm'), (2, 'loud'), (3, 'empty');
INSERT INTO playlist_song VALUES (1, 1, NULL), (1, 3, NULL), (2, 3, NULL), (2, 4, NULL);
`;

interface Served {
  readonly fields?: (table: string) => FieldOptions<Record<string, unknown>>;
  readonly autoRelations?: AutoRelationOptions;
  /** The only table that needs a user. */
  readonly closed?: string;
}

async function withSongs(
  engine: Engine,
  { fields, autoRelations = { filterable: true }, closed }: Served,
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const db = await engine.open();
  await runScript(db.driver, script);
  const { tables } = await db.introspect();
  const define = (table: TableInfo): ResourceDefinition =>
    resource(table, {
      id: table.primaryKey.map(({ name }) => name),
      auth: table.name === closed
        ? { read: () => rsql`playlistid==${1}` }
        : { public: { read: true } },
      fields: fields?.(table.name),
      autoRelations,
    });
  const open = (): Promise<Database> => Promise.resolve(db);
  await withService({ ...engine, open }, [], () => ({ resources: tables.map(define) }), work);
}

/** The first column of each row of a list. */
async function keysOf(
  { get }: Service,
  path: string,
  headers?: Record<string, string>,
): Promise<readonly unknown[]> {
  const { status, body } = await get(`/api/${path}`, headers);
  assertEquals(status, 200, `${path}: ${JSON.stringify(body)}`);
  return body.items.map((item: object) => Object.values(item)[0]);
}

testOnEveryEngine(
  "filters and includes walk derived relations, also through a link table",
  (engine) =>
    withSongs(engine, {}, async (service) => {
      for (
        const [path, expected] of [
          ["song?filter=artist.name==ann", [1, 2]],
          ["song?filter=artist.country.name==Finland", [3]],
          ["song?filter=playlist.name==loud;artist.name==eve", [4]],
          ["country?filter=artist.song.playlist.name==calm&orderBy=code", ["fi", "pl"]],
          ["playlist?filter=song.artist.country.name==Poland", [1]],
          ["playlist?filter=song.title==three", [1, 2]],
          ["playlist?filter=playlist_song.songid==4", [2]],
        ] as const
      ) {
        assertEquals(await keysOf(service, path), expected, path);
      }
      const { body } = await service.get(
        "/api/playlist?include=song(select:title;orderBy:title;include:artist(select:name))",
      );
      assertEquals(body.items.map(({ song }: { song: unknown }) => song), [
        [{ title: "one", artist: { name: "ann" } }, { title: "three", artist: { name: "bob" } }],
        [{ title: "four", artist: { name: "eve" } }, { title: "three", artist: { name: "bob" } }],
        [],
      ]);
      const deep = await service.get("/api/playlist?filter=song.artist.song.playlist.name==x");
      assertEquals(deep.status, 400, "three relations at most");
    }),
);

testOnEngines(
  "derived relations reveal no hidden column and no row that may not be read",
  async (engine) => {
    const readable: Record<string, readonly string[]> = { artist: ["artistid", "name"] };
    const fields = (table: string): FieldOptions<Record<string, unknown>> => ({
      readable: readable[table],
    });
    await withSongs(engine, { fields, closed: "playlist_song" }, async (service) => {
      for (const name of ["artist.secret", "artist.country.name", "artist.country_code"]) {
        const { status, body } = await service.get(`/api/song?filter=${name}==x`);
        assertEquals([status, body.code], [400, "FILTER_PARSE_ERROR"], name);
      }
      const ofLinks = "song?filter=playlist.name==loud";
      assertEquals(await keysOf(service, ofLinks), [], "no right to read links");
      const ada = { "x-user": "ada" };
      assertEquals(await keysOf(service, ofLinks, ada), [], "links of another playlist");
      assertEquals(await keysOf(service, "song?filter=playlist.name==calm", ada), [1, 3]);
      const { body } = await service.get("/api/song/3?include=playlist", ada);
      assertEquals(body.playlist, [{ playlistid: 1, name: "calm" }]);
    });
    readable.playlist_song = ["songid", "added"];
    await withSongs(engine, { fields, autoRelations: {} }, async (service) => {
      assertEquals((await service.get("/api/song?include=playlist")).status, 400, "a hidden key");
      assertEquals((await service.get("/api/song?filter=artist.name==ann")).status, 400);
      assertEquals((await service.get("/api/song/1?include=artist")).body.artist.name, "ann");
    });
  },
);
