import type { TableInfo } from "../../schema/table_info.ts";
import type { ResourceDefinition } from "./resource_definition.ts";
import type { FieldPolicy } from "../model/resource.ts";

/** Returns true if a caller may subscribe. A view has no streams: its changes are not recorded. */
export function isSubscribable(
  { auth = {}, capabilities = {} }: ResourceDefinition["options"],
  { recordable }: TableInfo,
): boolean {
  if (!recordable) return false;
  const { public: open, subscribe } = auth;
  const { subscribe: isOpen = false } = typeof open === "object" ? open : { subscribe: open };
  return capabilities.enableSubscribe !== false && (isOpen !== false || subscribe !== undefined);
}

/** Throws a plain Error for a hidden key column, because events of removed rows contain it. */
export function requireReadableKey(
  { name, primaryKey }: TableInfo,
  { readable }: FieldPolicy,
): void {
  const hidden = primaryKey.find((column) => !readable.includes(column));
  if (hidden === undefined) return;
  throw new Error(
    `Cannot serve "${name}": streams send the key of a removed row, but "${hidden.name}" is not ` +
      "in fields.readable: add it, or set capabilities.enableSubscribe to false",
  );
}
