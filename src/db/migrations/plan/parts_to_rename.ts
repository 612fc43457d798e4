import { normalizeSql } from "../../../sql/statements/normal_sql.ts";
import { isSameIndex } from "../compare/difference.ts";
import { isSameSet } from "../compare/table_shape.ts";
import { missingIndexNames, type TableMigration } from "./table_migration.ts";

/** An index or a constraint that is named after the old name of a table or column. */
export interface PartToRename {
  readonly from: string;
  readonly to: string;
  /** The statement that creates the declared index, or null for a constraint. */
  readonly sql: string | null;
}

export function partsToRename(table: TableMigration): readonly PartToRename[] {
  const { pair: { shape, current, columns }, dialect: { syntax }, planning } = table;
  const isRenamed = columns.renamed.size > 0 || table.of("renamed-table").length > 0;
  const wanted = missingIndexNames(table);
  const found: { from: string | null; to: string | null; sql: string | null }[] = [];
  for (const wanted of shape.indexes) {
    const has = current.indexes.find((one) => isSameIndex(one, wanted, syntax));
    if (has !== undefined) found.push({ from: has.name, to: wanted.name, sql: wanted.sql });
  }
  for (const { name, columns, index } of shape.uniques) {
    const has = current.uniques.find((one) =>
      isSameSet(one.columns, columns) && (one.index === null) === (index === null)
    );
    if (has !== undefined) found.push({ from: has.name, to: name, sql: index });
  }
  for (const { name, sql } of planning.renamesConstraints ? shape.checks : []) {
    const has = current.checks.find((one) =>
      normalizeSql(one.sql, syntax) === normalizeSql(sql, syntax)
    );
    if (has !== undefined) found.push({ from: has.name, to: name, sql: null });
  }
  const names = new Set(
    [...current.indexes, ...current.uniques, ...current.checks].map(({ name }) => name),
  );
  return found.flatMap(({ from, to, sql }) => {
    const isMoved = from !== null && to !== null && from !== to && !names.has(to);
    return isMoved && (isRenamed || wanted.has(from)) &&
        (sql !== null || planning.renamesConstraints)
      ? [{ from, to, sql }]
      : [];
  });
}
