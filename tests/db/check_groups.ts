/** Groups of concurrent writes to one service, against the same writes one by one to another. */
import type { Driver } from "../../src/db/driver.ts";
import { Chance } from "../live/checker/chance.ts";
import { groupTableNames, partOf, randomGroup, type WriteGroup } from "./write_groups.ts";
import { type GroupResult, Twin } from "./write_twin.ts";

/** Which groups are checked. */
export interface GroupsOptions {
  /** The administrator's URL of a Postgres. */
  readonly url: string;
  /** The seed of the first group. Each further group has the next number. */
  readonly seed: number;
  readonly groups: number;
  /** The number of pairs of services that check groups at the same time. */
  readonly lanes: number;
  /** Replaces the driver of the concurrent service, to show that a fault is found. */
  readonly spoil?: (driver: Driver) => Driver;
  /** Prevents further groups from starting. */
  readonly stopping?: AbortSignal;
  /** Called after each group. */
  readonly report?: (totals: GroupsTotals) => void;
}

/** The results of all groups so far. */
export interface GroupsTotals {
  groups: number;
  writes: number;
  /** The number of writes with each status. */
  readonly statuses: Map<number, number>;
  /** The number of writes that shared their transaction with another one. */
  shared: number;
  /** The number of transactions at the concurrent services that were rolled back. */
  rolledBack: number;
  /** The number of groups whose writes had the outcome of another order than the one sent. */
  reordered: number;
  /** The number of groups that ran again, because the database was not available to a write. */
  unavailable: number;
  /** The first group whose outcome is the outcome of no order. */
  failure: string | null;
}

/** Checks groups until one has the outcome of no order of its writes. */
export async function checkGroups(options: GroupsOptions): Promise<GroupsTotals> {
  const { url, seed, groups, lanes, spoil, stopping, report } = options;
  const totals: GroupsTotals = {
    ...{ groups: 0, writes: 0, statuses: new Map(), shared: 0, rolledBack: 0, reordered: 0 },
    ...{ unavailable: 0, failure: null },
  };
  const seeds = Array.from({ length: groups }, (_, index) => seed + index).values();
  await Promise.all(Array.from({ length: Math.min(lanes, groups) }, async () => {
    await using together = await Twin.open(url, spoil);
    await using alone = await Twin.open(url);
    const before = await together.rolledBack();
    for (const seed of seeds) {
      if (stopping?.aborted || totals.failure !== null) break;
      await checkGroup(seed, { together, alone }, totals);
      report?.(totals);
    }
    totals.rolledBack += await together.rolledBack() - before;
  }));
  return totals;
}

/** How many groups may run again in one check. */
const maxUnavailable = 1_000;

interface Twins {
  readonly together: Twin;
  readonly alone: Twin;
}

async function checkGroup(
  seed: number,
  { together, alone }: Twins,
  totals: GroupsTotals,
): Promise<void> {
  const group = randomGroup(new Chance(seed * 31 + 7));
  const orders = group.parts.map((part) => orderings(part.length));
  const [result, first] = await Promise.all([
    together.run(group, null),
    alone.run(group, orders.map(([order = []]) => order)),
  ]);
  // A machine that is busy with other work can let a write wait for too long, which its 503 says.
  if ([result, first].some(({ statuses }) => statuses.includes(503))) {
    if (totals.unavailable++ >= maxUnavailable) throw new Error("The database is not available");
    return await checkGroup(seed, { together, alone }, totals);
  }
  // The service usually writes in the order in which the requests arrive.
  const different = group.parts.keys().filter((part) => result.parts[part] !== first.parts[part]);
  const left = new Set(different);
  if (left.size > 0) totals.reordered++;
  for (let turn = 1; left.size > 0; turn++) {
    const next = await alone.run(
      group,
      orders.map((some, part) => left.has(part) ? some[turn % some.length] ?? [] : []),
    );
    for (const part of left) {
      if (result.parts[part] === next.parts[part]) left.delete(part);
      else if (turn >= (orders[part]?.length ?? 0)) {
        totals.failure ??= explain(seed, group, part, result, first);
        return;
      }
    }
  }
  totals.groups++;
  totals.shared += result.shared;
  for (const status of result.statuses) {
    totals.writes++;
    totals.statuses.set(status, (totals.statuses.get(status) ?? 0) + 1);
  }
}

/** Returns all orders of so many items, as lists of indexes. The first is the order of the items. */
function orderings(count: number): readonly (readonly number[])[] {
  const indexes = Array.from({ length: count }, (_, index) => index);
  let orders: readonly (readonly number[])[] = [[]];
  for (const _ of indexes) {
    orders = orders.flatMap((order) =>
      indexes.filter((index) => !order.includes(index)).map((index) => [...order, index])
    );
  }
  return orders;
}

function explain(
  seed: number,
  { rows, parts }: WriteGroup,
  part: number,
  result: GroupResult,
  first: GroupResult,
): string {
  return [
    `seed ${seed}: part ${part} has the outcome of no order of its writes`,
    ...groupTableNames.flatMap((name) =>
      rows[name].filter(({ id }) => partOf(Number(id)) === part)
        .map((row) => `row of ${name}: ${JSON.stringify(row)}`)
    ),
    ...(parts[part] ?? []).map((write) => JSON.stringify(write)),
    `together:\n${result.parts[part]}`,
    `in the order of the requests:\n${first.parts[part]}`,
  ].join("\n");
}
