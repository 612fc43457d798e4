import type { Key } from "../../../../plan/key.ts";
import type { Resource } from "../../../model/resource.ts";
import { invalidField, InvalidFields, parseKeyFields } from "../../values/parse_fields.ts";

/** An id is the key's value, a list of values, or an object with exactly the key's members. */
export function parseRowId(value: unknown, resource: Resource): Key {
  const { primaryKey } = resource.table;
  const [only, another] = primaryKey;
  if (only === undefined) throw invalidField("has no key to be named by");
  if (isKeyObject(value, resource)) return parseKeyFields(value, resource);
  if (another === undefined) {
    if (isPlainObject(value) && only.kind !== "json") throw notExactly(resource);
    return parseValues([value], resource);
  }
  if (!Array.isArray(value) || value.length !== primaryKey.length) throw notExactly(resource);
  return parseValues(value, resource);
}

export function isKeyObject(value: unknown, { table: { primaryKey } }: Resource): value is object {
  return isPlainObject(value) && Object.keys(value).length === primaryKey.length &&
    primaryKey.every(({ name }) => Object.hasOwn(value, name));
}

export function isPlainObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parseValues(values: readonly unknown[], resource: Resource): Key {
  const { primaryKey } = resource.table;
  const named = primaryKey.map(({ name }, index) => [name, values[index]] as const);
  try {
    return parseKeyFields(Object.fromEntries(named), resource);
  } catch (error) {
    if (!(error instanceof InvalidFields)) throw error;
    // An id in a body can be a list of values, so an error names the index instead of a column.
    throw new InvalidFields(error.errors.map(({ path, message }) => ({
      path: values.length === 1 ? "" : `${primaryKey.findIndex(({ name }) => name === path)}`,
      message,
    })));
  }
}

function notExactly({ table: { primaryKey } }: Resource): InvalidFields {
  const names = primaryKey.map(({ name }) => name).join(", ");
  return invalidField(
    primaryKey.length === 1
      ? `must be the ${names} of a row`
      : `must be the key of a row: a list of its values, or an object of ${names}`,
  );
}
