import { quoteIdentifier } from "../../../sql/fragment.ts";
import { sqlNames } from "../../../sql/statements/normal_sql.ts";
import type { Difference } from "../compare/difference.ts";
import type { ColumnShape } from "../compare/table_shape.ts";
import type { MigrationStep } from "../migration_plan.ts";
import { columnList, postgresColumn, textLiteral } from "./column_sql.ts";
import { conversion } from "./postgres_conversion.ts";
import { alter, step, type TableMigration } from "./table_migration.ts";

/** The steps that change the columns of a table of Postgres: drops, then new ones, then changes. */
export function columnSteps(table: TableMigration): readonly MigrationStep[] {
  const missing = table.of("missing-column").map(({ declared }) => declared);
  const again = dependents(table);
  return [
    ...again.map(({ name }) =>
      alter(table, `DROP COLUMN ${quoteIdentifier(name)}`, `${name}: is computed again`)
    ),
    ...table.of("superfluous-column").flatMap((one) => takenAway(table, one)),
    ...missing.filter(({ generated }) => generated === null).map((one) => added(table, one)),
    ...table.pair.shape.columns.flatMap(({ name }) => changed(table, name)),
    // From columns that have their types by now.
    ...[...missing.filter(({ generated }) => generated !== null), ...again].map((one) =>
      added(table, one)
    ),
    ...table.of("key").map(({ declared }) =>
      alter(table, `ADD PRIMARY KEY (${columnList(declared)})`, `the key is ${declared}`)
    ),
  ];
}

/** Columns that are computed from one whose type changes, which Postgres refuses to change then. */
function dependents(table: TableMigration): readonly ColumnShape[] {
  const retyped = new Set(
    [...table.of("type"), ...table.of("collation")].map(({ column }) => column?.toLowerCase()),
  );
  const { current, shape } = table.pair;
  return shape.columns.filter(({ name, generated }) => {
    const has = current.columns.find((one) => one.name === name)?.generated ?? null;
    const isChanged = table.of("generated").some(({ column }) => column === name);
    return generated !== null && has !== null && !isChanged &&
      sqlNames(has).some((one) => retyped.has(one));
  });
}

type Superfluous = Extract<Difference, { kind: "superfluous-column" }>;

/** A column that may not be dropped stays, and must not refuse rows without a value of it. */
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
  return alter(table, `ADD COLUMN ${postgresColumn(declared)}`, `add ${declared.name}`);
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
  if (isComputed) steps.push(...generated(table, name));
  else if (type !== undefined) {
    // Nor can a column of texts count up.
    if (counting?.declared === false) {
      steps.push(set("DROP IDENTITY IF EXISTS", "counts up no more"));
    }
    // A default is not converted with the column.
    if (has.default !== null || counting?.declared === false) {
      steps.push(set("DROP DEFAULT", "before its type changes"));
    }
    steps.push(retyped(table, name));
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

/** The numbers continue after the largest one. */
function counted(table: TableMigration, name: string): readonly MigrationStep[] {
  const column = quoteIdentifier(name);
  const sequence = `pg_get_serial_sequence(${textLiteral(table.name)}, ${textLiteral(name)})`;
  return [
    alter(
      table,
      `ALTER COLUMN ${column} ADD GENERATED BY DEFAULT AS IDENTITY`,
      `${name}: counts up`,
    ),
    step(
      `SELECT setval(${sequence}, coalesce(max(${column}), 0) + 1, false) FROM ${table.name}`,
      `${table.label}: ${name} goes on after the largest number`,
    ),
  ];
}

function retyped(table: TableMigration, name: string): MigrationStep {
  const [wanted] = table.pair.shape.columns.filter((one) => one.name === name);
  const [has] = table.pair.current.columns.filter((one) => one.name === name);
  const { type = "", collation = null } = wanted ?? {};
  const column = quoteIdentifier(name);
  const collate = collation === null ? "" : ` COLLATE ${quoteIdentifier(collation)}`;
  const using = has?.type === type ? "" : ` USING ${conversion(column, has?.type ?? "", type)}`;
  const isLossy = table.mayLose(name);
  return alter(
    table,
    `ALTER COLUMN ${column} TYPE ${type}${collate}${using}`,
    has?.type === type ? `${name}: is compared by code points` : `${name}: becomes ${type}`,
    isLossy ? `${table.label}.${name}` : null,
  );
}

/** Postgres computes a column again only when it is made again; an ordinary one keeps its values. */
function generated(table: TableMigration, name: string): readonly MigrationStep[] {
  const [wanted] = table.pair.shape.columns.filter((one) => one.name === name);
  const column = quoteIdentifier(name);
  if (wanted === undefined) return [];
  if (wanted.generated === null) {
    return [alter(table, `ALTER COLUMN ${column} DROP EXPRESSION`, `${name}: is computed no more`)];
  }
  const [has] = table.pair.current.columns.filter((one) => one.name === name);
  const loses = has?.generated === null && table.hasRows ? `${table.label}.${name}` : null;
  return [
    alter(table, `DROP COLUMN ${column}`, `${name}: is made again`, loses),
    alter(table, `ADD COLUMN ${postgresColumn(wanted)}`, `${name}: is computed`),
  ];
}
