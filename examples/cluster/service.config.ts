/** The service of both machines. README.md says how to start it. */
import { eq, integer, openDatabase, resource, table, text, type User } from "@svc/resource-api";
import type { ServeConfig } from "@svc/resource-api";
import { jwtAuth } from "@svc/resource-api/auth";

/** The primary and the standby, in any order: the service finds the primary among them. */
const servers = Deno.env.get("POSTGRES_SERVERS") ?? "127.0.0.2,127.0.0.3";
const pooler = Deno.env.get("POOLER") ?? "127.0.0.6:6432";

export const orders = table("orders", {
  id: integer().primaryKey(),
  customer: text().notNull(),
  title: text({ maxLength: 200 }).notNull(),
  quantity: integer().notNull().default(1),
});

export const db = await openDatabase({
  primary: `postgres://app@${servers}/shop`,
  pooler: `postgres://app@${pooler}/shop`,
});

const own = (user: User) => eq(orders.customer, user.id);

const config: ServeConfig = {
  db,
  // Tokens that your login has signed with this secret.
  auth: { use: [jwtAuth({ secret: required("JWT_SECRET") })] },
  // A database of its own: a long transaction in the database of the tables does not affect it.
  kv: `postgres://app@${servers}/shop_kv`,
  // The record of a key is part of the transaction of the write, so both are committed or neither.
  idempotency: { storage: "db" },
  // nginx is the only client of the service, and passes the address of its client on.
  abuseProtection: { trustProxy: 1 },
  // nginx does not read /readyz. It stops using a service when it cannot connect to the service.
  drainMs: 1_000,
  resources: [
    resource(orders, {
      id: orders.id,
      auth: { public: true, create: own, update: own, delete: own },
      generatedFields: [orders.id, orders.customer],
    }),
  ],
};

export default config;

function required(name: string): string {
  const value = Deno.env.get(name);
  if (value === undefined) throw new Error(`Set ${name} to the same value on both machines`);
  return value;
}
