/**
 * Files outside of `src/engines` that still import one engine, until the engine answers by itself.
 * An entry may go, but no entry may come.
 */
export const engineImports: Readonly<Record<string, readonly string[]>> = {
  "src/db/migrations/compare/compare_tables.ts": [
    "sqlite/sql/column_type.ts",
  ],
  "src/db/migrations/compare/declared_shape.ts": [
    "postgres/sql/type_names.ts",
  ],
  "src/db/migrations/compare/existing_shapes.ts": [
    "postgres/migrations/postgres_shapes.ts",
    "sqlite/migrations/sqlite_shapes.ts",
  ],
  "src/db/migrations/compare/parsed_shape.ts": [
    "sqlite/sql/parse_create_index.ts",
  ],
  "src/db/migrations/compare/syntax_of.ts": [
    "postgres/sql/syntax.ts",
    "sqlite/sql/syntax.ts",
  ],
  "src/db/migrations/files/migrate_files.ts": [
    "sqlite/migrations/file_state.ts",
  ],
  "src/db/migrations/find_differences.ts": [
    "postgres/migrations/written_by_postgres.ts",
  ],
  "src/db/migrations/migrate_tables.ts": [
    "sqlite/migrations/file_state.ts",
  ],
  "src/db/migrations/pause_recording.ts": [
    "postgres/changes/set_up_postgres_log.ts",
    "postgres/sql/change_log_schema.ts",
    "sqlite/changes/set_up_sqlite_log.ts",
    "sqlite/sql/change_log_schema.ts",
  ],
  "src/db/migrations/plan/left_columns.ts": [
    "sqlite/sql/column_type.ts",
  ],
  "src/db/migrations/plan/row_guards.ts": [
    "postgres/sql/change_log_schema.ts",
  ],
  "src/db/migrations/plan/table_migration.ts": [
    "postgres/sql/change_log_schema.ts",
  ],
  "src/db/migrations/plan/widened_types.ts": [
    "sqlite/sql/column_type.ts",
  ],
  "src/db/migrations/plan_migration.ts": [
    "postgres/migrations/postgres_steps.ts",
    "postgres/sql/change_log_schema.ts",
    "sqlite/migrations/sqlite_rebuild.ts",
    "sqlite/migrations/sqlite_steps.ts",
    "sqlite/sql/change_log_schema.ts",
  ],
  "src/db/migrations/restore_recording.ts": [
    "postgres/changes/set_up_postgres_log.ts",
    "postgres/sql/change_log_schema.ts",
    "sqlite/changes/set_up_sqlite_log.ts",
    "sqlite/sql/change_log_schema.ts",
    "sqlite/sql/image_json.ts",
  ],
};
