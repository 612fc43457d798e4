import type { Grant } from "../auth/authorize.ts";
import type { Connection } from "../db/driver.ts";
import { type Key, parseKey } from "../plan/key.ts";
import type { DeletePlan } from "../plan/plan.ts";
import { missedRow, reachable } from "./change_row.ts";
import { type KeyIntent, notFound } from "./not_found.ts";
import type { Operation } from "./operation.ts";

interface RemovePlan {
  readonly remove: DeletePlan;
  readonly segment: string;
  readonly key: Key;
  readonly grant: Grant;
}

/** `DELETE /:id`. */
export const remove: Operation<KeyIntent, RemovePlan, void> = {
  name: "delete",
  access: "delete",
  takesBody: false,

  parse({ segment }, resource) {
    return { segment, key: parseKey(segment, resource.table) };
  },

  plan({ segment, key }, grant, resource) {
    if (key === null) throw notFound(resource, segment);
    const where = reachable(key, grant, resource);
    return { segment, key, grant, remove: { kind: "delete", table: resource.table, where } };
  },

  async execute(plan, resource) {
    const connection: Connection = resource.driver;
    const { changed } = await connection.query(resource.reader.compile(plan.remove));
    if (changed === 0) throw await missedRow(plan, connection, resource);
  },

  shape() {
    return { status: 204, headers: { "cache-control": "private, no-cache" }, body: null };
  },
};
