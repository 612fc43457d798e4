/** The tables and the rights of the services that the simulation and the nemesis attack. */
import type { AppConfig } from "../../src/app/config.ts";
import { all } from "../../src/filter/builders.ts";
import { rsql } from "../../src/filter/filter_text.ts";
import { resource } from "../../src/resource/define/resource_definition.ts";
import { integer, text } from "../../src/schema/column_builder.ts";
import { table } from "../../src/schema/table.ts";

export const projects = table("projects", {
  id: integer().primaryKey(),
  ownerId: text().as("owner_id"),
  name: text(),
});

export const items = table("items", {
  id: integer().primaryKey(),
  projectId: integer().as("project_id"),
  rank: integer().notNull().default(0),
  title: text(),
  version: integer().notNull().default(1),
});

export const orders = table("orders", { id: integer().primaryKey(), title: text() });

export const paid = table("paid", { id: integer().primaryKey(), title: text() });

/**
 * Projects with owners, items of projects, orders, and `paid`: a row there costs a token of the
 * budget, which has `capacity` tokens for each user and is never refilled. The header `x-user` names
 * the user. Users read their own projects and the items of these projects; `root` reads all.
 */
export function itemsConfig(capacity: number): Omit<AppConfig, "db"> {
  const writers = { create: () => all(), update: () => all(), delete: () => all() };
  const rows = (user: { readonly id: string }) =>
    user.id === "root" ? all() : rsql`project.ownerId==${user.id}`;
  const own = (user: { readonly id: string }) =>
    user.id === "root" ? all() : rsql`ownerId==${user.id}`;
  return {
    abuseProtection: { budget: { classes: { authenticated: { capacity, refillPerMinute: 0 } } } },
    secret: "a secret for the tests only",
    subscribe: { maxPerUser: 1_000, maxPerAddress: 1_000 },
    auth: {
      middleware: async (context, next) => {
        const id = context.req.header("x-user");
        if (id !== undefined) context.set("user", { id });
        await next();
      },
    },
    resources: [
      resource(orders, { id: orders.id, auth: writers, cost: free }),
      resource(paid, { id: paid.id, auth: writers, cost: { ...free, create: 1 } }),
      resource(projects, {
        id: projects.id,
        cost: free,
        auth: { ...writers, read: own, subscribe: own },
      }),
      resource(items, {
        id: items.id,
        cost: free,
        auth: { ...writers, read: rows, subscribe: rows },
        etag: { versionField: items.version },
        relations: {
          project: { type: "belongsTo", resource: projects, foreignKey: items.projectId },
        },
      }),
    ],
  };
}

const free = { read: 0, create: 0, update: 0, delete: 0 };
