import type { Connection } from "../../../../src/db/driver.ts";
import { DatabaseError } from "../../../../src/db/database_error.ts";
import type { MortalPostgres } from "../../../support/mortal_postgres.ts";
import type { Chance } from "../chance.ts";
import type { Cast } from "./cast.ts";
import type { History } from "./history.ts";
import { moment } from "./turns.ts";
import type { Database } from "../../../../src/db/database.ts";

/**
 * Numbers of transactions are taken and given back, the services look, and the server dies before
 * it has written any of it down: after the recovery it gives the same numbers again. Gives how many
 * there were.
 */
export async function crash(
  server: MortalPostgres,
  { outside, cast, history, chance }: {
    readonly outside: Database;
    readonly cast: Cast;
    readonly history: History;
    readonly chance: Chance;
  },
): Promise<number> {
  const numbers = chance.pick([0, 3, 10, 30]);
  for (let left = numbers; left > 0; left--) {
    await outside.driver.transaction(takeNumber).catch(requireGivenBack);
  }
  // Somewhere between the look of one service and that of another.
  for (let left = chance.below(4); left > 0; left--) {
    cast.advance(600);
    for (let turn = 0; turn < 10; turn++) await moment();
  }
  await server.crash();
  await server.start();
  for (let tries = 0;; tries++) {
    try {
      history.add([], await history.read(outside.driver));
      return numbers;
    } catch (error) {
      if (tries === 100 || !(error instanceof DatabaseError)) throw error;
      await moment();
    }
  }
}

async function takeNumber(connection: Connection): Promise<void> {
  await connection.query({ text: "SAVEPOINT inner_part", values: [] });
  await connection.query({ text: "SELECT pg_current_xact_id()", values: [] });
  await connection.query({ text: "ROLLBACK TO SAVEPOINT inner_part", values: [] });
  throw givenBack;
}

function requireGivenBack(error: unknown): void {
  if (error !== givenBack) throw error;
}

const givenBack = new Error("given back on purpose");
