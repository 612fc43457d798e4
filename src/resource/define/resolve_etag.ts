import { deriveKey } from "../../runtime/derive_key.ts";
import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";
import type { ColumnResolver } from "./resolve_field_lists.ts";
import type { ResourceDefinition } from "./resource_definition.ts";
import type { EtagKeys, EtagPolicy } from "../http/etag.ts";

export function createEtagKeys(secrets: readonly string[]): EtagKeys {
  const [current, ...older] = secrets.map((secret) => deriveKey(secret, "etag"));
  if (current === undefined) throw new Error("Cannot make tags without a secret");
  return { current, older };
}

export function resolveEtag(
  etag: ResourceDefinition["options"]["etag"],
  table: TableInfo,
  { keys, readable, find }: {
    readonly keys: EtagKeys;
    readonly readable: readonly ColumnInfo[];
    readonly find: ColumnResolver;
  },
): EtagPolicy | null {
  if (etag === undefined) return null;
  const column = (option: "versionField" | "updatedAtField" | "idField") => {
    const reference = etag[option];
    return reference === undefined ? null : find(reference, `etag.${option}`);
  };
  const versionField = column("versionField");
  const updatedAtField = column("updatedAtField");
  requireKind(versionField, ["integer", "bigint"], "etag.versionField", table);
  requireKind(updatedAtField, ["timestamp"], "etag.updatedAtField", table);
  requireDeclared(updatedAtField, table);
  const [key] = table.primaryKey;
  // Only single rows have ETags. A resource without a key has no single rows.
  if (key === undefined) return null;
  // A view without row locks has no ETags: another write could change the row after the check.
  if (!table.readOnly && table.view?.locksRows === false) return null;
  return {
    versionField,
    updatedAtField,
    idField: column("idField") ?? key,
    algorithm: etag.algorithm ?? "weak",
    require: etag.require ?? false,
    primaryKey: table.primaryKey,
    readable: new Set(readable),
    caller: null,
    keys,
  };
}

function requireDeclared(updatedAtField: ColumnInfo | null, table: TableInfo): void {
  const declared = table.columns.filter(({ writeTimestamp }) => writeTimestamp === "updated");
  const agrees = updatedAtField === null || updatedAtField.writeTimestamp === "updated" ||
    updatedAtField.writeTimestamp === null && declared.length === 0;
  if (agrees) return;
  const wanted = declared[0] === undefined
    ? `not "${updatedAtField.name}", the time of creation`
    : `"${declared[0].name}", which updatedAt() declares, not "${updatedAtField.name}"`;
  throw new Error(`Cannot serve "${table.label}": etag.updatedAtField must be ${wanted}`);
}

function requireKind(
  column: ColumnInfo | null,
  kinds: readonly string[],
  option: string,
  table: TableInfo,
): void {
  if (column === null || kinds.includes(column.kind)) return;
  throw new Error(
    `Cannot serve "${table.label}": ${option} must be of kind ${kinds.join(" or ")}, ` +
      `and "${column.name}" is ${column.kind}`,
  );
}
