import { isSameName, quoteIdentifier, quoteText } from "../../../sql/fragment.ts";
import { affinityOfType } from "../sql/column_type.ts";
import { rowIdNames } from "../sql/recorded_table.ts";
import { namesInSql } from "../../../sql/statements/normal_sql.ts";
import {
  parseCreateTable,
  type ParsedConstraint,
  type ParsedDefinition,
} from "../../../sql/statements/parse_create_table.ts";
import { withNewNames } from "../../../db/migrations/compare/new_names.ts";
import { type ColumnShape, isSameSet } from "../../../db/migrations/compare/table_shape.ts";
import type { MigrationStep } from "../../../db/migrations/migration_plan.ts";
import { foreignKeySql, membersCheck } from "../../../db/migrations/plan/column_sql.ts";
import { partsToRename } from "../../../db/migrations/plan/parts_to_rename.ts";
import {
  addIndexSteps,
  indexesToDrop,
  newStep,
  type TableMigration,
} from "../../../db/migrations/plan/table_migration.ts";

export interface OtherProgramTrigger {
  readonly name: string;
  readonly table: string;
  readonly sql: string;
}

export function rebuildSteps(
  table: TableMigration,
  triggers: readonly OtherProgramTrigger[],
): readonly MigrationStep[] {
  const { label, pair } = table;
  const { name } = pair.shape;
  const temporary = `_service_new_${name}`;
  const [from, to] = [quoteIdentifier(name), quoteIdentifier(temporary)];
  const { definitions, options, isCounted } = newDefinitions(table);
  const { columns, values } = copied(table, options);
  return [
    newStep(
      `CREATE TABLE ${to} (\n  ${definitions.join(",\n  ")}\n)${
        options === "" ? "" : ` ${options}`
      }`,
      `${label}: make it again, as it is declared`,
    ),
    newStep(
      `INSERT INTO ${to} (${columns.join(", ")}) SELECT ${values.join(", ")} FROM ${from}`,
      `${label}: copy the rows`,
      lossesOf(table),
    ),
    ...(isCounted
      ? [
        newStep(
          `DELETE FROM sqlite_sequence WHERE name = ${quoteText(temporary)}`,
          `${label}: count on`,
        ),
        newStep(
          `INSERT INTO sqlite_sequence (name, seq) SELECT ${quoteText(temporary)}, seq
  FROM sqlite_sequence WHERE name = ${quoteText(name)}`,
          `${label}: count on after the largest number that was ever given`,
        ),
      ]
      : []),
    newStep(`DROP TABLE ${from}`, `${label}: its rows are in the new one`),
    newStep(`ALTER TABLE ${to} RENAME TO ${from}`, `${label}: give it its name`),
    ...keptIndexes(table).map((sql) => newStep(sql, `${label}: make its indexes again`)),
    ...addIndexSteps(table),
    ...triggers.filter((one) => isSameName(one.table, pair.existing.name)).map(({ sql, ...one }) =>
      newStep(renamedIn(table, sql), `${label}: make the trigger ${one.name} again`)
    ),
  ];
}

function lossesOf(table: TableMigration): string | null {
  const lost = [
    ...table.of("superfluous-column"),
    ...table.of("type"),
    ...table.of("members"),
    ...table.of("generated"),
  ].flatMap(({ column }) => column !== null && table.mayLose(column) ? [column] : []);
  return lost.length === 0
    ? null
    : [...new Set(lost)].map((column) => `${table.label}.${column}`).join(", ");
}

function newDefinitions(table: TableMigration) {
  const { shape, existing, current } = table.pair;
  const { definitions: old, options } = parseCreateTable(existing.sql ?? "()");
  const { definitions: declared } = parseCreateTable(shape.sql ?? "()");
  const counts = old.some(({ constraints }) =>
    constraints.some((one) => one.kind === "key" && one.counts)
  );
  const isCounted = counts && shape.columns.some(({ countsUp }) => countsUp);
  const kept = keptColumns(table);
  const declaredKeys = shape.foreignKeys.map(({ columns }) => columns);
  return {
    options,
    isCounted,
    definitions: [
      ...declared.filter(({ column }) => column !== null).map((one) =>
        declaredColumn(one, definitionOf(table, old, one), isCounted)
      ),
      ...kept.flatMap((column) => keptColumn(definitionNamed(old, column.name), column)),
      ...declared.filter(({ column }) => column === null).map(({ text }) => text),
      ...keptConstraints(table, old, kept),
      ...current.foreignKeys.filter((key) =>
        key.columns.every((name) => shape.columns.some((one) => isSameName(one.name, name))) &&
        !table.of("superfluous-foreign-key").some(({ existing }) =>
          isSameSet(existing.columns, key.columns) && isSameName(existing.table, key.table)
        ) &&
        !declaredKeys.some((columns) => isSameSet(columns, key.columns))
      ).map(foreignKeySql),
    ],
  };
}

function keptConstraints(
  table: TableMigration,
  old: readonly ParsedDefinition[],
  kept: readonly ColumnShape[],
): readonly string[] {
  const has = (columns: readonly ColumnShape[], name: string) =>
    columns.some((column) => isSameName(column.name, name));
  const gone = table.pair.columns.superfluous.filter((column) => !kept.includes(column));
  const isKept = (constraint: ParsedConstraint) => {
    const names = namesIn(constraint);
    return names.some((name) => has(kept, name)) && !names.some((name) => has(gone, name));
  };
  return old.flatMap(({ column, constraints }) => {
    if (column !== null && has(kept, column.name)) return [];
    return constraints.filter(({ kind }) => column === null || kind === "check").filter(isKept);
  }).map(({ text }) => renamedIn(table, text));
}

function namesIn(constraint: ParsedConstraint): readonly string[] {
  switch (constraint.kind) {
    case "check":
      return namesInSql(constraint.sql);
    case "unique":
    case "references":
      return constraint.columns;
    default:
      return [];
  }
}

function keptColumns(table: TableMigration): readonly ColumnShape[] {
  return table.pair.columns.superfluous.filter(({ name }) => !table.mayLose(name));
}

function definitionNamed(
  all: readonly ParsedDefinition[],
  name: string,
): ParsedDefinition | undefined {
  return all.find(({ column }) => column !== null && isSameName(column.name, name));
}

function definitionOf(
  { pair }: TableMigration,
  old: readonly ParsedDefinition[],
  { column }: ParsedDefinition,
): ParsedDefinition | undefined {
  const name = column?.name ?? "";
  return definitionNamed(old, pair.columns.renamed.get(name) ?? name);
}

function declaredColumn(
  { text, constraints }: ParsedDefinition,
  old: ParsedDefinition | undefined,
  isCounted: boolean,
): string {
  const collation = old?.constraints.find(({ kind }) => kind === "collate")?.text;
  const isCollated = constraints.some(({ kind }) => kind === "collate");
  const isKey = constraints.some(({ kind }) => kind === "key");
  const counted = isCounted && isKey
    ? text.replace(/\bPRIMARY\s+KEY\b/i, "PRIMARY KEY AUTOINCREMENT")
    : text;
  return collation === undefined || isCollated ? counted : `${counted} ${collation}`;
}

/** Returns the SQL of an undeclared column that stays, without NOT NULL if it has no default. */
function keptColumn(old: ParsedDefinition | undefined, { default: given }: ColumnShape): string[] {
  if (old?.column === null || old === undefined) return [];
  const { column: { name, type }, constraints } = old;
  const kept = constraints.filter(({ kind }) => kind !== "not null" || given !== null);
  return [[quoteIdentifier(name), type, ...kept.map(({ text }) => text)].join(" ")];
}

function copied(
  table: TableMigration,
  options: string,
): { readonly columns: readonly string[]; readonly values: readonly string[] } {
  const { shape, columns: { pairs } } = table.pair;
  const columns: string[] = [];
  const values: string[] = [];
  const copy = (name: string, value: string) => {
    columns.push(quoteIdentifier(name));
    values.push(value);
  };
  const names = table.pair.current.columns.map(({ name }) => name);
  const rowId = rowIdNames.find((one) => !names.some((name) => isSameName(name, one)));
  const isNumbered = !/\bWITHOUT\s+ROWID\b/i.test(options) &&
    !shape.columns.some(({ countsUp }) => countsUp);
  // Row ids are copied as well, because other programs can refer to rows by them.
  if (isNumbered && rowId !== undefined) copy(rowId, quoteIdentifier(rowId));
  for (const [wanted, has] of pairs) {
    if (wanted.generated === null) copy(wanted.name, copiedValue(table, wanted, has));
  }
  for (const { name, generated } of keptColumns(table)) {
    if (generated === null) copy(name, quoteIdentifier(name));
  }
  return { columns, values };
}

function copiedValue(table: TableMigration, wanted: ColumnShape, has: ColumnShape): string {
  const value = convertedSql(quoteIdentifier(wanted.name), has.type, wanted.type);
  const isLimited = table.of("members").some(({ column }) => column === wanted.name) &&
    table.mayLose(wanted.name) && wanted.members !== null;
  return isLimited
    ? `CASE WHEN ${membersCheck(wanted.name, wanted.members?.values ?? [])} THEN ${value} ELSE ${
      wanted.default ?? "NULL"
    } END`
    : value;
}

export function convertedSql(column: string, from: string, to: string): string {
  const affinity = affinityOfType(to);
  const isRetyped = affinity !== affinityOfType(from) && affinity !== "BLOB";
  return isRetyped ? `CAST(${column} AS ${affinity})` : column;
}

function keptIndexes(table: TableMigration): readonly string[] {
  const { current, shape, columns } = table.pair;
  const dropped = new Set(indexesToDrop(table));
  const renamed = new Map(partsToRename(table).map(({ from, sql }) => [from, sql]));
  const gone = (parts: readonly string[]) =>
    columns.superfluous.some(({ name }) =>
      table.mayLose(name) && parts.some((part) => isSameName(part, name))
    );
  const uniques = current.uniques.filter(({ index, columns }) =>
    index !== null && !gone(columns) &&
    ![...shape.uniques.map((one) => one.columns), shape.key].some((one) =>
      isSameSet(one, columns)
    ) &&
    !table.of("superfluous-unique").some(({ existing }) => existing.index === index)
  ).map(({ name, index }) => ({ name: name ?? "", sql: index ?? "" }));
  const added = table.of("missing-unique").map(({ declared }) => declared);
  const declared = shape.uniques.filter((one) => !added.includes(one));
  return [
    ...[
      ...current.indexes.filter(({ name, parts }) => !dropped.has(name) && !gone(parts)),
      ...uniques,
    ].map(({ name, sql }) => renamed.get(name) ?? renamedIn(table, sql)),
    ...declared.flatMap(({ index }) => index ?? []),
  ];
}

function renamedIn({ pair: { existing, shape, columns } }: TableMigration, sql: string): string {
  const renamed = new Map(columns.renamed);
  if (!isSameName(existing.name, shape.name)) renamed.set(shape.name, existing.name);
  return withNewNames(sql, renamed);
}
