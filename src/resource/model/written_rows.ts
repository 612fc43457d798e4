import type { OptimisticIds } from "../../db/changes/record_optimistic_ids.ts";
import type { Row } from "../../schema/table_info.ts";

/** Written rows, and the optimistic ids that their events will have. */
export interface WrittenRows {
  readonly rows: readonly Row[];
  readonly recorded: OptimisticIds;
}
