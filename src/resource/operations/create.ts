import { formatKey, keyOf } from "../../plan/key.ts";
import { rowReply } from "../http/json_reply.ts";
import { beforeCreate } from "../write/run_hooks.ts";
import {
  createdResources,
  embeddedItems,
  lookedUpResources,
  type NestedRow,
  type NestedRows,
  ownItems,
} from "../write/nested_rows.ts";
import {
  type CreatedRows,
  createNestedRows,
  type CreatePlan,
} from "../write/create_nested_rows.ts";
import { inTransaction, isLoneStatement, type WriteConnection } from "../write/in_transaction.ts";
import { newRowValues } from "../write/new_row_values.ts";
import type { Operation, OperationCall, WriteCall } from "../operation.ts";
import { attachOptimisticId, parseOptimisticId } from "../http/optimistic_id.ts";
import { noneIncluded } from "../output.ts";
import { wholeBody } from "../write/body_path.ts";
import { parseNestedRows } from "../write/parse_nested_rows.ts";
import { insertRows } from "../write/insert_rows.ts";

interface CreateIntent {
  readonly body: NestedRows;
  /** The client's own name for the new row. */
  readonly optimisticId: string | null;
}

/** `POST /`: creates a row, with the rows embedded in its body. */
export const create: Operation<CreateIntent, CreatePlan, CreatedRows> = {
  name: "create",
  access: "create",
  takesBody: true,

  parse(request, resource) {
    return {
      body: parseNestedRows([{ body: request.body, bodyPath: wholeBody }], resource),
      optimisticId: parseOptimisticId(request),
    };
  },

  items: ({ body }) => ownItems(body),
  embeddedItems: ({ body }) => embeddedItems(body),
  readsFrom: ({ body }) => lookedUpResources(body),
  createsIn: ({ body }) => createdResources(body),

  plan({ body, optimisticId }, grant, resource, { created, related }) {
    // Only recorded changes carry the name to streams.
    const named = resource.hub() === null ? null : optimisticId;
    return { body, grant, created, related, optimisticId: named };
  },

  async execute(plan, call) {
    const { rows: [row], steps } = plan.body;
    return steps.length === 1 && row?.embedded.length === 0
      ? await createRow(row, plan.optimisticId, { ...call, grant: plan.grant })
      : await createNestedRows(plan, call);
  },

  shape({ rows: [row], included }, { optimisticId }, resource) {
    if (row === undefined) throw new Error("A create gave no row");
    const location = `${resource.url}/${formatKey(keyOf(row, resource.table))}`;
    return rowReply(201, row, resource, { headers: { location }, included, optimisticId });
  },
};

/** Creates a row without embedded ones, where possible by one statement. */
async function createRow(
  { given }: NestedRow,
  optimisticId: string | null,
  write: WriteCall & OperationCall<CreatedRows>,
): Promise<CreatedRows> {
  const values = newRowValues(await beforeCreate(given, write), write.grant, write.resource);
  const insert = async (connection: WriteConnection): Promise<CreatedRows> => {
    const rows = await insertRows([values], [wholeBody], write, connection);
    const [row] = rows;
    if (optimisticId !== null && row !== undefined) {
      await attachOptimisticId(row, optimisticId, write.resource, connection);
    }
    return { rows, included: noneIncluded };
  };
  return await inTransaction(write, insert, {
    isLoneStatement: optimisticId === null && isLoneStatement(write, "onAfterCreate"),
  });
}
