import { isWhole } from "./kinds/kind_properties.ts";
import { showValue } from "../problem/show_value.ts";
import type { ColumnDeclaration } from "./column_builder.ts";
import {
  columnInfoOf,
  type ColumnLike,
  type DeclaredConstraints,
  tableInfoOf,
} from "./table_like.ts";
import { InvalidValue } from "./kind.ts";
import { kinds } from "./kind_of.ts";
import type { ColumnReference, ForeignKeyActions } from "./table_constraints.ts";
import {
  type ColumnDefault,
  type ColumnInfo,
  createTableInfo,
  type ForeignKey,
} from "./table_info.ts";

export function describeTable(
  name: string,
  columns: Readonly<Record<string, unknown>>,
  parts: () => DeclaredConstraints,
) {
  const declarations = Object.entries(columns).map(([property, builder]) =>
    [property, declarationOf(`${name}.${property}`, builder)] as const
  );
  const keys = declarations.filter(([, declaration]) => declaration.primaryKey);
  if (name === "") throw new Error("Cannot declare a table without a name");
  if (keys.length === 0) throw new Error(`Cannot declare "${name}": it has no primary key`);
  const infos = declarations.map(([property, declaration]) =>
    describeColumn(name, property, withGeneratedKey(declaration, keys.length))
  );
  requireNames(name, infos);
  const foreign = infos.flatMap((column, index) => {
    const declared = declarations[index]?.[1] ?? null;
    return declared === null || declared.references === null
      ? []
      : [{ column, actions: declared.actions }];
  });
  const info = createTableInfo({
    name,
    schema: null,
    columns: infos,
    get foreignKeys() {
      return [
        ...foreign.flatMap(({ column, actions }) => toForeignKey(column, actions)),
        ...parts().foreignKeys.map((resolve) => resolve()),
      ];
    },
    get indexes() {
      return parts().indexes;
    },
    get uniques() {
      return parts().uniques;
    },
    get checks() {
      return parts().checks;
    },
    get formerName() {
      return parts().formerName;
    },
    own: true,
  });
  return { info, referencing: foreign.map(({ column }) => column.dbName) };
}

/** Returns the declaration of a column. Throws an Error for `a: text`, in which `()` is missing. */
function declarationOf(column: string, builder: unknown): ColumnDeclaration {
  if (typeof builder === "function") {
    const { name } = builder;
    throw new Error(`Cannot declare ${column}: ${name} was not called: write ${name}()`);
  }
  if (typeof builder !== "object" || builder === null || !("declaration" in builder)) {
    throw new Error(
      `Cannot declare ${column}: it is ${showValue(builder)}, not a column like text()`,
    );
  }
  // Does not use `instanceof`, because another copy of this package may have created the builder.
  return builder.declaration as ColumnDeclaration;
}

function withGeneratedKey(column: ColumnDeclaration, keyLength: number): ColumnDeclaration {
  const isGenerated = column.primaryKey && keyLength === 1 && isWhole(column) &&
    column.default === null && column.references === null;
  return isGenerated ? { ...column, default: { kind: "database", sql: null } } : column;
}

function describeColumn(table: string, name: string, declared: ColumnDeclaration): ColumnInfo {
  const { references: target, actions, ...declaration } = declared;
  requirePossible(`${table}.${name}`, declared, actions);
  let reference: ColumnReference | null = null;
  return Object.freeze({
    ...declaration,
    name,
    dbName: declaration.dbName ?? name,
    default: checkedDefault(`${table}.${name}`, declared),
    generated: declaration.generatedSql !== null,
    // Finds the target at the first access, because it can be declared later.
    get references() {
      return reference ??= target && resolveReference(`${table}.${name}`, target);
    },
  });
}

function requirePossible(
  column: string,
  { notNull, primaryKey, generatedSql, default: source }: ColumnDeclaration,
  { onDelete, onUpdate }: ForeignKeyActions,
): void {
  if (notNull && (onDelete === "set null" || onUpdate === "set null")) {
    throw new Error(`Cannot declare ${column}: "set null" needs a column that may be NULL`);
  }
  if (generatedSql !== null && (primaryKey || source !== null)) {
    throw new Error(`Cannot declare ${column}: a generated column is no key and has no default`);
  }
}

function checkedDefault(column: string, declared: ColumnDeclaration): ColumnDefault | null {
  if (declared.default?.kind !== "value") return declared.default;
  try {
    const value = kinds[declared.kind].fromJson(declared.default.value, declared);
    return { kind: "value", value };
  } catch (cause) {
    if (!(cause instanceof InvalidValue)) throw cause;
    throw new Error(`Cannot declare ${column}: its default ${cause.message}`, { cause });
  }
}

function resolveReference(source: string, target: () => ColumnLike<unknown>): ColumnReference {
  try {
    const column = target();
    const { schema, name } = tableInfoOf(column);
    return { schema, table: name, column: columnInfoOf(column).dbName };
  } catch (cause) {
    throw new Error(`Cannot resolve what ${source} references`, { cause });
  }
}

function requireNames(table: string, columns: readonly ColumnInfo[]): void {
  const dbNames = new Set<string>();
  for (const { name, dbName } of columns) {
    if (/^\$infer(Name|Select|Insert)$/.test(name)) {
      throw new Error(`Cannot declare ${table}.${name}: the name is reserved`);
    }
    // For SQLite, names that differ only in upper and lower case are the same.
    const folded = dbName.toLowerCase();
    if (dbName === "" || dbNames.has(folded)) {
      throw new Error(`Cannot declare ${table}.${name}: the name "${dbName}" is empty or taken`);
    }
    dbNames.add(folded);
  }
  const formerNames = new Set<string>();
  for (const { name, dbName, formerName } of columns) {
    if (formerName !== null && formerNames.has(formerName.toLowerCase())) {
      throw new Error(
        `Cannot declare ${table}.${name}: another column was "${formerName}" as well`,
      );
    }
    formerNames.add(formerName?.toLowerCase() ?? "");
    // If a former name were also a current name, a migration could rename the wrong column.
    if (formerName === null || !dbNames.has(formerName.toLowerCase())) continue;
    // On Postgres, a rename that changes only the case of a name is allowed, so this is no error.
    const isSame = formerName.toLowerCase() === dbName.toLowerCase();
    if (isSame && formerName !== dbName) continue;
    throw new Error(
      `Cannot declare ${table}.${name}: it was "${formerName}", which is declared as well`,
    );
  }
}

function toForeignKey(column: ColumnInfo, actions: ForeignKeyActions): ForeignKey[] {
  const { references } = column;
  if (references === null) return [];
  const { schema, table, column: target } = references;
  return [{ columns: [column.dbName], schema, table, references: [target], ...actions }];
}
