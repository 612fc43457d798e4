import type { Driver } from "../../../db/driver.ts";
import type { UnboundStatement } from "../../../db/engine/engine.ts";

/** Returns a statement's generic plan, which needs no values. Does not run the statement. */
export async function readPostgresPlan(
  driver: Driver,
  { text, parameters }: UnboundStatement,
): Promise<readonly string[]> {
  return await driver.transaction(async (connection) => {
    const run = async (text: string) => (await connection.query({ text, values: [] })).rows;
    await run("SET LOCAL transaction_read_only = on");
    await run("SET LOCAL plan_cache_mode = force_generic_plan");
    // A failed EXPLAIN leaves the prepared statement in the session.
    const left = await run(`SELECT 1 FROM pg_prepared_statements WHERE name = '${name}'`);
    if (left.length > 0) await run(`DEALLOCATE ${name}`);
    await run(`PREPARE ${name} AS ${text}`);
    const nulls = parameters === 0 ? "" : `(${Array(parameters).fill("NULL").join(", ")})`;
    const rows = await run(`EXPLAIN EXECUTE ${name}${nulls}`);
    await run(`DEALLOCATE ${name}`);
    return rows.map(([line]) => String(line));
  });
}

const name = "_service_plan";
