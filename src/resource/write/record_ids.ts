import type { Connection } from "../../db/driver.ts";
import {
  logPositionBefore,
  type OptimisticIds,
  recordOptimisticIds,
} from "../../db/changes/logged_change.ts";
import { asSystem } from "../../db/transact.ts";
import { type Key, keyId, keyOf } from "../../plan/key.ts";
import type { Row, TableInfo } from "../../schema/table_info.ts";
import type { Resource } from "../model/resource.ts";
import { loggedId } from "./values/new_row_values.ts";

export interface WrittenRow {
  readonly row: Row;
  readonly optimisticId: string | null;
}

export const noOptimisticIds: OptimisticIds = Object.freeze(new Map<string, string>());

export async function writeRecordingIds<Written>(
  idsOf: ((written: Written) => OptimisticIds) | null,
  { table, reader }: Resource,
  connection: Connection,
  work: () => Promise<Written>,
) {
  if (idsOf === null) return { written: await work(), recorded: noOptimisticIds };
  const log = asSystem(connection);
  const since = await logPositionBefore(log, reader);
  const written = await work();
  const ids = idsOf(written);
  return {
    written,
    recorded: await recordOptimisticIds(log, { table, ids, since }, reader),
  };
}

export async function writeRecordingId(
  { key, optimisticId }: { readonly key: Key; readonly optimisticId: string | null },
  resource: Resource,
  connection: Connection,
  work: () => Promise<Row>,
): Promise<WrittenRow> {
  const idsOf = idsOfItems([{ key, optimisticId }], resource);
  const { written, recorded } = await writeRecordingIds(idsOf, resource, connection, work);
  return { row: written, optimisticId: recorded.size === 0 ? null : optimisticId };
}

export function idsOfItems(
  items: readonly { readonly key: Key; readonly optimisticId: string | null }[],
  resource: Resource,
): (() => OptimisticIds) | null {
  const ids = items.flatMap(({ key, optimisticId }) => {
    const id = loggedId(optimisticId, resource);
    return id === null ? [] : [[keyId(key, resource.table), id] as const];
  });
  return ids.length === 0 ? null : () => new Map(ids);
}

export function idsOfRows(
  ids: readonly (string | null)[],
  table: TableInfo,
): ((rows: readonly Row[]) => OptimisticIds) | null {
  if (ids.every((id) => id === null)) return null;
  return (rows) =>
    new Map(rows.flatMap((row, index) => {
      const id = ids[index] ?? null;
      return id === null ? [] : [[keyId(keyOf(row, table), table), id] as const];
    }));
}
