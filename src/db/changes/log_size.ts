import type { Connection } from "../driver.ts";
import type { LogSize } from "./change_log.ts";

/** Reads a log's size. `age` is SQL for the seconds since `f.at`, the time of the first entry. */
export async function readLogSize(connection: Connection, age: string): Promise<LogSize> {
  const end = (order: string) =>
    `(SELECT seq, at FROM "_service_changes" ORDER BY seq ${order} LIMIT 1)`;
  const { rows: [row = []] } = await connection.query({
    text: `SELECT l.seq - f.seq + 1, ${age} FROM ${end("ASC")} f CROSS JOIN ${end("DESC")} l`,
    values: [],
  });
  const [changes = 0, oldestSeconds = 0] = row;
  return { changes: Number(changes), oldestSeconds: Math.max(0, Number(oldestSeconds)) };
}
