import type { ColumnInfo, TableInfo } from "../../schema/table_info.ts";

/** A role that the service logs in with, or acts as. */
export interface ActingRole {
  readonly name: string;
  /** True if the login role may take the role. */
  readonly isMember: boolean;
  readonly isSuperuser: boolean;
  /** True if the role bypasses row level security. */
  readonly bypasses: boolean;
}

export interface RoleOnTable {
  readonly table: TableInfo;
  readonly role: string;
  /** True if the role may read a column of the table. */
  readonly reads: boolean;
  /** True if the table has row level security. */
  readonly hasPolicies: boolean;
  readonly isView: boolean;
  /** True if the role has the rights of the owner, whose statements no policy restricts. */
  readonly isExempt: boolean;
  /** The columns on which the role lacks the right to read, to insert or to update. */
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
}
