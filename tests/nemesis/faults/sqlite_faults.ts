/** Faults of a SQLite file and of the disk. */
import { DatabaseSync } from "node:sqlite";
import { sleep } from "../../../src/runtime/runtime.ts";
import { signalProcess } from "../../support/process_tree.ts";
import { withoutPrivilege } from "../../support/without_privilege.ts";
import { fill, smallDisksAreMissing } from "../small_disk.ts";
import { SqlitePlace, type World } from "../world.ts";
import type { Fault } from "./fault.ts";

type Work = (place: SqlitePlace, world: World) => Promise<void>;

function fault(name: string, work: Work): Fault {
  return {
    name,
    engines: ["sqlite"],
    async run(world) {
      if (!(world.place instanceof SqlitePlace)) throw new Error(`${name} needs SQLite`);
      await work(world.place, world);
    },
  };
}

export const sqliteFaults: readonly Fault[] = [
  fault("another process holds the write lock", async ({ file }, { hold }) => {
    using other = new DatabaseSync(file, { timeout: 10_000 });
    other.exec("BEGIN IMMEDIATE");
    await hold(7_000);
    other.exec("ROLLBACK");
  }),
  fault("others take the write lock again and again", async ({ file }) => {
    using other = new DatabaseSync(file, { timeout: 10_000 });
    for (let times = 0; times < 15; times++) {
      other.exec("BEGIN IMMEDIATE");
      await sleep(100);
      other.exec("ROLLBACK");
      await sleep(20);
    }
  }),
  {
    ...fault("files read-only", (place, { hold }) => protect(place, () => hold(3_000))),
    missing: withoutPrivilege === null ? "root may write to every file" : null,
  },
  {
    ...fault(
      "files read-only while processes start",
      (place, { members, chance }) =>
        protect(place, async () => {
          const workers = members.flatMap((member) => member.workers > 1 ? member.serving() : []);
          if (workers.length > 0) signalProcess(chance.pick(workers), "SIGKILL");
          await sleep(3_000);
        }),
    ),
    missing: withoutPrivilege === null ? "root may write to every file" : null,
  },
  {
    ...fault("disk full", ({ folders, file }, { hold }) =>
      fill(folders.database, async () => {
        // The journal would otherwise have room for more commits.
        using other = new DatabaseSync(file, { timeout: 5_000 });
        other.exec("PRAGMA wal_checkpoint(TRUNCATE)");
        await hold(4_000);
      })),
    missing: await smallDisksAreMissing(),
  },
  {
    ...fault(
      "disk of the store full",
      ({ folders }, { hold }) => fill(folders.store, () => hold(4_000)),
    ),
    missing: await smallDisksAreMissing(),
    hitsStore: true,
  },
];

/** Takes the right to write from the files and their folder. Open files remain writable. */
async function protect(
  { file, folders }: SqlitePlace,
  work: () => Promise<void>,
): Promise<void> {
  const paths = [file, `${file}-wal`, `${file}-shm`];
  const change = async (ofFiles: number, ofFolder: number) => {
    for (const path of paths) await Deno.chmod(path, ofFiles).catch(() => {});
    await Deno.chmod(folders.database, ofFolder);
  };
  await change(0o444, 0o555);
  await work();
  await change(0o644, 0o755);
}
