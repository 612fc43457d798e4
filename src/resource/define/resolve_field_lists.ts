import type { User } from "../../auth/authorize.ts";
import { showValue } from "../../problem/show_value.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type {
  ColumnReferenceOf,
  FieldFunction,
  FieldList,
  FieldOptions,
} from "../model/resource_options.ts";
import type { SoftDelete } from "../model/soft_delete.ts";
import type {
  CallerFieldLists,
  FieldListName,
  FieldListsOfUser,
  FieldPolicy,
} from "../model/resource.ts";
import { columnInfoOf, tableInfoOf } from "../../schema/table_like.ts";

export interface ResolvedFields {
  /** All fields that at least one caller can have. API descriptions contain these fields. */
  readonly widest: FieldPolicy;
  readonly of: FieldListsOfUser | null;
  readonly varying: ReadonlySet<FieldListName>;
}

type Row = Record<string, unknown>;
type List = FieldList<Row> | undefined;
type Columns = ReadonlySet<ColumnInfo>;
type Lists = Readonly<Record<FieldListName, Columns>>;

export function resolveFieldLists(
  options: FieldOptions<Row> = {},
  { table, softDelete, find }: {
    readonly table: TableInfo;
    readonly softDelete: SoftDelete | null;
    readonly find: ColumnResolver;
  },
): ResolvedFields {
  const columns = [...table.byName.values()];
  const pick = (list: readonly ColumnReferenceOf<Row>[], option: FieldListName): Columns =>
    new Set(list.map((reference) => find(reference, `fields.${option}`)));
  const widest = (option: FieldListName, defaultValue: Iterable<ColumnInfo>): Columns => {
    const list = options[option];
    if (list === undefined) return new Set(defaultValue);
    return fixedListOrNull(list, (names) => pick(names, option)) ?? new Set(columns);
  };
  // A value that only Drizzle can convert is served only if the option names its column.
  const plain = columns.filter(({ converted }) => converted !== true);
  const readable = widest("readable", plain);
  const lists = {
    readable,
    // The soft-deletion column is left out, because its writers could delete rows without the right
    // to delete. Timestamps that the service sets are left out, too.
    writable: widest(
      "writable",
      plain.filter((column) =>
        column !== softDelete?.field && column.writeTimestamp === null && !column.rowFunction
      ),
    ),
    immutable: widest("immutable", []),
    filterable: widest("filterable", readable),
    sortable: widest("sortable", readable),
  };
  const policy = policyOf(table);
  const position = new Map(columns.map((column, index) => [column, index]));
  const varying = new Set(listNames.filter((option) => functionOf(options[option]) !== null));
  const last = new Map<FieldListName, CallerList>();
  const callerList = (option: FieldListName, user: User | null): CallerList => {
    const given = functionOf(options[option])?.(user);
    if (given === undefined || !isList(given)) {
      const place = `Cannot serve "${table.label}": fields.${option}`;
      throw new Error(`${place} must give a list of columns, not ${showValue(given)}`);
    }
    // Most users have the same fields as the previous user, and resolving a list takes 3 µs.
    const known = last.get(option);
    const isKnown = known?.given.length === given.length &&
      given.every((one, index) => one === known.given[index]);
    if (isKnown) return known;
    const found = given.map((reference) => find(reference, `fields.${option}`));
    const id = found.map((column) => position.get(column)).join();
    const list = { given: [...given], columns: found, id };
    last.set(option, list);
    return list;
  };
  const ofCaller = (user: User | null): CallerFieldLists => {
    const given = [...varying].map((option) => [option, callerList(option, user)] as const);
    return {
      id: given.map(([, { id }]) => id).join(" "),
      narrow: () => policy(narrowed(lists, new Map(given))),
    };
  };
  return {
    // If the immutable fields depend on the caller, descriptions name no field as immutable.
    widest: policy(varying.has("immutable") ? { ...lists, immutable: new Set() } : lists),
    of: varying.size > 0 ? ofCaller : null,
    varying,
  };
}

interface CallerList {
  /** The list as the option's function has returned it. */
  readonly given: readonly ColumnReferenceOf<Row>[];
  readonly columns: readonly ColumnInfo[];
  readonly id: string;
}

function narrowed(lists: Lists, given: ReadonlyMap<FieldListName, CallerList>): Lists {
  const within = (option: FieldListName) => {
    const list = given.get(option)?.columns;
    return list === undefined ? lists[option] : new Set(list).intersection(lists[option]);
  };
  const readable = within("readable");
  const withheld = lists.readable.difference(readable);
  return {
    readable,
    writable: within("writable"),
    immutable: within("immutable"),
    // Filters and orders reveal values, so a caller cannot filter or order by withheld columns.
    filterable: within("filterable").difference(withheld),
    sortable: within("sortable").difference(withheld),
  };
}

const listNames = ["readable", "writable", "immutable", "filterable", "sortable"] as const;

export function dependsOnCaller(options: FieldOptions<Row> = {}): boolean {
  return Object.values(options).some((list) => functionOf(list) !== null);
}

export function fixedListOrNull<Picked>(
  list: NonNullable<List>,
  pick: (list: readonly ColumnReferenceOf<Row>[]) => Picked,
): Picked | null {
  if (isList(list)) return pick(list);
  return typeof list === "function" ? null : pick(list.all);
}

function functionOf(list: List): FieldFunction<Row> | null {
  if (typeof list === "function") return list;
  return list === undefined || isList(list) ? null : list.by;
}

/** A type guard, because `Array.isArray` does not narrow to read-only lists. */
export function isList<T>(given: readonly T[] | object): given is readonly T[] {
  return Array.isArray(given);
}

function policyOf(
  { columns, byName }: TableInfo,
): (lists: Lists) => FieldPolicy {
  return ({ readable, immutable, ...others }) => ({
    ...others,
    readable: columns.filter((column) => readable.has(column)),
    selectable: [...byName.values()].filter((column) => readable.has(column)),
    // Key columns are left out, because the body of an update can contain the key of its row.
    immutable: new Set([...immutable].filter((column) => !column.primaryKey)),
  });
}

export type ColumnResolver = (
  reference: ColumnReferenceOf<Record<string, unknown>>,
  option: string,
) => ColumnInfo;

export function createColumnResolver(table: TableInfo): ColumnResolver {
  return (reference, option) => {
    const subject = `Cannot serve "${table.label}": ${option} names`;
    const isName = typeof reference === "string";
    const name = isName ? reference : columnInfoOf(reference).name;
    const column = table.byName.get(name);
    // Without this check, another table's column could be mistaken for a column of this table.
    if (!isName && columnInfoOf(reference) !== column) {
      throw new Error(`${subject} "${name}" of another table, "${tableInfoOf(reference).name}"`);
    }
    if (column === undefined) throw new Error(`${subject} no column "${name}" of it`);
    return column;
  };
}
