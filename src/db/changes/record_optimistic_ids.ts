import { chunksOf, keyId, keyOf } from "../../plan/key.ts";
import type { TableInfo } from "../../schema/table_info.ts";
import type { SqlValue, Statement } from "../../sql/fragment.ts";
import type { Connection } from "../driver.ts";
import type { RowReader } from "../rows.ts";
import { imageDecoder } from "./logged_change.ts";
import { engineOf } from "../engine/engine.ts";

/** The optimistic ids (ids that clients chose for new rows) of a transaction's rows, by row id. */
export type OptimisticIds = ReadonlyMap<string, string>;

/** The log position before a transaction writes. Null if each change records its transaction. */
export type LogMark = SqlValue;

/** Returns the log position before a transaction writes. */
export async function logPositionBefore(
  connection: Connection,
  reader: RowReader,
): Promise<LogMark> {
  const { mark } = engineOf(reader).changes;
  if (mark === null) return null;
  const { rows } = await connection.query({ text: mark, values: [] });
  return rows[0]?.[0] ?? 0;
}

/**
 * Writes optimistic ids to the changes of their rows that the transaction has made since position
 * `mark`. A row that was written several times has its id in each change. Returns the ids that were
 * recorded: rows of unrecorded tables, and rows that no statement has written, have none.
 */
export async function recordOptimisticIds(
  connection: Connection,
  { table, ids, since }: {
    readonly table: TableInfo;
    readonly ids: OptimisticIds;
    readonly since: LogMark;
  },
  reader: RowReader,
): Promise<OptimisticIds> {
  if (ids.size === 0) return ids;
  const { rows } = await connection.query(
    engineOf(reader).changes.changesSince(table, since),
  );
  const decode = imageDecoder(reader, new Set());
  const recorded = new Map<string, string>();
  const marks = rows.flatMap(([seq = null, image]): readonly Mark[] => {
    const key = keyId(keyOf(decode(String(image), table), table), table);
    const id = ids.get(key);
    if (id === undefined) return [];
    recorded.set(key, id);
    return [{ seq, id }];
  });
  for (const some of chunksOf(marks, marksPerStatement)) {
    await connection.query(markStatement(some, reader));
  }
  return recorded;
}

interface Mark {
  readonly seq: SqlValue;
  readonly id: string;
}

/** The maximum number of ids in a statement. Each id binds two values. */
const marksPerStatement = 500;

function markStatement(marks: readonly Mark[], { dialect }: RowReader): Statement {
  const pairs = marks.map((_mark, index) => {
    const [seq, id] = [dialect.placeholder(2 * index + 1), dialect.placeholder(2 * index + 2)];
    return `(CAST(${seq} AS bigint), CAST(${id} AS text))`;
  });
  return {
    // `column1` and `column2` are the names of VALUES columns on all engines.
    text: `UPDATE "_service_changes" SET optimistic_id = named.column2
      FROM (VALUES ${pairs.join(", ")}) AS named WHERE seq = named.column1`,
    values: marks.flatMap(({ seq, id }) => [seq, id]),
  };
}
