import { didYouMean } from "../../../../problem/nearest_name.ts";
import type { Connection } from "../../../../db/driver.ts";
import type {
  DatabaseFunction,
  FunctionArgument,
  FunctionResult,
} from "../../../../db/functions/database_function.ts";
import type { IntrospectOptions, LeftOut } from "../../../../db/introspection.ts";
import type { ColumnInfo } from "../../../../schema/table_info.ts";
import { cell, type NamedRow, selectNamed } from "../../../../db/named_columns.ts";
import { type CatalogueTable, mayUse, schemaOf } from "./postgres_catalogue.ts";
import type { PostgresTypes } from "./postgres_types.ts";

interface Parameter {
  readonly name: string;
  /** `i` input, `o` output, `b` both, `v` VARIADIC, `t` column of a result table. */
  readonly mode: string;
  readonly type: string;
  readonly typeSchema: string;
  readonly typeName: string;
}

const functionFacts = {
  schema: cell.text("n.nspname"),
  name: cell.text("p.proname"),
  signature: cell.text("p.oid::regprocedure"),
  description: cell.textOrNull("obj_description(p.oid, 'pg_proc')"),
  volatility: cell.text("p.provolatile"),
  isSet: cell.flag("p.proretset"),
  isDefiner: cell.flag("p.prosecdef"),
  mayCall: cell.flag(mayUse("has_function_privilege", "p.oid", "EXECUTE")),
  defaults: cell.number("p.pronargdefaults"),
  parameters: cell.list<Parameter>(`(SELECT json_agg(json_build_object(
      'name', coalesce(p.proargnames[each.at], ''), 'mode', coalesce(p.proargmodes[each.at], 'i'),
      'type', each.type::text, 'typeSchema', m.nspname, 'typeName', t.typname) ORDER BY each.at)
    FROM unnest(coalesce(p.proallargtypes, p.proargtypes::oid[])) WITH ORDINALITY AS each(type, at)
    JOIN pg_type t ON t.oid = each.type JOIN pg_namespace m ON m.oid = t.typnamespace)`),
  type: cell.text("p.prorettype"),
  typeName: cell.text("y.typname"),
  isComposite: cell.flag("y.typtype = 'c'"),
  isPseudo: cell.flag("y.typtype = 'p'"),
  rowOf: cell.textOrNull("w.oid"),
  hasColumn: cell.flag(`EXISTS (SELECT FROM pg_attribute a
    WHERE a.attrelid = w.oid AND a.attname = p.proname AND NOT a.attisdropped)`),
  /** True if each role that reads the table may call the function, and may read all columns. */
  mayCallOnRows: cell.flag(`NOT EXISTS (SELECT FROM pg_roles r
    WHERE (r.rolname IN (SELECT json_array_elements_text($2::json))
        OR r.rolname = current_user AND json_array_length($2::json) = 0)
      AND has_any_column_privilege(r.oid, w.oid, 'SELECT')
      AND NOT (has_function_privilege(r.oid, p.oid, 'EXECUTE')
        AND has_schema_privilege(r.oid, n.oid, 'USAGE')
        AND NOT EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = w.oid AND a.attnum > 0
          AND NOT a.attisdropped AND NOT has_column_privilege(r.oid, w.oid, a.attnum, 'SELECT'))))`),
  tableSchema: cell.textOrNull(schemaOf("k.oid", "b.nspname")),
  table: cell.textOrNull("k.relname"),
};

type CatalogueFunction = NamedRow<typeof functionFacts>;

/** Functions of triggers and of the server itself, which no statement can call. */
const uncallable = `'trigger', 'event_trigger', 'internal', 'language_handler', 'fdw_handler',
  'index_am_handler', 'table_am_handler', 'tsm_handler', 'cstring'`;

export async function readFunctions(
  connection: Connection,
  schemas: string,
  { roles = [], functions: wanted = [] }: IntrospectOptions,
): Promise<readonly CatalogueFunction[]> {
  const catalogue = await selectNamed(
    connection,
    functionFacts,
    `FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
     JOIN pg_type y ON y.oid = p.prorettype
     LEFT JOIN pg_class k ON k.oid = y.typrelid AND k.relkind IN ('r', 'p', 'v', 'm', 'f')
     LEFT JOIN pg_namespace b ON b.oid = k.relnamespace
     LEFT JOIN pg_class w ON p.pronargs = 1 AND w.reltype = p.proargtypes[0]
       AND w.relkind IN ('r', 'p', 'v', 'm', 'f')
     WHERE n.nspname IN (SELECT json_array_elements_text($1::json)) AND p.prokind = 'f'
       AND y.typname NOT IN (${uncallable}) AND p.proname !~ '^_service_'
       AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
         AND d.objid = p.oid AND d.deptype = 'e')
     ORDER BY array_position(ARRAY(SELECT json_array_elements_text($1::json)), n.nspname::text),
       p.proname, p.oid`,
    schemas,
    JSON.stringify(roles),
  );
  const known = new Set(catalogue.map(({ name }) => name));
  const missing = wanted.find((name) => name !== "*" && !known.has(name));
  if (missing === undefined) return catalogue;
  const hint = didYouMean(missing, [...known]);
  throw new Error(`Cannot find the function "${missing}": there is none of this name${hint}`);
}

/**
 * A function of one row of a described table becomes a column, in `columns` by the table's OID. If
 * the function has no overloads and its argument has a name, it can also become a procedure.
 */
export function describeFunctions(
  catalogue: readonly CatalogueFunction[],
  wanted: readonly string[],
  tables: readonly CatalogueTable[],
  types: PostgresTypes,
) {
  const columns = new Map<string, ColumnInfo[]>();
  const functions: DatabaseFunction[] = [];
  const leftOut: LeftOut[] = [];
  const requested = catalogue.filter(({ name }) => wanted.includes("*") || wanted.includes(name));
  for (const [name, group] of Map.groupBy(requested, ({ name }) => name)) {
    const isAlone = group.length === 1;
    const omit = (signature: string, reason: string) => {
      leftOut.push({ table: signature, reason });
      return null;
    };
    const described = group.map((given): Described => {
      const { signature, parameters } = given;
      const table = tables.find(({ id }) => id === given.rowOf);
      if (table !== undefined) {
        const column = columnOf(given, table, types);
        const known = columns.get(table.id) ?? [];
        // Functions of several schemas can have the same name. Only the first becomes a column.
        const isNew = typeof column === "object" && known.every((one) => one.name !== name);
        if (isNew) columns.set(table.id, [...known, column]);
        if (!isAlone || parameters[0]?.name === "") {
          return { given, called: typeof column === "string" ? omit(signature, column) : null };
        }
      }
      const called = describeFunction(given, types);
      const shown = isAlone ? `${name}()` : signature;
      return { given, called: typeof called === "string" ? omit(shown, called) : called };
    });
    const kept = separable(described);
    for (const one of described) {
      if (one.called !== null && !kept.includes(one)) omit(one.given.signature, inseparable);
    }
    const [first, ...overloads] = kept.flatMap(({ called }) => called ?? []);
    if (first !== undefined) functions.push({ ...first, overloads });
  }
  return { columns, functions, leftOut };
}

const inseparable = "several functions have this name, and the names of their arguments do not " +
  "tell them apart";

interface Described {
  readonly given: CatalogueFunction;
  readonly called: DatabaseFunction | null;
}

/** Returns the functions that can be procedures, because no call of them fits another function. */
function separable(described: readonly Described[]): readonly Described[] {
  const byNames = Map.groupBy(described, ({ called }) => called && namesOf(called));
  let kept = described.filter(({ called }) =>
    called !== null && byNames.get(namesOf(called))?.length === 1
  );
  for (let before = -1; before !== kept.length;) {
    before = kept.length;
    const omitted = described.filter((one) => !kept.includes(one));
    kept = kept.filter((one) => !omitted.some((other) => isAmbiguous(one, other)));
  }
  return kept;
}

function isAmbiguous(one: Described, other: Described): boolean {
  const covers = (left: Described, right: Described) => {
    const passed = inputsOf(right.given).map(({ name, type }) => `${type} ${name}`);
    return inputsOf(left.given).every(({ name, type, isOptional }) =>
      isOptional || passed.includes(`${type} ${name}`)
    );
  };
  return one.given.schema === other.given.schema && covers(one, other) && covers(other, one);
}

function namesOf({ bodyType, args }: DatabaseFunction): string {
  return bodyType ?? JSON.stringify(args.map(({ column }) => column.name).sort());
}

function inputsOf({ parameters, defaults }: CatalogueFunction) {
  const inputs = parameters.filter(({ mode }) => ["i", "b", "v"].includes(mode));
  return inputs.map((one, index) => ({ ...one, isOptional: index >= inputs.length - defaults }));
}

function columnOf(
  given: CatalogueFunction,
  { label }: CatalogueTable,
  types: PostgresTypes,
): ColumnInfo | string {
  const { schema, name, isDefiner, description, volatility } = given;
  if (given.isSet || given.isComposite) return "it returns rows, and a column has one value";
  const column = given.isPseudo ? null : types.column(name, given.type);
  if (column === null) return `its result has the type ${given.typeName}`;
  if (given.hasColumn) return `${label} has a column of this name`;
  if (volatility === "v") {
    return `it is VOLATILE: ALTER FUNCTION ${given.signature} STABLE makes it a column of ${label}`;
  }
  if (!given.mayCallOnRows) {
    return `a role that reads ${label} may not call it, or may not read all columns`;
  }
  return {
    ...column,
    rowFunction: { schema, name, isDefiner },
    generated: true,
    // The result of a STABLE function can depend on the time, and on other rows.
    varies: volatility === "s",
    description,
  };
}

function describeFunction(
  given: CatalogueFunction,
  types: PostgresTypes,
): DatabaseFunction | string {
  const { name, schema, mayCall } = given;
  if (!mayCall) return "this user may not call it";
  if (!/^(?!\.+$)[\w.-]{1,100}$/.test(name)) return "its name is not possible in a path";
  const inputs = inputsOf(given);
  const args: FunctionArgument[] = [];
  const [first, second] = inputs;
  const isBody = first?.name === "" && second === undefined;
  const bodyType = isBody ? bodyTypes.get(first.type) ?? null : null;
  for (const one of inputs) {
    if (one.name === "" && bodyType === null) return "its arguments have no names";
    const column = types.column(one.name, one.type);
    if (column === null || pseudo.test(one.typeName)) {
      return `its argument "${one.name}" has the type ${one.typeName}`;
    }
    args.push({
      column,
      type: { schema: one.typeSchema, name: one.typeName },
      isOptional: one.isOptional,
      isVariadic: one.mode === "v",
    });
  }
  const result = resultOf(given, types);
  if (result === null) return `its result has the type ${given.typeName}`;
  const { description, volatility, isDefiner } = given;
  const isQuery = volatility !== "v";
  return { schema, name, description, isQuery, isDefiner, args, bodyType, result, overloads: [] };
}

const bodyTypes: ReadonlyMap<string, string> = new Map([
  ...[["25", "text/plain"], ["17", "application/octet-stream"]] as const,
  ...[["114", "application/json"], ["3802", "application/json"]] as const,
]);

/** The pseudo-types. A client cannot send a value of such a type. */
const pseudo = /^any|^(?:record|cstring|internal)$|^_record$/;

function resultOf(given: CatalogueFunction, types: PostgresTypes): FunctionResult | null {
  const { name, isSet, type, typeName, isComposite, isPseudo, table, tableSchema } = given;
  const isVoid = typeName === "void";
  const outputs = given.parameters.filter(({ mode }) => ["o", "b", "t"].includes(mode));
  const isRecord = typeName === "record" && outputs.length > 1;
  if (isPseudo && !isVoid && !isRecord) return null;
  const members = isRecord
    ? outputs.map((one, index) => ({ ...one, name: one.name || `column${index + 1}` }))
    : isComposite
    ? types.membersOf(type)
    : [{ name: outputs[0]?.name || name, type }];
  const columns = members.map((member) => types.column(member.name, member.type));
  const known = columns.filter((column) => column !== null);
  if (known.length < columns.length) return null;
  const one = isRecord || isComposite ? "row" : "value";
  return {
    kind: isVoid ? "void" : isSet ? "rows" : one,
    columns: known,
    table: table === null ? null : { schema: tableSchema, name: table },
  };
}
