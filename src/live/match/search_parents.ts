import type { ChangeLog } from "../../db/changes/change_log.ts";
import type { Position } from "../../db/changes/log_position.ts";
import { DatabaseError } from "../../db/database_error.ts";
import type { Connection, ReadLimits } from "../../db/driver.ts";
import { fetchRelated, type RowReader } from "../../db/rows.ts";
import type { RelatedPlan } from "../../plan/plan.ts";
import type { ColumnInfo, Row } from "../../schema/table_info.ts";
import type { LiveQuery } from "../live_query.ts";
import { evaluationLimits } from "./evaluation_limits.ts";
import type { ParentStep } from "./include_path.ts";

/** What a search knows of a group: the parents are rows of its table. */
interface SearchedGroup {
  readonly query: Pick<LiveQuery, "table" | "reader">;
}

/** The most affected parents that one include path may lead to. */
export const maxAffectedParents = 500;

/**
 * The most bytes of them. A step of events has fewer, but rows may have columns that are not shown.
 */
const maxAffectedBytes = 8 * 1024 * 1024;

/** One include path, and the values that it begins with. */
export interface ParentSearch<G> {
  readonly parentSteps: readonly ParentStep[];
  /** One of the groups that have this path. */
  readonly group: G;
  /** The values that link changed rows to parents, and for which groups. */
  readonly keys: Map<unknown, Set<G>>;
}

/** The parents that a search has found, and for which groups. */
export interface ParentRows<G> {
  readonly rows: ReadonlyMap<Row, ReadonlySet<G>>;
  /** The rows were read at this position. */
  readonly at: Position;
}

/**
 * Searches the parents of one include path, a statement for each step up. Null where there are too
 * many, or too large ones.
 */
export async function searchParents<G extends SearchedGroup>(
  { parentSteps, group, keys: first }: ParentSearch<G>,
  identity: string,
  log: ChangeLog,
): Promise<ParentRows<G> | null> {
  const { table, reader } = group.query;
  let keys: ReadonlyMap<unknown, ReadonlySet<G>> = first;
  for (const [index, step] of parentSteps.entries()) {
    const parentKey = parentSteps[index + 1]?.relation.steps[0].own;
    const columns = parentKey === undefined ? table.columns : [parentKey];
    const found = await readParents(log, { step, keys, columns, reader, identity });
    if (found === null || parentKey === undefined) return found;
    keys = keysOf(found.rows, parentKey);
    if (keys.size === 0) return { rows: new Map(), at: found.at };
  }
  throw new Error("An include path has a step");
}

interface ParentRead<G> {
  readonly step: ParentStep;
  readonly keys: ReadonlyMap<unknown, ReadonlySet<G>>;
  readonly columns: readonly ColumnInfo[];
  readonly reader: RowReader;
  readonly identity: string;
}

async function readParents<G>(
  log: ChangeLog,
  { step: { relation, where, links, isIndexed }, keys, columns, reader, identity }: ParentRead<G>,
): Promise<ParentRows<G> | null> {
  const { target } = relation;
  const limits = evaluationLimits(identity, maxAffectedBytes);
  const found = await readRelated({ log, limits, reader }, {
    kind: "related",
    relation,
    keys: [...keys.keys()],
    columns,
    where,
    links,
    order: target.primaryKey.map((column) => ({ column, descending: false })),
    limit: maxAffectedParents + 1,
    // One more shows that there are too many.
    most: maxAffectedParents + 1,
    byIndex: isIndexed,
  });
  if (found === null || found.rows.length > maxAffectedParents) return null;
  const groups = [...keys.values()];
  const rows = new Map(found.rows.map((row, index) => {
    return [row, groups[found.places[index] ?? -1] ?? new Set<G>()] as const;
  }));
  return { rows, at: found.at };
}

interface RelatedRead {
  readonly log: ChangeLog;
  readonly limits: ReadLimits;
  readonly reader: RowReader;
}

/** Null where the rows are too large. */
async function readRelated({ log, limits, reader }: RelatedRead, plan: RelatedPlan) {
  let at: Position | null = null;
  const connection: Connection = {
    async query(statement) {
      const { position, ...result } = await log.readAt(statement, limits);
      at = position;
      return result;
    },
  };
  try {
    const found = await fetchRelated(connection, plan, reader);
    if (at === null) throw new Error("Nothing was read");
    return { ...found, at };
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === "too-large") return null;
    throw error;
  }
}

function keysOf<G>(
  rows: ReadonlyMap<Row, ReadonlySet<G>>,
  { name }: ColumnInfo,
): ReadonlyMap<unknown, ReadonlySet<G>> {
  const keys = new Map<unknown, Set<G>>();
  for (const [row, groups] of rows) {
    const key = row[name] ?? null;
    if (key === null) continue;
    const known = keys.get(key) ?? new Set();
    for (const group of groups) known.add(group);
    keys.set(key, known);
  }
  return keys;
}
