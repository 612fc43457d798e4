import { keyId, keyOf } from "../../plan/key.ts";
import { locationOf, noneIncluded, rowReply, rowsReply } from "../shape/output.ts";
import { beforeCreate } from "../write/run_hooks.ts";
import {
  lookedUpResources,
  type NestedRow,
  type NestedRows,
  ownCount,
  relatedWrites,
} from "../write/nested/nested_rows.ts";
import {
  type CreatedRows,
  createNestedRows,
  type CreatePlan,
} from "../write/nested/write_nested_rows.ts";
import { toFailedWrite } from "../write/refused/failed_write.ts";
import {
  inTransaction,
  isAutocommit,
  type WriteConnection,
} from "../write/transaction/in_transaction.ts";
import { loggedId, newRowValues, parseItemOptimisticId } from "../write/values/new_row_values.ts";
import { optimisticIdOf } from "../write/row_target.ts";
import type { Operation, OperationCall, WriteCall } from "../model/operation.ts";
import { parseNestedRows } from "../write/nested/parse/parse_nested_rows.ts";
import { insertRows } from "../write/insert_rows.ts";
import { idsOfRows, noOptimisticIds, writeRecordingIds } from "../write/record_ids.ts";
import { itemPath, mapItems, parseItems, wholeBody } from "../write/values/batch_items.ts";

interface CreateIntent {
  readonly body: NestedRows;
  /** For each row of the body, the id that the client has chosen for the row's event, or null. */
  readonly ids: readonly (string | null)[];
}

export const create: Operation<CreateIntent, CreatePlan, CreatedRows> = {
  name: "create",
  access: "create",
  takesBody: true,

  parse(request, resource) {
    return {
      body: parseNestedRows([{ body: request.body, bodyPath: wholeBody }], resource),
      ids: [optimisticIdOf(request)],
    };
  },

  items: ({ body }) => ownCount(body),
  readsFrom: ({ body }) => lookedUpResources(body),
  relatedWrites: ({ body }) => relatedWrites(body),

  plan({ body, ids: given }, grant, resource, { written, related }) {
    const ids = given.map((id) => loggedId(id, resource));
    return { body, grant, written, related, updated: null, ids };
  },

  execute(plan, call) {
    const { rows: [row], steps } = plan.body;
    return steps.length === 1 && row?.embedded.length === 0
      ? createRow(row, plan.ids, { ...call, grant: plan.grant })
      : createNestedRows(plan, call);
  },

  shape({ rows: [row], included, recorded }, _intent, resource) {
    if (row === undefined) throw new Error("A create gave no row");
    const { table } = resource;
    const optimisticId = recorded.size === 0
      ? null
      : recorded.get(keyId(keyOf(row, table), table)) ?? null;
    const headers = locationOf(row, resource);
    return rowReply(201, row, resource, { headers, included, optimisticId });
  },
};

async function createRow(
  { given }: NestedRow,
  ids: CreatePlan["ids"],
  write: WriteCall & OperationCall<CreatedRows>,
): Promise<CreatedRows> {
  const values = newRowValues(await beforeCreate(given, write), write.grant, write.resource);
  const { resource } = write;
  const idsOf = idsOfRows(ids, resource.table);
  const insert = (connection: WriteConnection): Promise<CreatedRows> =>
    writeRecordingIds(
      idsOf,
      resource,
      connection,
      () => insertRows([values], [wholeBody], write, connection),
    ).then(({ written, recorded }) => ({ rows: written, included: noneIncluded, recorded }));
  try {
    return await inTransaction(write, insert, {
      isAutocommit: idsOf === null && isAutocommit(write, "onAfterCreate"),
    });
  } catch (error) {
    // A deferred constraint can reject the values at the commit.
    throw toFailedWrite(error, resource, () => [{ ...wholeBody, values }]);
  }
}

export const batchCreate: typeof create = {
  ...create,
  name: "batch-create",

  parse({ body }, resource) {
    const items = parseItems(body, resource.batch.create);
    const rows = items.map((item, index) => ({ body: item, bodyPath: itemPath(index) }));
    return {
      body: parseNestedRows(rows, resource),
      ids: mapItems(items, parseItemOptimisticId),
    };
  },

  async execute(plan, call) {
    if (plan.body.rows.length === 0) {
      return { rows: [], included: noneIncluded, recorded: noOptimisticIds };
    }
    return await createNestedRows(plan, call);
  },

  shape(created, _intent, resource) {
    return rowsReply(201, created, resource, created.included);
  },
};
