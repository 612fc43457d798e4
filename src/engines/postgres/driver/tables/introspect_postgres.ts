import { plainColumn } from "../../../../schema/table_info.ts";
import { readOnlyView, type ViewInfo } from "../../../../schema/view_info.ts";
import { identifier, join, sql, tableName, toStatement } from "../../../../sql/fragment.ts";
import { DatabaseError } from "../../../../db/database_error.ts";
import type { Driver } from "../../../../db/driver.ts";
import { postgresEnumCheck } from "../../../../db/tables/enum_checks.ts";
import {
  type ColumnDraft,
  completeDrafts,
  type Introspection,
  type IntrospectOptions,
  type TableDraft,
} from "../../../../db/introspection.ts";
import {
  type CatalogueColumn,
  type CatalogueConstraint,
  type CatalogueTable,
  type CatalogueUniqueIndex,
  listTables,
  readColumns,
  readConstraints,
  readUniqueIndexes,
} from "./postgres_catalogue.ts";
import { parseSimpleView } from "../../../../db/views/simple_view.ts";
import { declareKeys, inferViewKeys, inheritWriteRules } from "../../../../db/views/view_keys.ts";
import { functionProcedures } from "../../../../db/functions/database_function.ts";
import { describeFunctions, readFunctions } from "./postgres_functions.ts";
import { chooseSchemas } from "./postgres_schemas.ts";
import { EnumLabels, type PostgresType, readTypes, withConfiguration } from "./postgres_types.ts";

export async function introspectPostgres(
  driver: Driver,
  options: IntrospectOptions = {},
): Promise<Introspection> {
  const { roles = [] } = options;
  const chosen = await chooseSchemas(driver, options.schemas, roles);
  const schemas = JSON.stringify(chosen.names);
  const enums = new EnumLabels();
  const [listed, columns, types, uniques, constraints, catalogue] = await Promise.all([
    listTables(driver, chosen, roles),
    readColumns(driver, schemas, roles),
    readTypes(driver, schemas, enums),
    readUniqueIndexes(driver, schemas),
    readConstraints(driver, schemas),
    options.functions === undefined ? [] : readFunctions(driver, schemas, options),
  ]);
  const { tables } = listed;
  const described = describeFunctions(catalogue, options.functions ?? [], tables, types);
  const drafts = await Promise.all(tables.map(async (table) => {
    const of = <R extends { readonly owner: string }>(rows: readonly R[]) =>
      rows.filter(({ owner }) => owner === table.id);
    const own = of(columns).flatMap((column) => {
      const type = types.byId.get(column.typeId);
      // If the type has no description, it was created between the two queries.
      return type === undefined ? [] : [{ ...column, ...type }];
    });
    // A key or a foreign key is omitted unless the role may read all of its columns.
    const readable = new Set(own.map(({ name }) => name));
    const whole = <R extends { readonly columns: readonly string[] }>(rows: readonly R[]) =>
      rows.filter(({ columns }) => columns.every((name) => readable.has(name)));
    const draft = {
      ...draftTable(table, own, whole(of(uniques)), whole(of(constraints))),
      functionColumns: described.columns.get(table.id) ?? [],
    };
    // If rows share a key, the table is read-only: a write by a key would change several rows.
    return table.isInherited && await sharesKeys(draft, driver)
      ? { ...draft, key: [], isReadOnly: true }
      : draft;
  }));
  const isSame = (left: string, right: string) => left === right;
  const keyed = declareKeys(
    inferViewKeys(drafts, isSame),
    options.keys ?? {},
    listed.leftOut.map(({ table }) => table),
  );
  const checked = await Promise.all(keyed.map((draft) => withCheckedWrites(draft, driver)));
  return {
    tables: completeDrafts(
      inheritWriteRules(checked, isSame),
      enums.isEmpty ? null : () => enums.refresh(driver),
    ),
    leftOut: [...listed.leftOut, ...described.leftOut],
    otherSchemas: chosen.leftOut,
    functions: functionProcedures(described.functions),
  };
}

async function withCheckedWrites(draft: TableDraft, driver: Driver): Promise<TableDraft> {
  const { view, key, isDistinct } = draft;
  if (view === null || key.length === 0 || !(view.insert || view.update || view.delete)) {
    return draft;
  }
  if (!isDistinct && await sharesKeys(draft, driver)) return { ...draft, view: readOnlyView };
  return view.locksRows || !await canLock(draft, driver)
    ? draft
    : { ...draft, view: { ...view, locksRows: true } };
}

async function canLock(view: TableDraft, driver: Driver): Promise<boolean> {
  try {
    const locking = sql`EXPLAIN SELECT 1 FROM ${tableName(view)} FOR UPDATE`;
    await driver.query(toStatement(locking, driver.dialect.placeholder));
    return true;
  } catch (error) {
    if (error instanceof DatabaseError) return false;
    throw error;
  }
}

/** Returns true if several rows of a table have the same key, or if the check takes too long. */
async function sharesKeys({ key, ...table }: TableDraft, driver: Driver): Promise<boolean> {
  if (key.length === 0) return false;
  const columns = join(key.map((name) => identifier(name)), ", ");
  const several = sql`SELECT 1 FROM ${
    tableName(table)
  } GROUP BY ${columns} HAVING count(*) > 1 LIMIT 1`;
  try {
    const { rows } = await driver.query(toStatement(several, driver.dialect.placeholder));
    return rows.length > 0;
  } catch (error) {
    if (error instanceof DatabaseError && error.kind === "timeout") return true;
    throw error;
  }
}

type TypedColumn = CatalogueColumn & PostgresType;

function draftTable(
  table: CatalogueTable,
  columns: readonly TypedColumn[],
  indexes: readonly CatalogueUniqueIndex[],
  constraints: readonly CatalogueConstraint[],
): TableDraft {
  const isView = table.view !== null;
  const uniques = indexes.filter(({ where }) => where === null);
  return {
    name: table.name,
    schema: table.schema,
    label: table.label,
    description: table.description,
    ...{ view: viewInfoOf(table), isReadOnly: false, hasRowId: false },
    simple: table.view === null ? null : parseSimpleView(table.view),
    key: keyOf(uniques, columns, isView),
    // A view's key can be NULL in several rows, and inheriting tables can repeat a table's key.
    isDistinct: !isView && !table.isInherited,
    foreignKeys: constraints.flatMap(({ columns, target }) =>
      target === null ? [] : [{ columns, ...target }]
    ),
    indexes: indexes.filter(({ where, columns }) => where !== null || columns.length > 1)
      .map(({ name, columns, where }) => ({ name, columns, unique: true, where })),
    columns: columns.map((column): ColumnDraft => {
      const { kind, databaseType } = column;
      const [first = null, second = null] = /\((\d+)(?:,(-?\d+))?\)/.exec(column.baseType)
        ?.slice(1).map((digits) => digits === undefined ? null : Number(digits)) ?? [];
      return {
        ...plainColumn,
        name: column.name,
        dbName: column.name,
        kind,
        notNull: column.notNull,
        unique: uniques.some(({ isKey, columns }) =>
          !isKey && columns.length === 1 && columns[0] === column.name
        ),
        // Like a generated column, GENERATED ALWAYS AS IDENTITY accepts no value. An expression of
        // a view accepts a value only if a trigger executes the write.
        generated: column.generated || column.identity === "a" ||
          isView && (table.ownTriggers & insertOrUpdate) === 0 && !column.isWritable,
        defaultSql: column.generated
          ? null
          : column.identity === ""
          ? column.defaultSql
          : "the next number",
        enumValues: column.labels ??
          (kind === "text" && databaseType === null ? checkedTexts(column, constraints) : null),
        precision: kind === "decimal" ? first : null,
        scale: kind === "decimal" ? second : null,
        maxLength: sized.has(column.baseName) ? first : null,
        existingType: column.declared,
        ...(databaseType === null
          ? {}
          : { databaseType: withConfiguration(databaseType, column.wordsSql) }),
        looseCollation: column.isLoose,
        varies: !table.isStored,
        isWide: column.baseName === "int8",
        description: column.description,
      };
    }),
  };
}

const insertOrUpdate = 8 | 4;

function viewInfoOf({ view, writes, isTriggered, isAutomatic }: CatalogueTable): ViewInfo | null {
  if (view === null) return null;
  return {
    insert: (writes & 8) > 0,
    update: (writes & 4) > 0,
    delete: (writes & 16) > 0,
    isTriggered,
    locksRows: isAutomatic,
  };
}

/** Returns the primary key, else the smallest unique index. A table's index must be NOT NULL. */
function keyOf(
  uniques: readonly CatalogueUniqueIndex[],
  columns: readonly CatalogueColumn[],
  isView: boolean,
): readonly string[] {
  const primary = uniques.find(({ isKey }) => isKey);
  if (primary !== undefined) return primary.columns;
  const notNull = new Set(columns.flatMap(({ name, notNull }) => notNull ? name : []));
  const whole = uniques.filter(({ isImmediate, columns }) =>
    isImmediate && (isView || columns.every((name) => notNull.has(name)))
  );
  const [smallest] = whole.toSorted((a, b) => a.columns.length - b.columns.length);
  return smallest?.columns ?? [];
}

const sized: ReadonlySet<string> = new Set(["varchar", "bpchar"]);

function checkedTexts(
  column: CatalogueColumn,
  constraints: readonly CatalogueConstraint[],
): readonly string[] | null {
  for (const { columns, definition } of constraints) {
    const isOfColumn = columns.length === 1 && columns[0] === column.name;
    const texts = isOfColumn ? postgresEnumCheck(definition) : null;
    if (texts !== null) return texts;
  }
  return null;
}
