import { quoteIdentifier, sqlName } from "../../../sql/fragment.ts";
import { parseCreateTable } from "../../../sql/statements/parse_create_table.ts";
import type { ForeignKeyShape, TableShape } from "../../../db/migrations/compare/table_shape.ts";
import type { MigrationStep } from "../../../db/migrations/migration_plan.ts";
import { columnList, foreignKeySql, membersCheck } from "../../../db/migrations/plan/column_sql.ts";
import { columnMigrationSteps } from "./postgres_columns.ts";
import { partsToRename } from "../../../db/migrations/plan/parts_to_rename.ts";
import {
  addIndexSteps,
  alter,
  createIndexSteps,
  dropIndex,
  indexesToDrop,
  inRenameOrder,
  newStep,
  renameSteps,
  type TableMigration,
} from "../../../db/migrations/plan/table_migration.ts";

export function postgresMigrationSteps(
  tables: readonly TableMigration[],
  missing: readonly TableShape[],
): readonly MigrationStep[] {
  const retyped = retypedKeys(tables);
  return [
    ...inRenameOrder(tables).flatMap(renames),
    ...retyped.flatMap(([table, { name, columns }]) =>
      dropConstraint(table, name, `drop the foreign key of ${columns}`)
    ),
    ...tables.flatMap(constraintDrops),
    ...missing.flatMap(creation),
    ...tables.flatMap(columnMigrationSteps),
    ...tables.flatMap(constraints),
    ...missing.flatMap(foreignKeys),
    ...retyped.map(([table, key]) =>
      alter(table, `ADD ${foreignKeySql(key)}`, `add the foreign key of ${key.columns} again`)
    ),
    ...tables.flatMap((table) =>
      [...table.of("missing-foreign-key"), ...table.of("actions")].map(({ declared }) =>
        alter(table, `ADD ${foreignKeySql(declared)}`, `add the foreign key of ${declared.columns}`)
      )
    ),
  ];
}

function retypedKeys(
  tables: readonly TableMigration[],
): readonly (readonly [TableMigration, ForeignKeyShape])[] {
  const isRetyped = (table: TableMigration | undefined, columns: readonly string[]) =>
    table !== undefined && [...table.of("type"), ...table.of("collation")]
      .some(({ column }) => columns.includes(column ?? ""));
  return tables.flatMap((table) => {
    const gone = [...table.of("superfluous-foreign-key"), ...table.of("actions")]
      .map(({ existing }) => existing.name);
    return table.pair.current.foreignKeys.filter((key) => {
      const target = tables.find(({ pair: { shape } }) =>
        shape.schema === key.schema && shape.name === key.table
      );
      return !gone.includes(key.name) &&
        (isRetyped(table, key.columns) || isRetyped(target, key.references));
    }).map((key) => [table, key] as const);
  });
}

function dropConstraint(
  table: TableMigration,
  name: string | null,
  purpose: string,
): readonly MigrationStep[] {
  return name === null ? [] : [alter(table, `DROP CONSTRAINT ${quoteIdentifier(name)}`, purpose)];
}

function renames(table: TableMigration): readonly MigrationStep[] {
  const { schema } = table.pair.shape;
  return [
    ...renameSteps(table),
    ...partsToRename(table).map(({ from, to, sql }) => {
      const purpose = `${table.label}: the name of ${from} follows`;
      const named = `${quoteIdentifier(from)} TO ${quoteIdentifier(to)}`;
      return sql === null
        ? newStep(`ALTER TABLE ${table.name} RENAME CONSTRAINT ${named}`, purpose)
        : newStep(
          `ALTER INDEX ${sqlName({ schema, name: from })} RENAME TO ${quoteIdentifier(to)}`,
          purpose,
        );
    }),
  ];
}

/** Returns the steps that drop constraints: foreign keys before the keys to which they refer. */
function constraintDrops(table: TableMigration): readonly MigrationStep[] {
  const drop = (name: string | null, purpose: string) => dropConstraint(table, name, purpose);
  return [
    ...[...table.of("superfluous-foreign-key"), ...table.of("actions")].flatMap(({ existing }) =>
      drop(existing.name, `drop the foreign key of ${existing.columns}`)
    ),
    ...table.of("superfluous-check").flatMap(({ existing }) =>
      drop(existing.name, `drop the check ${existing.name}`)
    ),
    ...table.of("members").flatMap(({ column }) =>
      drop(memberCheckName(table, column), `drop the list of the values of ${column}`)
    ),
    ...table.of("superfluous-unique").flatMap(({ existing }) =>
      existing.index !== null
        ? [dropIndex(table, existing.name ?? "")]
        : drop(existing.name, `${existing.columns} need not be unique any more`)
    ),
    ...indexesToDrop(table).map((name) => dropIndex(table, name)),
    ...table.of("key").flatMap(() => drop(table.pair.existing.keyName, "drop the key")),
  ];
}

function memberCheckName({ pair }: TableMigration, column: string | null): string | null {
  return pair.current.columns.find(({ name }) => name === column)?.members?.check ?? null;
}

/** Returns the steps that create a table without foreign keys, because tables can form a cycle. */
function creation(shape: TableShape): readonly MigrationStep[] {
  const { name, schema, sql } = shape;
  const { definitions } = parseCreateTable(sql ?? "()");
  const lines = definitions.filter(({ column, constraints: [constraint] }) =>
    column !== null || constraint?.kind !== "references"
  ).map(({ text }) => text);
  const table = sqlName({ schema, name });
  return [
    newStep(`CREATE TABLE ${table} (\n  ${lines.join(",\n  ")}\n)`, `create ${name}`),
    ...createIndexSteps(shape),
  ];
}

function foreignKeys({ name, schema, foreignKeys }: TableShape): readonly MigrationStep[] {
  const table = { name: sqlName({ schema, name }), label: name };
  return foreignKeys.map((key) =>
    alter(table, `ADD ${foreignKeySql(key)}`, `add the foreign key of ${key.columns}`)
  );
}

function constraints(table: TableMigration): readonly MigrationStep[] {
  const add = (name: string | null, constraint: string, purpose: string) => {
    const called = name === null ? "" : `CONSTRAINT ${quoteIdentifier(name)} `;
    return alter(table, `ADD ${called}${constraint}`, purpose);
  };
  const members = [
    ...table.of("members").map(({ column, declared }) => ({ column, values: declared })),
    ...table.of("missing-column").map(({ column, declared }) => ({
      column,
      values: declared.members?.values ?? null,
    })),
  ];
  return [
    ...members.flatMap(({ column, values }) =>
      column === null || values === null ? [] : [
        ...emptied(table, column, values),
        add(null, `CHECK (${membersCheck(column, values)})`, `${column} has one of its values`),
      ]
    ),
    ...table.of("missing-check").map(({ declared: { name, sql } }) =>
      add(name, `CHECK (${sql}\n)`, `add the check ${name ?? sql}`)
    ),
    ...table.of("missing-unique").flatMap(({ declared: { name, columns, index } }) =>
      index === null ? [add(name, `UNIQUE (${columnList(columns)})`, `${columns} are unique`)] : []
    ),
    ...addIndexSteps(table),
  ];
}

function emptied(
  table: TableMigration,
  column: string,
  values: readonly string[],
): readonly MigrationStep[] {
  const [wanted] = table.pair.shape.columns.filter(({ name }) => name === column);
  const isChange = table.of("members").some((one) => one.column === column);
  if (!isChange || !table.hasRows || !table.mayLose(column)) return [];
  return [
    newStep(
      `UPDATE ${table.name} SET ${quoteIdentifier(column)} = ${
        wanted?.default ?? "NULL"
      } WHERE NOT (${membersCheck(column, values)})`,
      `${table.label}: ${column} has no other text`,
      `${table.label}.${column}`,
    ),
  ];
}
