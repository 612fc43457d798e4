import { assertEquals } from "@std/assert";
import type { Connection, ReadLimits } from "../../src/db/driver.ts";
import { rsql } from "../../src/filter/filter_text.ts";
import { Semaphore } from "../../src/runtime/queues/semaphore.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { albums, artists, withShop } from "../http/include_support.ts";
import { insertRows, type Service, testOnEngines, withService } from "../support/http.ts";
import { updateRow } from "./include_streams.ts";
import type { Database } from "../../src/db/database.ts";

/** Whose turns the limited reads of a database take, from now on. */
function watchIdentities({ driver }: Database): { taken(): readonly string[] } {
  const identities = new Set<string>();
  const reads = driver.reads.bind(driver);
  Object.defineProperty(driver, "reads", {
    value: (limits: ReadLimits): Connection => {
      identities.add(limits.identity);
      return reads(limits);
    },
  });
  return {
    taken() {
      const found = [...identities].sort();
      identities.clear();
      return found;
    },
  };
}

const ada = { "x-user": "ada" };

/** Checks whose turns a stream of albums takes from its snapshot to its resumption. */
async function checkTurns(
  { db, subscribe }: Pick<Service, "db" | "subscribe">,
  path: string,
): Promise<void> {
  const watched = watchIdentities(db);
  const first = await subscribe(path, ada);
  await first.untilSynced();
  const token = await first.untilToken();
  assertEquals(watched.taken(), ["uada"], "a snapshot");
  // A stream reads for itself what is committed between its snapshot and its first shared change.
  let turns: readonly string[] = ["uada"];
  for (let change = 0; change < 50 && turns.join() === "uada"; change++) {
    await updateRow(db.driver, db, albums, 1, { title: `y${change}` });
    await first.take(1);
    turns = watched.taken();
  }
  assertEquals(turns, ["live streams"], "a change, for all");
  await first.close();
  watched.taken();
  const again = await subscribe(path, { ...ada, "last-event-id": token });
  await again.take(1);
  assertEquals(watched.taken(), ["uada"], "what a stream has missed");
  await again.close();
}

testOnEngines(
  "all streams had one turn together, so that the slow ones of a user kept the others waiting",
  (engine) =>
    withShop(
      engine,
      { isLive: true },
      (service) => checkTurns(service, "/api/artists/subscribe?include=albums"),
    ),
);

testOnEngines(
  "what a stream has missed under a filter along relations is read in the turns of its user",
  (engine) => {
    const resources = [
      resource(artists, { id: artists.id, auth: {} }),
      resource(albums, {
        id: albums.id,
        auth: { subscribe: (user) => rsql`artist.name==${user.id}` },
        relations: {
          artist: { type: "belongsTo", resource: artists, foreignKey: albums.artistId },
        },
      }),
    ];
    return withService(engine, [artists, albums], () => ({ resources }), async (service) => {
      const { db } = service;
      const secret = "none is hidden here";
      await insertRows(db, artists, [{ id: 1, name: "ada", secret }]);
      await insertRows(db, albums, [{ id: 1, title: "a", artistId: 1, secret }]);
      await checkTurns(service, "/api/albums/subscribe");
    });
  },
);

Deno.test("of the jobs that wait, each identity has one in turn, and so many run as may", async () => {
  const semaphore = new Semaphore(2);
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const run = (name: string) =>
    semaphore.run(() => {
      begun.push(name);
      return new Promise<void>((resolve) => ends.push(resolve));
    }, name.slice(0, 1));
  const jobs = ["a1", "a2", "a3", "a4", "b1", "b2"].map(run);
  assertEquals(begun, ["a1", "a2"]);
  for (const expected of ["a3", "b1", "a4", "b2"]) {
    ends.shift()?.();
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    assertEquals(begun.at(-1), expected);
  }
  for (const end of ends) end();
  await Promise.all(jobs);
  await assertFree(semaphore);
});

/** A job that fails gives its slot back as well. */
async function assertFree(semaphore: Semaphore): Promise<void> {
  for (let count = 0; count < 3; count++) {
    const failed = semaphore.run(() => Promise.reject(new Error("failed")), "c").catch(String);
    assertEquals(await failed, "Error: failed");
  }
}
