import { assertEquals } from "@std/assert";
import type { Connection } from "../../src/db/driver.ts";
import { DatabaseError } from "../../src/db/database_error.ts";
import type { TableLike } from "../../src/schema/table_like.ts";
import {
  albums,
  albumTags,
  artists,
  profiles,
  tags,
  tracks,
  withShop,
} from "../http/include_support.ts";
import { type Service, testOnDialects } from "../support/http.ts";
import {
  catchUp,
  follow,
  type Follower,
  held,
  insertRow,
  listed,
  updateRow,
} from "./include_streams.ts";
import { repeats } from "../support/repeats.ts";

/** The scopes of ada and bob: they overlap, and neither sees all. Rows move between them. */
const scopes = {
  isLive: true,
  albums: (user: { readonly id: string }) =>
    user.id === "ada" ? "rating=isnull=true,rating<4" : "rating>=3",
  tags: (user: { readonly id: string }) => user.id === "ada" ? "label!=loud" : "label!=hard",
  albumTags: (user: { readonly id: string }) => user.id === "ada" ? "id<7" : "album.title!=t1",
};

const subscribed: readonly (readonly [path: string, query: string])[] = [
  ["artists", "include=profile,albums(include:tracks,tags)"],
  [
    "artists",
    "filter=name!=n1&include=albums(limit:2;orderBy:-title;filter:title!=t1)," +
    "albums(count:true;sum:rating;filter:title!=t1)",
  ],
  ["albums", "include=artist(include:profile),tags,tracks(limit:1;orderBy:-id),tags(count:true)"],
  ["tracks", "include=album(include:artist,tags)&select=id"],
  ["artists", "include=albums(filter:tags.label!=quiet)"],
];

testOnDialects(
  "what a client holds is what the list shows, whatever was written under its rows",
  (engine) =>
    withShop(engine, scopes, async (service) => {
      const dice = createDice(4711);
      const followers: Follower[] = [];
      for (const [path, query] of subscribed) {
        for (const user of ["ada", "bob"]) {
          followers.push(await follow(service, path, query, user));
        }
      }
      const rounds = repeats(engine.name === "pglite" ? 10 : 20);
      for (let round = 0; round < rounds; round++) {
        const writers = Array.from({ length: 3 }, () => writeSome(service, dice));
        for (const follower of followers) if (dice(6) === 0) await reconnect(follower, service);
        await Promise.all(writers);
        for (const follower of followers) {
          await catchUp(follower, service);
          const at = `${follower.path}?${follower.query} as ${follower.headers["x-user"]}`;
          assertEquals(held(follower), await listed(follower, service), `round ${round} of ${at}`);
          if (!follower.isResumed) assertEquals(follower.client.faults, [], at);
        }
      }
      for (const { stream } of followers) await stream.close();
    }),
);

type Dice = (sides: number) => number;

/** The same throws in every run: what fails once fails again. */
function createDice(seed: number): Dice {
  let state = seed;
  return (sides) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor(state / 2 ** 32 * sides);
  };
}

/** Disconnects at the present position, and resumes from it. */
async function reconnect(follower: Follower, { subscribe }: Service): Promise<void> {
  const { stream, path, query, headers } = follower;
  if (stream.lastEventId === "") return;
  await stream.close();
  follower.isResumed = true;
  follower.stream = await subscribe(`/api/${path}/subscribe?${query}`, {
    ...headers,
    "last-event-id": stream.lastEventId,
  });
}

/** A few transactions of a few writes; a fifth of them is undone. */
async function writeSome(service: Service, dice: Dice): Promise<void> {
  const { db } = service;
  for (let left = 1 + dice(3); left > 0; left--) {
    const writes = Array.from({ length: 1 + dice(3) }, () => randomWrite(service, dice));
    const isUndone = dice(5) === 0;
    await db.driver.transaction(async (connection) => {
      for (const write of writes) await write(connection);
      if (isUndone) throw undone;
    }).catch((error) => {
      // Writers may meet: a row is there already, or each waits for the other.
      if (error !== undone && !(error instanceof DatabaseError)) throw error;
    });
  }
}

const undone = new Error("undone");

type Write = (connection: Connection) => Promise<void>;

function randomWrite(service: Service, dice: Dice): Write {
  const { db } = service;
  const id = 1 + dice(8);
  const secret = `xyzzy-${dice(100)}`;
  const gone = dice(2) === 0;
  const update =
    (table: TableLike<unknown, unknown>, key: unknown, values: Record<string, unknown>): Write =>
    (connection) => updateRow(connection, db, table, key, values);
  const remove = (table: string): Write => async (connection) => {
    await connection.query({ text: `DELETE FROM ${table} WHERE id = ${id}`, values: [] });
  };
  const label = ["loud", "hard", "quiet"][dice(3)];
  const deletedAt = gone ? "2024-01-01T00:00:00.000Z" : null;
  const insert =
    (table: TableLike<unknown, unknown>, row: Record<string, unknown>): Write => (connection) =>
      insertRow(connection, db, table, { ...row, id });
  const tagId = ["it's", "jazz", "rock"][dice(3)];
  const choices: readonly (() => Write)[] = [
    () => update(artists, 1 + dice(4), { name: `n${dice(3)}`, secret }),
    () => insert(artists, { name: `n${dice(3)}`, secret }),
    () => update(albums, id, { artistId: dice(5) || null }),
    () => update(albums, id, { rating: dice(6) || null, title: `t${dice(3)}` }),
    () => update(albums, id, { deletedAt }),
    () => insert(albums, { title: `t${dice(3)}`, artistId: 1 + dice(4), rating: dice(6), secret }),
    () => remove("albums"),
    () => update(tracks, id, { albumId: 1 + dice(8) }),
    () => update(tracks, id, { name: `n${dice(5)}` }),
    () => insert(tracks, { name: "new", albumId: 1 + dice(8) }),
    () => remove("tracks"),
    () => update(tags, tagId, { label, gone: dice(4) === 0 }),
    () => insert(albumTags, { albumId: 1 + dice(8), tagId, gone: false }),
    () => update(albumTags, id, { gone, tagId }),
    () => update(albumTags, id, { albumId: 1 + dice(8) }),
    () => remove("album_tags"),
    () => update(profiles, 1 + dice(4), { gone, bio: `b${dice(3)}` }),
    () => update(profiles, 1 + dice(4), { artistId: 1 + dice(4), secret }),
  ];
  return choices[dice(choices.length)]?.() ?? remove("tracks");
}
