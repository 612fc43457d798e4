import { boolean, json, text, timestamp } from "../../schema/column_builder.ts";
import { table } from "../../schema/table.ts";

/**
 * The table of accounts that `passwordAuth` creates unless it is given another one. It can be served
 * as a resource, with `fields.readable` that leave `passwordHash` out.
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
export const usersTable = table("users", {
  id: text().primaryKey(),
  email: text({ maxLength: 254 }).notNull().unique(),
  name: text({ maxLength: 200 }),
  passwordHash: text().notNull().as("password_hash"),
  roles: json<string[]>().notNull(),
  disabled: boolean().notNull().default(false),
  createdAt: timestamp().notNull().as("created_at"),
});
