import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";

export interface ActingRole {
  readonly name: string;
  readonly isMember: boolean;
  readonly isSuperuser: boolean;
  readonly bypasses: boolean;
}

export interface RoleOnTable {
  readonly table: TableInfo;
  readonly role: string;
  readonly reads: boolean;
  readonly hasPolicies: boolean;
  readonly isView: boolean;
  /** True if the role has the rights of the table's owner, so that no policy restricts the role. */
  readonly isExempt: boolean;
  readonly unreadable: ReadonlySet<ColumnInfo>;
  readonly notInsertable: ReadonlySet<ColumnInfo>;
  readonly notUpdatable: ReadonlySet<ColumnInfo>;
}

export interface ActingRoles {
  readonly login: ActingRole | null;
  readonly roles: readonly ActingRole[];
  readonly rights: readonly RoleOnTable[];
  /** The policies, views and defaults that can fail, or can show rows of other users. */
  readonly faults: readonly { readonly isPolicy: boolean; readonly message: string }[];
}
