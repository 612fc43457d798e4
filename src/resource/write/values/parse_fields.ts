import { EchoedValue, valueForHook } from "../../../plan/echoed_value.ts";
import type { Key, KeyColumns } from "../../../plan/key.ts";
import { databaseDefault } from "../../../plan/plan.ts";
import { didYouMean } from "../../../problem/nearest_name.ts";
import { Problem } from "../../../problem/problem.ts";
import { InvalidValue } from "../../../schema/kind.ts";
import { requireSafe } from "../../../schema/kinds/number_kinds.ts";
import { fromSafeKey } from "../../../schema/kinds/any_key.ts";
import { mayBeRounded } from "../../../schema/safe_numbers.ts";
import { isSpecialValue } from "../../../schema/special_values.ts";
import { isAny, kindOfColumn } from "../../../schema/structured/structured_value.ts";
import { type ColumnInfo, isRequired } from "../../../schema/table_info.ts";
import type { Resource } from "../../model/resource.ts";

export interface FieldError {
  readonly path: string;
  readonly message: string;
}

export class InvalidFields extends Problem {
  readonly errors: readonly FieldError[];

  constructor(errors: readonly FieldError[], details: Readonly<Record<string, unknown>> = {}) {
    const [first] = errors;
    // An error that concerns the whole body has an empty path.
    const fault = `${first?.path} ${first?.message}`.trim();
    super("validation-error", `Cannot use this body: ${fault}`, {
      details: { ...details, errors: errors.slice(0, maxErrors) },
    });
    this.errors = errors;
  }
}

export function invalidField(message: string, path: string = ""): InvalidFields {
  return new InvalidFields([{ path, message }]);
}

/** The maximum number of listed errors, because each field of a body could add an error. */
const maxErrors = 100;

/** Members that the service adds to rows. A body can contain them, and the service ignores them. */
const markers: ReadonlySet<string> = new Set(["_etag", "_optimisticId"]);

/** The names in a body that the caller of {@link parseColumns} parses itself. */
export interface SeparateMembers {
  has(name: string): boolean;
}

const noOthers: SeparateMembers = new Set<string>();

export type ParseFields = (
  body: unknown,
  resource: Resource,
  others?: SeparateMembers,
) => Map<ColumnInfo, unknown>;

/** Ignores columns that the client cannot write and, without `strictInput`, unknown fields. */
export const parseColumns: ParseFields = (body, resource, others = noOthers) =>
  parseAll(body, resource, others, { isNew: true });

/** Like {@link parseColumns}. A value that may be the stored value becomes an `EchoedValue`. */
export const parseRow: ParseFields = (body, resource, others = noOthers) =>
  parseAll(body, resource, others, { mayBeStored: true });

/** Like {@link parseColumns}. Ignores immutable fields, or rejects them with `strictInput`. */
export const parseChanges: ParseFields = (body, resource, others = noOthers) =>
  parseAll(body, resource, others, { immutable: resource.fields.immutable });

/** Like {@link parseChanges}. A value that may be the stored value becomes an `EchoedValue`. */
export const parseRowChanges: ParseFields = (body, resource, others = noOthers) =>
  parseAll(body, resource, others, { immutable: resource.fields.immutable, mayBeStored: true });

const noColumns: ReadonlySet<ColumnInfo> = new Set();

interface BodyUse {
  readonly isNew?: true;
  readonly immutable?: ReadonlySet<ColumnInfo>;
  readonly mayBeStored?: true;
}

function parseAll(
  body: unknown,
  resource: Resource,
  others: SeparateMembers,
  use: BodyUse,
): Map<ColumnInfo, unknown> {
  const values = new Map<ColumnInfo, unknown>();
  const errors: FieldError[] = [];
  const given = requireObject(body);
  for (const name of Object.keys(given)) {
    if (others.has(name)) continue;
    const column = columnOf(name, resource);
    if (column === undefined) {
      if (errors.length === maxErrors) continue;
      if (resource.nestedWrites && resource.relations.has(name)) {
        errors.push(fault(name, "is not taken here: write it with one row, by POST, PATCH or PUT"));
      } else if (resource.strictInput && !markers.has(name)) {
        const hint = errors.length < maxHints ? didYouMean(name, fieldsToName(resource, use)) : "";
        errors.push(fault(name, `is not a field${hint}`));
      }
    } else if (column.rowFunction && resource.fields.selectable.includes(column)) {
      if (errors.length < maxErrors) errors.push(fault(name, "is computed by a function"));
    } else if (use.immutable?.has(column) === true) {
      if (resource.strictInput && errors.length < maxErrors) errors.push(cannotChange(column));
    } else if (mayWrite(column, resource)) {
      const value: unknown = Reflect.get(given, name);
      const isOdd = use.mayBeStored === true && mayBeStored(value, column, resource);
      if (isOdd) values.set(column, givenValue(value, column, resource));
      else parseValue(value, column, resource, values, errors);
    } else if (use.isNew === true && isGivenKey(column, Reflect.get(given, name))) {
      if (errors.length < maxErrors) errors.push(fault(name, "is generated by the database"));
    }
  }
  throwFieldErrors(errors);
  return values;
}

/** Returns the column of this name, or undefined if the user can neither read nor write it. */
function columnOf(name: string, resource: Resource): ColumnInfo | undefined {
  const column = resource.table.byName.get(name);
  if (column === undefined || !resource.withheld.has(column)) return column;
  return mayWrite(column, resource) ? column : undefined;
}

/** True if a value can be another form of the stored value. In a key, only values like NaN can. */
function mayBeStored(value: unknown, column: ColumnInfo, { driver, fields }: Resource): boolean {
  const { dialect } = driver;
  return (!column.primaryKey || isSpecial(value, column)) && fields.readable.includes(column) &&
    dialect.hasOtherForms(value, column);
}

/** Returns true if the database would replace the key in the body with a generated key. */
function isGivenKey({ generated, primaryKey }: ColumnInfo, value: unknown): boolean {
  return generated && primaryKey && value !== null;
}

function isSpecial(value: unknown, { kind }: ColumnInfo): boolean {
  return typeof value === "string" && isSpecialValue(value, kind);
}

function givenValue(value: unknown, column: ColumnInfo, resource: Resource): EchoedValue {
  const values = new Map<ColumnInfo, unknown>();
  const errors: FieldError[] = [];
  parseValue(value, column, resource, values, errors);
  const [error = null] = errors;
  return new EchoedValue(value, values.get(column), error === null ? null : error.message);
}

/** The maximum number of suggestions. Each suggestion compares a name with all fields. */
const maxHints = 10;

/** Returns the names that a message can suggest. Like API descriptions, omits write-only fields. */
function fieldsToName(resource: Resource, { immutable = noColumns }: BodyUse): readonly string[] {
  const columns = resource.fields.readable.filter((column) =>
    mayWrite(column, resource) && !immutable.has(column)
  );
  return [
    ...columns.map(({ name }) => name),
    ...resource.nestedWrites ? resource.relations.keys() : [],
  ];
}

export function toHookObject(values: ReadonlyMap<ColumnInfo, unknown>): Record<string, unknown> {
  const entries = [...values].filter(([, value]) => value !== databaseDefault);
  return Object.fromEntries(entries.map(([column, value]) => [column.name, valueForHook(value)]));
}

/** Parses a before-hook's result, which can set read-only columns. Throws a 422 if invalid. */
export function parseHookValues(
  data: Readonly<Record<string, unknown>>,
  resource: Resource,
): Map<ColumnInfo, unknown> {
  const values = new Map<ColumnInfo, unknown>();
  const errors: FieldError[] = [];
  for (const [name, value] of Object.entries(data)) {
    const column = resource.table.byName.get(name);
    if (column === undefined || column.generated || value === undefined) continue;
    parseValue(value, column, resource, values, errors);
  }
  throwFieldErrors(errors);
  return values;
}

export function parseKeyFields(
  body: object,
  resource: Resource,
  by: KeyColumns = resource.table,
): Key {
  const values = new Map<ColumnInfo, unknown>();
  const errors: FieldError[] = [];
  for (const column of by.primaryKey) {
    const value = ownMember(body, column.name);
    if (value === null) {
      errors.push(fault(column.name, "must not be null"));
    } else if (isSpecial(value, column)) {
      values.set(column, value);
    } else if (Object.hasOwn(body, column.name)) {
      parseValue(value, column, resource, values, errors);
    } else {
      errors.push(fault(column.name, "is required"));
    }
  }
  throwFieldErrors(errors);
  return [...values.values()];
}

export function withoutImmutable(
  values: ReadonlyMap<ColumnInfo, unknown>,
  { fields: { immutable }, strictInput }: Resource,
): ReadonlyMap<ColumnInfo, unknown> {
  if (immutable.size === 0) return values;
  if (strictInput) {
    throwFieldErrors(
      [...values.keys()].filter((column) => immutable.has(column)).map(cannotChange),
    );
  }
  return new Map([...values].filter(([column]) => !immutable.has(column)));
}

function cannotChange({ name }: ColumnInfo): FieldError {
  return fault(name, "cannot be changed");
}

export function requireObject(body: unknown): object {
  if (typeof body === "object" && body !== null && !Array.isArray(body)) return body;
  throw new Problem("invalid-body", "Cannot use this body: it must be a JSON object");
}

/** Returns a member of a body. Inherited members do not count: a client can send `constructor`. */
export function ownMember(body: object, name: string): unknown {
  const own: { readonly value?: unknown } | undefined = Object.getOwnPropertyDescriptor(body, name);
  return own?.value;
}

export function mayWrite(
  column: ColumnInfo,
  resource: Pick<Resource, "fields" | "generated">,
): boolean {
  if (column.generated) return false;
  return column.primaryKey || resource.fields.writable.has(column) ||
    resource.generated.has(column);
}

function parseValue(
  value: unknown,
  column: ColumnInfo,
  resource: Resource,
  values: Map<ColumnInfo, unknown>,
  errors: FieldError[],
): void {
  if (value === null) {
    if (isRequired(column)) errors.push(fault(column.name, "must not be null"));
    else values.set(column, null);
    return;
  }
  try {
    const given = resource.safeNumbers ? fromSafe(value, column) : value;
    const read = kindOfColumn(column).fromJson(given, column);
    resource.driver.dialect.check(read, column);
    values.set(column, read);
  } catch (error) {
    if (!(error instanceof InvalidValue)) throw error;
    errors.push(fault(column.name, error.message));
  }
}

/** Returns a value from a body with `numbers=safe`. Throws for a number that may be rounded. */
function fromSafe(value: unknown, column: ColumnInfo): unknown {
  requireSafeDecimals(value, column);
  if (!isAny(column)) return value;
  if (mayBeRounded(value)) {
    throw new InvalidValue('must be { "$number": "…" } beyond 2^53: this number may be rounded');
  }
  return column.isWide && typeof value === "string" ? fromSafeKey(value) : value;
}

/** Throws for decimals that the sender may have rounded, also within lists and composites. */
function requireSafeDecimals(value: unknown, column: ColumnInfo): void {
  if (column.kind === "decimal") requireSafe(value);
  const shape = column.databaseType?.shape;
  if (shape?.kind === "list" && Array.isArray(value)) {
    for (const item of value) {
      requireSafeDecimals(item, Array.isArray(item) ? column : shape.element);
    }
  } else if (shape?.kind === "record" && typeof value === "object" && value !== null) {
    const members = new Map(Object.entries(value));
    for (const field of shape.fields) requireSafeDecimals(members.get(field.name), field);
  }
}

function fault(path: string, message: string): FieldError {
  return { path: path.slice(0, 100), message };
}

export function throwFieldErrors(errors: readonly FieldError[]): void {
  if (errors.length > 0) throw new InvalidFields(errors);
}
