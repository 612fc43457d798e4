import { sqlName } from "../../../sql/fragment.ts";
import { policiesApplySql } from "../driver/row_security.ts";
import type { TableInfo } from "../../../schema/table_info.ts";

/** Called when the set of tables whose row policies restrict the role has changed. */
export type OnRowPolicyTablesChange = (tables: ReadonlySet<TableInfo>) => void;

/** The recorded tables in which row policies hide rows. Each read of the log updates this set. */
export class RowPolicyTables {
  /** SQL of a select-list column that returns the indexes of the tables with row policies. */
  readonly column: string;
  readonly #tables: readonly TableInfo[];
  readonly #onChange: OnRowPolicyTablesChange;
  #known = "";

  constructor(tables: readonly TableInfo[], onChange: OnRowPolicyTablesChange) {
    const names = JSON.stringify(tables.map(sqlName)).replaceAll("'", "''");
    this.column = securedColumn(names);
    this.#tables = tables;
    this.#onChange = onChange;
  }

  /**
   * Stores the value that a statement returned for {@link column}. The caller must call this method
   * before it uses other results of the statement.
   */
  note(places: string): void {
    if (places === this.#known) return;
    this.#known = places;
    const indexes = places.split(",").map((place) => Number(place) - 1);
    this.#onChange(new Set(indexes.flatMap((index) => this.#tables[index] ?? [])));
  }
}

/** The policies of the snapshot of the statement: a reader of a change also sees earlier policies. */
function securedColumn(names: string): string {
  const oids =
    `ARRAY(SELECT to_regclass(name)::oid FROM json_array_elements_text('${names}') AS name)`;
  return `(SELECT coalesce(string_agg(array_position(${oids}, c.oid)::text, ',' ORDER BY c.oid), '')
    FROM pg_class c WHERE c.oid = ANY (${oids}) AND ${policiesApplySql()}) AS secured`;
}
