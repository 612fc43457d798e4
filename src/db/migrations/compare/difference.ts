import {
  type CheckShape,
  type ColumnShape,
  type ForeignKeyShape,
  type IndexShape,
  isSameList,
  isSameSet,
  type TableName,
  type TableShape,
  type UniqueShape,
} from "./table_shape.ts";
import { isSameName } from "../../../sql/fragment.ts";
import { namesInSql, normalizeSql, type SqlSyntax } from "../../../sql/statements/normal_sql.ts";

export type Difference =
  & {
    /** The name of the declared table, as in the URLs of the API. */
    readonly table: string;
    /** The database name of the column, or null for a difference of the table. */
    readonly column: string | null;
  }
  & DifferenceKind;

export type DifferenceKind =
  | { readonly kind: "missing-table"; readonly declared: TableShape }
  | { readonly kind: "renamed-table"; readonly existing: string }
  | { readonly kind: "missing-column"; readonly declared: ColumnShape }
  | { readonly kind: "renamed-column"; readonly existing: string }
  | { readonly kind: "superfluous-column"; readonly existing: ColumnShape }
  | Changed<"type", string>
  | Changed<"not-null" | "counting", boolean>
  | Changed<"collation" | "default" | "generated", string | null>
  | Changed<"members", readonly string[] | null>
  | Changed<"key", readonly string[]>
  | { readonly kind: "missing-unique"; readonly declared: UniqueShape }
  | { readonly kind: "superfluous-unique"; readonly existing: UniqueShape }
  | { readonly kind: "missing-check"; readonly declared: CheckShape }
  | { readonly kind: "superfluous-check"; readonly existing: CheckShape }
  | { readonly kind: "missing-foreign-key"; readonly declared: ForeignKeyShape }
  | { readonly kind: "superfluous-foreign-key"; readonly existing: ForeignKeyShape }
  | Changed<"actions", ForeignKeyShape>
  | { readonly kind: "missing-index"; readonly declared: IndexShape }
  | { readonly kind: "superfluous-index"; readonly existing: IndexShape };

/** Creates one type for each kind of difference, so that checking `kind` narrows the values. */
type Changed<Kind extends string, Value> = Kind extends string
  ? { readonly kind: Kind; readonly declared: Value; readonly existing: Value }
  : never;

export function describeDifference(difference: Difference): string {
  const { table, column, kind } = difference;
  const place = column === null ? table : `${table}.${column}`;
  // The cast is safe: the function under a kind takes the differences of this kind.
  return (descriptions[kind] as (given: Difference, place: string) => string)(difference, place);
}

const descriptions: {
  readonly [Kind in Difference["kind"]]: (
    given: Extract<Difference, { readonly kind: Kind }>,
    place: string,
  ) => string;
} = {
  "missing-table": ({ table }) => `${table} is missing`,
  "renamed-table": ({ table, existing }) => `${table} is still called ${existing}`,
  "missing-column": (_, place) => `${place} is missing`,
  "renamed-column": ({ existing }, place) => `${place} is still called ${existing}`,
  "superfluous-column": ({ existing }, place) =>
    `${place} is not declared${mustFill(existing) ? ", and needs a value" : ""}`,
  collation: ({ declared, existing }, place) =>
    `${place} has ${collationOf(existing)}, and is declared with ${collationOf(declared)}`,
  type: ({ declared, existing }, place) => `${place} is ${existing}, and declared as ${declared}`,
  "not-null": ({ declared }, place) =>
    declared
      ? `${place} may be NULL, and is declared NOT NULL`
      : `${place} is NOT NULL, and declared as nullable`,
  counting: ({ declared }, place) =>
    declared
      ? `${place} has no values by itself, and is declared as counting up`
      : `${place} counts up, and is declared without that`,
  default: ({ declared, existing }, place) =>
    `${place} has ${
      existing === null ? "no default" : `the default ${existing}`
    }, and is declared ` +
    `with ${declared ?? "none"}`,
  generated: ({ declared, existing }, place) =>
    `${place} is ${generatedAs(existing)}, and declared as ${generatedAs(declared)}`,
  members: ({ declared, existing }, place) =>
    `${place} allows ${textsOf(existing)}, and is declared with ${textsOf(declared)}`,
  key: ({ table, declared, existing }) =>
    `${table} has the key ${listOf(existing)}, and is declared with ${listOf(declared)}`,
  "missing-unique": ({ table, declared }) =>
    `${table} is missing UNIQUE ${listOf(declared.columns)}`,
  "superfluous-unique": ({ table, existing }) =>
    `${table} has UNIQUE ${listOf(existing.columns)}, which is not declared`,
  "missing-check": ({ table, declared }) => `${table} is missing CHECK (${declared.sql})`,
  "superfluous-check": ({ table, existing }) =>
    `${table} has CHECK (${existing.sql}), which is not declared`,
  "missing-foreign-key": ({ table, declared }) => `${table} is missing ${foreignKey(declared)}`,
  "superfluous-foreign-key": ({ table, existing }) =>
    `${table} has ${foreignKey(existing)}, which is not declared`,
  actions: ({ table, declared, existing }) => {
    const actions = foreignKeyActionsSql(declared) || "no action";
    return `${table} has ${foreignKey(existing)}, and is declared with ${actions}`;
  },
  "missing-index": ({ table, declared }) => `${table} is missing the index ${declared.name}`,
  "superfluous-index": ({ table, existing }) =>
    `${table} has the index ${existing.name}, which is not declared`,
};

/** Returns true if an INSERT must contain a value for the column, because it has no default. */
export function mustFill({ notNull, default: given, generated, countsUp }: ColumnShape): boolean {
  return notNull && given === null && generated === null && !countsUp;
}

function collationOf(name: string | null): string {
  return name === null ? "the collation of the database" : `the collation ${name}`;
}

function generatedAs(sql: string | null): string {
  return sql === null ? "an ordinary column" : `generated as ${sql}`;
}

function textsOf(members: readonly string[] | null): string {
  return members === null ? "every text" : members.map((text) => JSON.stringify(text)).join(", ");
}

function listOf(columns: readonly string[]): string {
  return `(${columns.join(", ")})`;
}

function foreignKey(key: ForeignKeyShape): string {
  const target = `${key.table} ${listOf(key.references)} ${foreignKeyActionsSql(key)}`;
  return `FOREIGN KEY ${listOf(key.columns)} REFERENCES ${target.trimEnd()}`;
}

export function foreignKeyActionsSql({ onDelete, onUpdate }: ForeignKeyShape): string {
  const clauses = [["DELETE", onDelete], ["UPDATE", onUpdate]] as const;
  return clauses.flatMap(([event, action]) =>
    action === null ? [] : [`ON ${event} ${action.toUpperCase()}`]
  ).join(" ");
}

/** A difference in a constraint. `column` is null if the constraint has several columns. */
type Found = readonly [column: string | null, difference: DifferenceKind];

export function compareConstraints(
  declared: TableShape,
  existing: TableShape,
  own: {
    readonly columns: readonly string[];
    readonly tables: readonly TableName[];
  },
  syntax: SqlSyntax,
): readonly Found[] {
  const isOwn = (columns: readonly string[]) =>
    columns.every((name) => own.columns.some((one) => isSameName(one, name)));
  const pair = { declared, existing, isOwn, syntax };
  return [
    ...compareUniques(pair),
    ...compareChecks(pair),
    ...compareForeignKeys(declared, existing, (key) =>
      isOwn(key.columns) &&
      own.tables.some(({ schema, name }) => schema === key.schema && isSameName(name, key.table))),
    ...compareIndexes(pair),
  ];
}

interface ShapePair {
  readonly declared: TableShape;
  readonly existing: TableShape;
  readonly isOwn: (columns: readonly string[]) => boolean;
  readonly syntax: SqlSyntax;
}

function only(columns: readonly string[]): string | null {
  return columns.length === 1 ? columns[0] ?? null : null;
}

function compareUniques({ declared, existing, isOwn }: ShapePair): Found[] {
  const missing = declared.uniques.filter(({ columns }) =>
    ![...existing.uniques.map((one) => one.columns), existing.key].some((one) =>
      isSameSet(one, columns)
    )
  );
  const superfluous = existing.uniques.filter(({ columns }) =>
    isOwn(columns) &&
    ![...declared.uniques.map((one) => one.columns), declared.key, existing.key].some((one) =>
      isSameSet(one, columns)
    )
  );
  return [
    ...missing.map((one): Found => [only(one.columns), { kind: "missing-unique", declared: one }]),
    ...superfluous.map((one): Found => [
      only(one.columns),
      { kind: "superfluous-unique", existing: one },
    ]),
  ];
}

function compareChecks({ declared, existing, isOwn, syntax }: ShapePair): Found[] {
  const names = new Set(existing.columns.map(({ name }) => name.toLowerCase()));
  const columnsOf = ({ sql }: CheckShape) =>
    [...new Set(namesInSql(sql))].filter((name) => names.has(name));
  const formOf = ({ sql }: CheckShape) => normalizeSql(sql, syntax);
  const wanted = new Set(declared.checks.map(formOf));
  const has = new Set(existing.checks.map(formOf));
  return [
    ...declared.checks.filter((one) => !has.has(formOf(one))).map((one): Found => [
      only(columnsOf(one)),
      { kind: "missing-check", declared: one },
    ]),
    ...existing.checks.filter((one) => !wanted.has(formOf(one)) && isOwn(columnsOf(one)))
      .map((one): Found => [only(columnsOf(one)), { kind: "superfluous-check", existing: one }]),
  ];
}

function compareForeignKeys(
  declared: TableShape,
  existing: TableShape,
  isOwn: (key: ForeignKeyShape) => boolean,
): Found[] {
  const found: Found[] = [];
  for (const wanted of declared.foreignKeys) {
    const has = existing.foreignKeys.find((one) => isSameKey(one, wanted));
    const column = only(wanted.columns);
    if (has === undefined) found.push([column, { kind: "missing-foreign-key", declared: wanted }]);
    else if (has.onDelete !== wanted.onDelete || has.onUpdate !== wanted.onUpdate) {
      found.push([column, { kind: "actions", declared: wanted, existing: has }]);
    }
  }
  for (const has of existing.foreignKeys) {
    if (!isOwn(has) || declared.foreignKeys.some((one) => isSameKey(one, has))) continue;
    found.push([only(has.columns), { kind: "superfluous-foreign-key", existing: has }]);
  }
  return found;
}

function isSameKey(left: ForeignKeyShape, right: ForeignKeyShape): boolean {
  const pairsOf = ({ columns, references }: ForeignKeyShape) =>
    columns.map((name, index) => JSON.stringify([name, references[index]]));
  return isSameName(left.table, right.table) && left.schema === right.schema &&
    isSameSet(pairsOf(left), pairsOf(right));
}

function compareIndexes({ declared, existing, isOwn, syntax }: ShapePair): Found[] {
  const isSame = (left: IndexShape, right: IndexShape) => isSameIndex(left, right, syntax);
  return [
    ...declared.indexes.filter((one) => !existing.indexes.some((has) => isSame(one, has)))
      .map((one): Found => [only(one.parts), { kind: "missing-index", declared: one }]),
    ...existing.indexes.filter((one) =>
      one.isPlain && isOwn(one.parts) && !declared.indexes.some((wanted) => isSame(one, wanted))
    ).map((one): Found => [only(one.parts), { kind: "superfluous-index", existing: one }]),
  ];
}

export function isSameIndex(left: IndexShape, right: IndexShape, syntax: SqlSyntax): boolean {
  const conditionOf = ({ where }: IndexShape) =>
    where === null ? null : normalizeSql(where, syntax);
  return isSameList(left.parts, right.parts) && left.unique === right.unique &&
    left.isValid === right.isValid && conditionOf(left) === conditionOf(right);
}
