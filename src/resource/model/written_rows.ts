import type { OptimisticIds } from "../../db/changes/record_optimistic_ids.ts";
import type { Row } from "../../schema/table_info.ts";

/** Written rows, and the ids with which their clients recognize the events of the writes. */
export interface WrittenRows {
  readonly rows: readonly Row[];
  readonly recorded: OptimisticIds;
}
