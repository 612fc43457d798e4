import { sqlName } from "../../../sql/fragment.ts";
import { policiesApplySql } from "../driver/row_security.ts";
import type { TableInfo } from "../../../schema/table_info.ts";

export type OnRowPolicyTablesChange = (tables: ReadonlySet<TableInfo>) => void;

/** The recorded tables in which policies hide rows from the service, as of the last log read. */
export class RowPolicyTables {
  /** SQL for a select list: the positions, from 1, of the tables in which policies hide rows. */
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

  /** Updates the set from {@link column} of a log read. Call this before the changes are used. */
  note(places: string): void {
    if (places === this.#known) return;
    this.#known = places;
    const indexes = places.split(",").map((place) => Number(place) - 1);
    this.#onChange(new Set(indexes.flatMap((index) => this.#tables[index] ?? [])));
  }
}

/** The SQL of {@link RowPolicyTables.column}, which reads policies in the changes' snapshot. */
function securedColumn(names: string): string {
  const oids =
    `ARRAY(SELECT to_regclass(name)::oid FROM json_array_elements_text('${names}') AS name)`;
  return `(SELECT coalesce(string_agg(array_position(${oids}, c.oid)::text, ',' ORDER BY c.oid), '')
    FROM pg_class c WHERE c.oid = ANY (${oids}) AND ${policiesApplySql()}) AS secured`;
}
