import { assert, assertEquals } from "@std/assert";
import type { Connection, Driver } from "../../src/db/driver.ts";
import { watchedDriver } from "../../src/service/observability/watched_driver.ts";
import { testOnPostgres } from "../support/postgres_tests.ts";
import { repeats } from "../support/repeats.ts";
import { checkGroups } from "./check_groups.ts";

// A failure is found again by `deno task check-writes 1 SEED`.
const seed = crypto.getRandomValues(new Uint32Array(1))[0]! >>> 8;

testOnPostgres(
  `groups of writes have the outcome of an order, from seed ${seed} on`,
  async (url) => {
    const { failure, groups, shared } = await checkGroups({
      url,
      seed,
      groups: repeats(120),
      lanes: 1,
    });
    assertEquals(failure, null);
    assertEquals(groups, repeats(120));
    assert(shared > 20, `only ${shared} writes shared a transaction`);
  },
);

testOnPostgres("a service that repeats its writes is found", async (url) => {
  const spoil = (driver: Driver): Driver => {
    const loneWrites: Connection = {
      async query(statement) {
        await (driver.loneWrites ?? driver).query(statement);
        return await (driver.loneWrites ?? driver).query(statement);
      },
    };
    return { ...watchedDriver(driver, { transaction: () => () => {} }), loneWrites };
  };
  const { failure } = await checkGroups({ url, seed: 1, groups: 20, lanes: 1, spoil });
  assert(failure !== null);
});
