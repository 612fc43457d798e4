import type { ColumnInfo, Row, TableInfo } from "../../schema/table_info.ts";
import type { SqlValue } from "../../sql/fragment.ts";
import type { Driver } from "../driver.ts";
import { engineOf } from "../engine/engine_of.ts";
import { textOrNull } from "../named_columns.ts";
import { createRowReader } from "../rows.ts";
import type { Change } from "./change_log.ts";
import { createCompletenessTest, type DecodeImage, imageDecoder } from "./image_decoder.ts";

interface LogCells {
  readonly seq: SqlValue;
  readonly op: SqlValue;
  readonly before: SqlValue;
  readonly after: SqlValue;
  readonly optimisticId: SqlValue;
}

/**
 * Decodes a row of the change log. `tables` are the declarations of its table in this process:
 * none, one, or two if it is declared twice. The result contains a change for each declaration.
 */
export type DecodeChanges = (
  cells: LogCells,
  place: Pick<Change, "transaction" | "mark">,
  tables: readonly TableInfo[],
) => readonly Change[];

export function changeDecoder(driver: Driver, exclude: ReadonlySet<ColumnInfo>): DecodeChanges {
  const decode = imageDecoder(createRowReader(driver.dialect, () => {}), exclude);
  const isWhole = createCompletenessTest(engineOf(driver).changes, exclude);
  return ({ seq, op, ...cells }, place, tables) => {
    const images = { before: textOrNull(cells.before), after: textOrNull(cells.after) };
    return tables.map((table) => {
      // An incomplete image must not be shown. Instead, a `touch` makes the streams start over.
      const areWhole = Object.values(images).every((one) => one === null || isWhole(one, table));
      const kind = areWhole ? changeKind(String(op)) : "touch";
      const optimisticId = textOrNull(cells.optimisticId);
      const logged = { ...place, seq: Number(seq), table, kind, optimisticId };
      return lazyChange(logged, areWhole ? images : { before: null, after: null }, decode);
    });
  };
}

/** Returns a change as logged, which decodes each of its images once, at its first use. */
function lazyChange(
  logged: Omit<Change, "before" | "after" | "sizeBytes">,
  images: { readonly before: string | null; readonly after: string | null },
  decode: DecodeImage,
): Change {
  let { before, after }: { before: string | Row | null; after: string | Row | null } = images;
  return {
    ...logged,
    sizeBytes: (images.before?.length ?? 0) + (images.after?.length ?? 0),
    get before() {
      return before = typeof before === "string" ? decode(before, logged.table) : before;
    },
    get after() {
      return after = typeof after === "string" ? decode(after, logged.table) : after;
    },
  };
}

/** Returns the kind of a change by its name in the log, or `touch` for an unknown kind. */
export function changeKind(op: string): Change["kind"] {
  return op === "insert" || op === "update" || op === "delete" || op === "truncate" ? op : "touch";
}
