/**
 * The tag `sql` for SQL statements, SQL fragments for custom operators, and the types of SQL
 * dialects for custom drivers.
 *
 * @module
 */
export { Fragment, type SqlValue, type Statement } from "../src/sql/fragment.ts";
export { sqlTemplate as sql } from "../src/sql/sql_template.ts";
export type { SqlResult, SqlStatement, SqlTag } from "../src/db/template/sql_statement.ts";
export type {
  AddedColumn,
  CellClass,
  CertifiedOperators,
  ComparesAsMemory,
  Dialect,
  Engine,
  EngineParts,
  ImageDialect,
  ListNames,
  RowEstimate,
  RowImages,
  RowsOfKeys,
  TextDialect,
} from "../src/sql/dialect.ts";
export type { JsonPathDialect, JsonPathValue } from "../src/sql/json_path_dialect.ts";
export type { ListDialect, Quantifier } from "../src/sql/list_dialect.ts";
export type { DefinitionDialect } from "../src/sql/definition_dialect.ts";
export type { MetricDialect, QuickMetrics } from "../src/sql/metric_dialect.ts";
export type { PreviewDialect } from "../src/sql/preview_dialect.ts";
export type { SqlSyntax } from "../src/sql/statements/normal_sql.ts";
