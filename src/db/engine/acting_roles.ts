import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";

/** A role that the service logs in with, or acts as. */
export interface ActingRole {
  readonly name: string;
  /** True if the login role may become the role by SET ROLE. */
  readonly isMember: boolean;
  readonly isSuperuser: boolean;
  /** True if the role bypasses row level security. */
  readonly bypasses: boolean;
}

export interface RoleOnTable {
  readonly table: TableInfo;
  readonly role: string;
  /** True if the role may read at least one column of the table. */
  readonly reads: boolean;
  /** True if the table has row level security. */
  readonly hasPolicies: boolean;
  readonly isView: boolean;
  /** True if the role has the rights of the table's owner, to which no policy applies. */
  readonly isExempt: boolean;
  /** The columns that the role may not read, insert or update. */
  readonly unreadable: ReadonlySet<ColumnInfo>;
  readonly notInsertable: ReadonlySet<ColumnInfo>;
  readonly notUpdatable: ReadonlySet<ColumnInfo>;
}

/** The login role, and the existing roles that the service acts as. */
export interface ActingRoles {
  readonly login: ActingRole | null;
  readonly roles: readonly ActingRole[];
  /** The rights of these roles and of the login role in each table. */
  readonly rights: readonly RoleOnTable[];
  /** Objects that can fail or show rows of other users. `isPolicy` is false for views, defaults. */
  readonly faults: readonly { readonly isPolicy: boolean; readonly message: string }[];
}
