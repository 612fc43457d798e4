/** Faults of the processes of the service. */
import { sleep } from "../../../src/runtime/runtime.ts";
import { signalProcess } from "../../support/process_tree.ts";
import type { Member } from "../fleet.ts";
import { missingClock } from "../movable_clock.ts";
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
