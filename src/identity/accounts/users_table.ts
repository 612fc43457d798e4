import { boolean, json, text, timestamp } from "../../schema/column_builder.ts";
import { type Table, table } from "../../schema/table.ts";

/** A row of {@link usersTable}. */
export interface UserRow {
  /** The id of the user. */
  readonly id: string;
  /** The e-mail address in lower case. */
  readonly email: string;
  /** The name as the user entered it. */
  readonly name: string | null;
  /** The hash of the password, with its parameters and its salt. */
  readonly passwordHash: string;
  /** The roles, which scopes can check. */
  readonly roles: string[];
  /** True if the account can neither log in nor use a session. */
  readonly disabled: boolean;
  /** The time at which the account was created. */
  readonly createdAt: string;
}

/** A new row of {@link usersTable}. */
export interface NewUserRow extends Omit<UserRow, "name" | "disabled"> {
  /** The user's name. Default: null. */
  readonly name?: string | null | undefined;
  /** True to disable the account. Default: false. */
  readonly disabled?: boolean | undefined;
}

/**
 * The table of the accounts, unless the option `users` names another table. It can be served as a
 * resource, but `fields.readable` must not include `passwordHash`.
 *
 * @example
 * ```ts
 * import { eq, resource } from "@svc/resource-api";
 * import { usersTable } from "@svc/resource-api/auth";
 *
 * const profiles = resource(usersTable, {
 *   id: usersTable.id,
 *   path: "profiles",
 *   auth: { read: (user) => eq(usersTable.id, user.id) },
 *   fields: { readable: [usersTable.id, usersTable.email, usersTable.name], writable: [] },
 * });
 * ```
 */
export const usersTable: Table<"users", UserRow, NewUserRow> = table("users", {
  id: text().primaryKey(),
  email: text({ maxLength: 254 }).notNull().unique(),
  name: text({ maxLength: 200 }),
  passwordHash: text().notNull().as("password_hash"),
  roles: json<string[]>().notNull(),
  disabled: boolean().notNull().default(false),
  createdAt: timestamp().notNull().as("created_at"),
});
