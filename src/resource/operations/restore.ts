import type { Grant } from "../../auth/authorize.ts";
import type { Connection } from "../../db/driver.ts";
import { allRows, and } from "../../filter/filter.ts";
import { rowMatches } from "../../filter/match/row_matches.ts";
import { keyFilter } from "../../plan/key.ts";
import { Problem } from "../../problem/problem.ts";
import type { Row } from "../../schema/table_info.ts";
import { rowReply } from "../http/json_reply.ts";
import { requirePrecondition } from "../http/etag.ts";
import type { Operation, WriteCall } from "../operation.ts";
import { notFound, notFoundOrForbidden } from "../read/not_found_or_forbidden.ts";
import { inTransaction } from "../write/in_transaction.ts";
import {
  lockRow,
  type NamedRow,
  parseNamedRow,
  planTarget,
  type RowTarget,
} from "../write/row_target.ts";
import { updateSameVersion } from "../write/update_row.ts";

interface RestorePlan {
  readonly target: RowTarget;
  readonly grant: Grant;
}

/** `POST /:id/restore`: restores a soft-deleted row. */
export const restore: Operation<NamedRow, RestorePlan, Row> = {
  name: "restore",
  access: "update",
  takesBody: false,

  parse: parseNamedRow,

  plan(named, grant, resource) {
    return { target: planTarget(named, resource), grant };
  },

  execute({ target, grant }, call) {
    const write = { ...call, grant };
    return inTransaction(call, (connection) => restoreRow(target, write, connection));
  },

  shape(row, _named, resource) {
    return rowReply(200, row, resource);
  },
};

/** Fails as an update does; a row that is not marked deleted is a 409. */
async function restoreRow(
  target: RowTarget,
  write: WriteCall,
  connection: Connection,
): Promise<Row> {
  const { resource, grant } = write;
  const { softDelete, table } = resource;
  if (softDelete === null) throw notFound(resource, target.segment);
  const where = and(keyFilter(target.key, table), grant.visible, grant.rows);
  const current = await lockRow(where, resource, connection);
  if (current === null) throw await notFoundOrForbidden(target, write, connection, allRows);
  requirePrecondition(target.precondition, current, resource);
  if (rowMatches(softDelete.undeleted, current)) {
    throw new Problem(
      "conflict",
      `Cannot restore ${target.segment.slice(0, 100)}: it is not deleted`,
    );
  }
  const set = new Map([[softDelete.field, softDelete.unmarked]]);
  return await updateSameVersion({ target, current, where, set }, write, connection);
}
