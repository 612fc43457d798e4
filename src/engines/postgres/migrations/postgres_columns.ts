import { quoteIdentifier, quoteText } from "../../../sql/fragment.ts";
import { namesInSql } from "../../../sql/statements/normal_sql.ts";
import type { Difference } from "../../../db/migrations/compare/difference.ts";
import type { ColumnShape } from "../../../db/migrations/compare/table_shape.ts";
import type { MigrationStep } from "../../../db/migrations/migration_plan.ts";
import { columnList, postgresColumnSql } from "../../../db/migrations/plan/column_sql.ts";
import {
  alter,
  newStep,
  type TableMigration,
} from "../../../db/migrations/plan/table_migration.ts";

/** Returns the steps for columns. Added generated columns come last: they can use added columns. */
export function columnMigrationSteps(table: TableMigration): readonly MigrationStep[] {
  const missing = table.of("missing-column").map(({ declared }) => declared);
  const again = computedAgain(table);
  const isComputed = ({ existing }: Superfluous) => existing.generated !== null;
  const superfluous = table.of("superfluous-column");
  return [
    ...again.map((column) => droppedBefore(table, column)),
    ...[...superfluous.filter(isComputed), ...superfluous.filter((one) => !isComputed(one))]
      .flatMap((one) => takenAway(table, one)),
    ...missing.filter(({ generated }) => generated === null).map((one) => added(table, one)),
    ...table.pair.shape.columns.filter((one) => !again.includes(one))
      .flatMap(({ name }) => changed(table, name)),
    ...[...missing.filter(({ generated }) => generated !== null), ...again].map((one) =>
      added(table, one)
    ),
    ...table.of("key").map(({ declared }) =>
      alter(table, `ADD PRIMARY KEY (${columnList(declared)})`, `the key is ${declared}`)
    ),
    ...again.flatMap((column) => partsOf(table, column)),
  ];
}

/** Returns the generated columns to replace, because Postgres cannot alter them or their inputs. */
function computedAgain(table: TableMigration): readonly ColumnShape[] {
  const isOf = (name: string, ...kinds: readonly Difference["kind"][]) =>
    table.differences.some((one) => one.column === name && kinds.includes(one.kind));
  const retyped = new Set(
    [...table.of("type"), ...table.of("collation")].map(({ column }) => column?.toLowerCase()),
  );
  return table.pair.shape.columns.filter(({ name, generated }) => {
    const has = table.pair.current.columns.find((one) => one.name === name);
    if (generated === null || has === undefined) return false;
    if (isOf(name, "generated", "type", "collation")) return true;
    return has.generated !== null && namesInSql(has.generated).some((one) => retyped.has(one));
  });
}

function droppedBefore(table: TableMigration, { name }: ColumnShape): MigrationStep {
  const has = table.pair.current.columns.find((one) => one.name === name);
  const loses = has?.generated === null && table.hasRows ? `${table.label}.${name}` : null;
  return alter(table, `DROP COLUMN ${quoteIdentifier(name)}`, `${name}: is computed again`, loses);
}

/** Returns the steps that restore a column's unchanged indexes and constraints after its drop. */
function partsOf(table: TableMigration, { name }: ColumnShape): readonly MigrationStep[] {
  const { indexes, uniques, checks } = table.pair.shape;
  const isLost = (part: unknown, columns: readonly string[]) =>
    columns.some((one) => one.toLowerCase() === name.toLowerCase()) &&
    !table.differences.some((one) => "declared" in one && one.declared === part);
  const constrain = (given: string | null, constraint: string) => {
    const called = given === null ? "" : `CONSTRAINT ${quoteIdentifier(given)} `;
    return alter(table, `ADD ${called}${constraint}`, `${name}: as before`);
  };
  return [
    ...uniques.filter((one) => isLost(one, one.columns)).map((one) =>
      one.index === null
        ? constrain(one.name, `UNIQUE (${columnList(one.columns)})`)
        : newStep(one.index, `${table.label}: make the index ${one.name} again`)
    ),
    ...indexes.filter((one) => isLost(one, one.parts)).map((one) =>
      newStep(one.sql, `${table.label}: make the index ${one.name} again`)
    ),
    ...checks.filter((one) => isLost(one, namesInSql(one.sql))).map((one) =>
      constrain(one.name, `CHECK (${one.sql}\n)`)
    ),
  ];
}

type Superfluous = Extract<Difference, { kind: "superfluous-column" }>;

function takenAway(table: TableMigration, { existing }: Superfluous): readonly MigrationStep[] {
  const { name, notNull, default: given, countsUp, generated } = existing;
  const column = quoteIdentifier(name);
  if (table.mayLose(name)) {
    return [alter(table, `DROP COLUMN ${column}`, `drop ${name}`, `${table.label}.${name}`)];
  }
  const isNeeded = notNull && given === null && !countsUp && generated === null;
  return isNeeded && !table.pair.existing.key.includes(name)
    ? [alter(table, `ALTER COLUMN ${column} DROP NOT NULL`, `${name} stays, and may be empty`)]
    : [];
}

function added(table: TableMigration, declared: ColumnShape): MigrationStep {
  return alter(table, `ADD COLUMN ${postgresColumnSql(declared)}`, `add ${declared.name}`);
}

function changed(table: TableMigration, name: string): readonly MigrationStep[] {
  const column = quoteIdentifier(name);
  const all = table.differences.filter((one) => one.column === name);
  const of = <Kind extends Difference["kind"]>(kind: Kind) =>
    all.find((one): one is Extract<Difference, { kind: Kind }> => one.kind === kind);
  const set = (action: string, purpose: string) =>
    alter(table, `ALTER COLUMN ${column} ${action}`, `${name}: ${purpose}`);
  const steps: MigrationStep[] = [];
  const [wanted] = table.pair.shape.columns.filter((one) => one.name === name);
  const [has] = table.pair.current.columns.filter((one) => one.name === name);
  if (wanted === undefined || has === undefined) return [];
  const [type, given, counting, notNull] = [
    of("type") ?? of("collation"),
    of("default"),
    of("counting"),
    of("not-null"),
  ];
  const isComputed = of("generated") !== undefined;
  if (isComputed) {
    steps.push(set("DROP EXPRESSION", "is computed no more"));
  } else if (type !== undefined) {
    // The identity is dropped before the type changes: a string column cannot have an identity.
    if (counting?.declared === false) {
      steps.push(set("DROP IDENTITY IF EXISTS", "counts up no more"));
    }
    // Postgres cannot always convert the default together with the column.
    if (has.default !== null || counting?.declared === false) {
      steps.push(set("DROP DEFAULT", "before its type changes"));
    }
    steps.push(retyped(table, has, wanted));
  }
  const isBare = type !== undefined || isComputed;
  if (counting?.declared === false && !isBare) {
    steps.push(set("DROP IDENTITY IF EXISTS", "counts up no more"), set("DROP DEFAULT", "as well"));
  }
  if (given?.declared === null && !isBare) steps.push(set("DROP DEFAULT", "has no default"));
  if (notNull !== undefined && !isComputed) {
    const action = notNull.declared ? "SET NOT NULL" : "DROP NOT NULL";
    steps.push(set(action, notNull.declared ? "always has a value" : "may be empty"));
  }
  if (wanted.default !== null && (given !== undefined || isBare && has.default !== null)) {
    steps.push(set(`SET DEFAULT ${wanted.default}`, "has a default"));
  }
  return counting?.declared === true ? [...steps, ...counted(table, name)] : steps;
}

/** Returns the steps for an identity column. The numbers continue after its largest value. */
function counted(table: TableMigration, name: string): readonly MigrationStep[] {
  const column = quoteIdentifier(name);
  const sequence = `pg_get_serial_sequence(${quoteText(table.name)}, ${quoteText(name)})`;
  return [
    alter(
      table,
      `ALTER COLUMN ${column} ADD GENERATED BY DEFAULT AS IDENTITY`,
      `${name}: counts up`,
    ),
    newStep(
      `SELECT setval(${sequence}, coalesce(max(${column}), 0) + 1, false) FROM ${table.name}`,
      `${table.label}: ${name} goes on after the largest number`,
    ),
  ];
}

function retyped(
  table: TableMigration,
  has: ColumnShape,
  { name, type, collation }: ColumnShape,
): MigrationStep {
  const column = quoteIdentifier(name);
  const collate = collation === null ? "" : ` COLLATE ${quoteIdentifier(collation)}`;
  const using = has.type === type ? "" : ` USING ${columnConversionSql(column, has.type, type)}`;
  const isLossy = table.mayLose(name);
  return alter(
    table,
    `ALTER COLUMN ${column} TYPE ${type}${collate}${using}`,
    has.type === type ? `${name}: is compared by code points` : `${name}: becomes ${type}`,
    isLossy ? `${table.label}.${name}` : null,
  );
}

export function columnConversionSql(column: string, from: string, to: string): string {
  const isNumber = /^(?:smallint|integer|bigint|numeric|real|double precision)/;
  if (from === "boolean" && isNumber.test(to)) return `${column}::integer::${to}`;
  if (to === "boolean" && isNumber.test(from)) return `${column} <> 0`;
  // As on SQLite, a string is parsed as a JSON document, instead of becoming a JSON string.
  const isText = /^(?:text|character)/.test(from);
  if (/^json/.test(to) && !/^json/.test(from) && !isText) return `to_jsonb(${column})::${to}`;
  return `${column}::${to}`;
}
