import { postgresTriggerName } from "../../engines/postgres/sql/change_log_schema.ts";
import { sqliteTriggerPrefix } from "../../engines/sqlite/sql/change_log_schema.ts";
import type { Driver } from "../driver.ts";

/**
 * A string that is another one once the triggers that record changes are: another program that makes a
 * table again loses those of the table before, although its columns are the same.
 */
export async function installedTriggers(driver: Driver): Promise<string> {
  const text = driver.dialect.engine === "sqlite" ? ofFile : ofServer;
  const { rows } = await driver.query({ text, values: [] });
  return String(rows[0]?.[0] ?? "");
}

const ofFile = `SELECT group_concat(name || ' ' || tbl_name) FROM (
  SELECT name, tbl_name FROM sqlite_schema
  WHERE type = 'trigger' AND name GLOB '${sqliteTriggerPrefix}*' ORDER BY name)`;

const ofServer = `SELECT string_agg(
    tgrelid || ' ' || tgname || tgenabled::text || encode(tgargs, 'hex'), ',' ORDER BY tgrelid, tgname)
  FROM pg_trigger WHERE tgname LIKE '${postgresTriggerName}%'`;
