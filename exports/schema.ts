/**
 * The types that describe tables, columns, the results of introspection, and whole services.
 *
 * @example
 * ```ts
 * import { openDatabase } from "@svc/resource-api";
 * import type { TableInfo } from "@svc/resource-api/schema";
 *
 * const db = await openDatabase("sqlite::memory:");
 * await db.sql`CREATE TABLE notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL)`;
 * const { tables } = await db.introspect();
 * const kinds = ({ columns }: TableInfo) => columns.map(({ name, kind }) => `${name}: ${kind}`);
 * console.log(tables.map(kinds)); // [ [ "id: integer", "title: text" ] ]
 * await db.close();
 * ```
 *
 * @module
 */
export type {
  Introspection,
  IntrospectOptions,
  LeftOut,
  LeftOutSchema,
} from "../src/db/introspection.ts";
export type {
  DatabaseFunction,
  FunctionArgument,
  FunctionProcedure,
  FunctionResult,
  QualifiedName,
} from "../src/db/functions/database_function.ts";
export type { Migration } from "../src/db/migrations/migrate_tables.ts";
export type { MigrateOptions } from "../src/db/migrations/migrate_options.ts";
export type {
  MigrationPlan,
  MigrationStep,
  PossibleRename,
} from "../src/db/migrations/migration_plan.ts";
export {
  ColumnBuilder,
  type ColumnDeclaration,
  type NewColumn,
  type NewIntegerColumn,
} from "../src/schema/column_builder.ts";
export type {
  DecimalColumnOptions,
  ReferenceOptions,
  TextColumnOptions,
  ValueLimits,
} from "../src/schema/column_options.ts";
export type { TextPattern } from "../src/schema/pattern/text_pattern.ts";
export type { ColumnBuilders, InsertRow, SelectRow } from "../src/schema/table.ts";
export type {
  AnyTable,
  ColumnLike,
  ServedRow,
  ServedValue,
  TableLike,
} from "../src/schema/table_like.ts";
export type {
  ColumnDefault,
  ColumnInfo,
  DatabaseType,
  ForeignKey,
  Row,
  TableInfo,
  TimestampFormat,
  ValueShape,
} from "../src/schema/table_info.ts";
export type { ViewInfo } from "../src/schema/view_info.ts";
export type {
  CheckInfo,
  ColumnReference,
  ConditionWriter,
  ForeignKeyActions,
  IndexInfo,
  ReferentialAction,
  SqlCondition,
} from "../src/schema/table_constraints.ts";
export type { ForeignKeyPart, TablePart } from "../src/schema/table_like.ts";
export type { CheckPart, IndexPart, TableCondition } from "../src/compile/table_parts.ts";
export type { ColumnKind, ValueRules } from "../src/schema/kind.ts";
export type {
  EtagSchema,
  RelationSchema,
  ResourceSchema,
  ServiceSchema,
} from "../src/openapi/service_schema.ts";
export type { RelationMember } from "../src/resource/write/nested/relation_members.ts";
export type { FieldSchema } from "../src/openapi/fields.ts";
export type { ProcedureSchema } from "../src/openapi/procedure_schema.ts";
export type { JsonSchema } from "../src/protocol/route_description.ts";
export type { ResolvedCapabilities } from "../src/resource/model/resource.ts";
export type { ColumnPair, ColumnPairs, Relation, RelationStep } from "../src/schema/relation.ts";
