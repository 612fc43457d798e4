import type { TableInfo } from "../../schema/table_info.ts";
import type { ResourceDefinition } from "./resource_definition.ts";
import type { FieldPolicy } from "./resource.ts";

type Options = ResourceDefinition["options"];

/** Whether any user, or everyone, may subscribe to the rows of a resource. */
export function isSubscribable({ auth = {}, capabilities = {} }: Options): boolean {
  const { public: open, subscribe } = auth;
  const isOpen = open === true || (typeof open === "object" && open.subscribe === true);
  return capabilities.enableSubscribe !== false && (isOpen || subscribe !== undefined);
}

/** Throws a plain Error where the key of a removed row would show a hidden column. */
export function requireReadableKey(
  options: Options,
  { name, primaryKey }: TableInfo,
  { readable }: FieldPolicy,
): void {
  const hidden = primaryKey.find((column) => !readable.includes(column));
  if (hidden === undefined || !isSubscribable(options)) return;
  throw new Error(
    `Cannot serve "${name}": streams send the key of a removed row, but "${hidden.name}" is not ` +
      "in fields.readable: add it, or set capabilities.enableSubscribe to false",
  );
}
