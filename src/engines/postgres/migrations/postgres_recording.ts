import type { PausedTable, RecordingEngine } from "../../../db/engine/migrations_engine.ts";
import type { Connection } from "../../../db/driver.ts";
import { selectNamed } from "../../../db/named_columns.ts";
import { hexToBytes } from "../../../protocol/byte_text.ts";
import { sqlName, type SqlValue } from "../../../sql/fragment.ts";
import { recordGap, setUpPostgresLogWithin } from "../changes/set_up_postgres_log.ts";
import { postgresTriggerName } from "../sql/change_log_schema.ts";

/** The change log of Postgres during a migration. */
export const postgresRecordingEngine: RecordingEngine = {
  // A migration need not drop the log's triggers: their arguments name only excluded columns.
  pause: recordedOnServer,
  // A renamed table keeps its triggers, so they are set up as usual.
  resumed: recordedOnServer,
  async of(connection, table) {
    const [trigger] = await selectNamed(
      connection,
      { args: "encode(tgargs, 'hex')" },
      "FROM pg_trigger WHERE tgrelid = to_regclass($1) AND tgname = $2",
      sqlName(table),
      postgresTriggerName,
    );
    return trigger === undefined ? null : { hidden: hiddenIn(trigger.args), mode: "triggers" };
  },
  async record(connection, table, { changes, random, startsAgain }) {
    const described = await setUpPostgresLogWithin(connection, [table], changes, random);
    if (startsAgain) { for (const one of described) await recordGap(one, connection); }
  },
};

async function recordedOnServer(connection: Connection): Promise<readonly PausedTable[]> {
  const rows = await selectNamed(
    connection,
    {
      name: "c.relname",
      schema: "CASE WHEN n.nspname <> current_schema() THEN n.nspname END",
      args: "encode(t.tgargs, 'hex')",
    },
    `FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE t.tgname = $1 AND t.tgparentid = 0`,
    postgresTriggerName,
  );
  return rows.map(({ name, schema, args }) => ({
    name: String(name),
    schema: schema === null ? null : String(schema),
    hidden: hiddenIn(args),
  }));
}

/** Returns the excluded columns: the arguments of a trigger after the name of its table. */
function hiddenIn(args: SqlValue | undefined): readonly string[] {
  return new TextDecoder().decode(hexToBytes(String(args))).split("\0").slice(1, -1);
}
