/** Faults of the processes of the service. */
import { sleep } from "../../../src/runtime/runtime.ts";
import { signalProcess } from "../../support/process_tree.ts";
import type { Member } from "../fleet.ts";
import { missingClock } from "../movable_clock.ts";
import { fill, smallDisksAreMissing } from "../small_disk.ts";
import type { World } from "../world.ts";
import type { Fault } from "./fault.ts";

const both = ["sqlite", "postgres"] as const;

export const serviceFaults: readonly Fault[] = [
  {
    name: "kill -9 of a worker",
    engines: both,
    async run({ chance, members }) {
      const supervised = members.find(({ workers }) => workers > 1);
      const pids = supervised?.serving() ?? [];
      if (pids.length > 0) signalProcess(chance.pick(pids), "SIGKILL");
      await sleep(300);
    },
  },
  {
    name: "kill -9 of every process of a service",
    engines: both,
    run: ({ chance, members }) => chance.pick(members).killAndStart(),
  },
  {
    name: "a worker is suspended",
    engines: both,
    run: (world) => suspend(world, (member) => [world.chance.pick(member.serving())]),
  },
  {
    name: "a supervisor is suspended",
    engines: both,
    run: (world) => suspend(world, ({ pid }) => [pid]),
  },
  {
    name: "rolling restart",
    engines: both,
    async run({ members, hold }) {
      members.find(({ workers }) => workers > 1)?.signal("SIGHUP");
      await hold(4_000);
    },
  },
  {
    name: "the clock jumps",
    engines: both,
    missing: missingClock,
    async run({ clock, chance, hold }) {
      for (const seconds of [chance.pick([30, 3_600, 40_000]), -chance.pick([5, 600])]) {
        clock?.move(seconds);
        // The process notices it within a second.
        await sleep(1_000);
        await hold(2_000);
      }
      clock?.move(0);
      await sleep(1_000);
    },
  },
  {
    name: "disk of temporary files full",
    engines: both,
    missing: await smallDisksAreMissing(),
    run: importWithoutDisk,
  },
];

async function suspend(
  { members, hold, chance }: World,
  pidsOf: (member: Member) => readonly number[],
): Promise<void> {
  const pids = pidsOf(chance.pick(members));
  for (const pid of pids) signalProcess(pid, "SIGSTOP");
  await hold(5_000);
  for (const pid of pids) signalProcess(pid, "SIGCONT");
}

/** More than the rows that an import keeps in memory. */
const importedRows = 120;
const importedText = Array.from(
  { length: importedRows },
  (_one, at) => JSON.stringify({ id: at + 1, title: "x".repeat(50_000) }),
).join("\n");

/** An import that finds no room for its rows fails as a whole, and succeeds once there is room. */
async function importWithoutDisk(world: World): Promise<void> {
  const { members, temporary, requests, place, wrong } = world;
  if (temporary === null) throw new Error("This fault needs a small disk");
  const send = (member: Member) =>
    requests.send(member, "POST", "/api/imported/import", {
      ...{ user: "root", text: importedText, expects: 413 },
      headers: { "content-type": "application/x-ndjson" },
    });
  const count = async () =>
    Number((await place.query("SELECT count(*) AS n FROM imported"))[0]?.["n"]);
  await fill(temporary, async () => {
    for (const member of members) {
      const response = await send(member);
      if (response !== null && ![413, 503].includes(response.status)) {
        wrong(`an import without a disk: ${response.status} ${response.text}`);
      }
    }
    if (await count() > 0) wrong(`${await count()} rows of an import without a disk are there`);
  });
  const files = [...Deno.readDirSync(temporary)].filter(({ name }) => /^service-import/.test(name));
  if (files.length > 0) wrong(`imports have left ${files.map(({ name }) => name).join(", ")}`);
  const until = performance.now() + world.recoveryLimitMs;
  for (;;) {
    const response = await send(world.chance.pick(members));
    const rows = await count();
    if (response?.status === 200 && rows === importedRows) break;
    if (performance.now() > until) {
      wrong(`an import of ${importedRows} rows: ${rows} rows, ${response?.status}`);
      break;
    }
    // Without a response, the import may have written its rows, or may still write them.
    await sleep(500);
    if (response === null) await place.query("DELETE FROM imported");
  }
  await place.query("DELETE FROM imported");
}
